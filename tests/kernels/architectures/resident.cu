/* Kernels of fields that stay on chip, named by their addresses so that they are compiled. */
#include "kernels/resident.cuh"

namespace stencil {

using flat = points<2, STENCIL_STAR, 1>;
using solid = points<3, STENCIL_STAR, 1>;

extern const void *const resident[];
const void *const resident[] = {
    reinterpret_cast<const void *>(&resident_loop<resident_block<flat, double, true, 0, false>>),
    reinterpret_cast<const void *>(&resident_loop<box_block<solid, double, true, 0, false>>)};

} // namespace stencil
