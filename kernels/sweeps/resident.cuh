/* The resident sweep: a field that stays on chip for a whole launch. On a GPU it is a separate persistent
 * loop (kernels/sweeps/resident_loop.cuh) of tiles (resident_block.cuh in 2D, resident3d_loop.cuh in 3D);
 * steps that are launched by themselves are made by the stream sweep. */
#ifdef __CUDACC__
#pragma once

#include "kernels/sweeps/stream.cuh"

namespace stencil {

template <class P, class T, bool Relaunch, bool Ll> using resident_sweep = stream_sweep<P, T, Relaunch, Ll>;

} // namespace stencil
#else
/* The CPU twin of the resident sweep is the stream sweep, since caches keep a small field anyway; plans do
 * not use it. */
ALWAYS_INLINE void CPU_(resident)(const stencil_domain *d, const stencil_cpu_pass *pass,
                                  stencil_shape shape) {
    CPU_(stream)(d, pass, shape);
}
#endif
