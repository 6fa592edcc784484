/* Kernels of passes of several steps, named by their addresses so that they are compiled. Loops have all
 * barriers. */
#include "kernels/deep.cuh"

namespace stencil {

using flat = points<2, STENCIL_STAR, 1>;
using solid = points<3, STENCIL_STAR, 1>;

extern const void *const passes[];
const void *const passes[] = {
    reinterpret_cast<const void *>(&pipeline_kernel<pipeline<flat, double, STENCIL_PIPELINE_GENERAL>>),
    reinterpret_cast<const void *>(&pipeline_kernel<pipeline<flat, double, STENCIL_PIPELINE_CHECKED>>),
    reinterpret_cast<const void *>(&mirror_kernel<flat, double, false>),
    reinterpret_cast<const void *>(&pipeline_kernel<pipeline_solid<solid, double, true, false>>),
    reinterpret_cast<const void *>(&pipeline_loop<pipeline_solid<solid, double, false, false>>)};

} // namespace stencil
