/* The pipeline sweep: many steps of a field in one pass. On a GPU such passes are separate kernels
 * (kernels/sweeps/pipeline_pass.cuh for 2D, pipeline_solid.cuh for 3D); single steps are made by the stream
 * sweep. */
#ifdef __CUDACC__
#pragma once

#include "kernels/sweeps/stream.cuh"

namespace stencil {

template <class P, class T, bool Relaunch, bool Ll> using pipeline_sweep = stream_sweep<P, T, Relaunch, Ll>;

} // namespace stencil
#else
#include "kernels/sweeps/pipeline.inc"
#endif
