/* Kernels of single steps, named by their addresses so that they are compiled: a launch, one that notes
 * moments, and persistent loops with the barrier that only some GPUs have, and with words to other parts. */
#include "kernels/shard.cuh"

namespace stencil {

using flat = points<2, STENCIL_STAR, 1>;
using solid = points<3, STENCIL_STAR, 1>;
template <class P, bool Relaunch, bool Ll> using streamed = stream_sweep<P, double, Relaunch, Ll>;

extern const void *const steps[];
const void *const steps[] = {
    reinterpret_cast<const void *>(&step_kernel<streamed<solid, true, false>>),
    reinterpret_cast<const void *>(&traced_kernel<naive_sweep<flat, float, true, false>>),
    reinterpret_cast<const void *>(
        &persistent_kernel<naive_sweep<flat, float, false, false>, cluster_barrier, false>),
    reinterpret_cast<const void *>(&persistent_kernel<streamed<flat, false, true>, neighbor_barrier, true>)};

} // namespace stencil
