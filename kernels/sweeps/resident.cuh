/* The resident sweep: a 2D field that stays on chip for a whole launch. On a GPU that is a persistent loop of
 * its own (kernels/sweeps/resident_loop.cuh); a step that is checked is one of the stream sweep. */
#ifdef __CUDACC__
#pragma once

#include "kernels/sweeps/stream.cuh"

namespace stencil {

template <class P, class T, bool Relaunch, bool Ll> using resident_sweep = stream_sweep<P, T, Relaunch, Ll>;

} // namespace stencil
#else
/* For CPUs, whose caches keep a small field without being told, it is the stream sweep; plans do not ask. */
ALWAYS_INLINE void CPU_(resident)(const stencil_domain *d, const stencil_cpu_pass *pass,
                                  stencil_shape shape) {
    CPU_(stream)(d, pass, shape);
}
#endif
