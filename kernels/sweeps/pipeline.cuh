/* The pipeline sweep: many steps of a 2D field at once. On a GPU those are a kernel of its own
 * (kernels/sweeps/pipeline_pass.cuh); steps that are made one at a time are those of the stream sweep. */
#ifdef __CUDACC__
#pragma once

#include "kernels/sweeps/stream.cuh"

namespace stencil {

template <class P, class T, bool Relaunch, bool Ll> using pipeline_sweep = stream_sweep<P, T, Relaunch, Ll>;

} // namespace stencil
#else
#include "kernels/sweeps/pipeline.inc"
#endif
