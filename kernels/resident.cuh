/* The kernels of the resident sweep (a small field stays on chip) for one point set, which STENCIL_RESIDENT()
 * defines. */
#pragma once

#include "kernels/sweeps/resident3d_loop.cuh"
#include "kernels/sweeps/resident_block.cuh"
#include "kernels/address.cuh"
#include "kernels/table.h"

namespace stencil {

/* Returns the persistent loop for tiles of a shape, or nullptr where there is no such shape, or the shape has
 * no memory for general problems. */
template <class P, class T, bool General, int Shape, bool Classed> const void *resident_loop_of() {
    if constexpr (P::rank == 2) {
        constexpr stencil_resident_shape shape = stencil_resident_shape_of(P::radius, sizeof(T) == 8, Shape);
        if constexpr (shape.rows > 0 && !(General && shape.plain))
            return kernel_address(&resident_loop<resident_block<P, T, General, Shape, Classed>>);
    } else if constexpr (stencil_box_shape_of(P::radius, sizeof(T) == 8, Shape).rows > 0) {
        return kernel_address(&resident_loop<box_block<P, T, General, Shape, Classed>>);
    }
    return nullptr;
}
template <class P, class T, bool General, bool Classed> const void *find_resident(int shape) {
    static_assert(STENCIL_RESIDENT_SHAPES == 4 && STENCIL_BOX_SHAPES == 4, "");
    const void *const loop[] = {
        resident_loop_of<P, T, General, 0, Classed>(), resident_loop_of<P, T, General, 1, Classed>(),
        resident_loop_of<P, T, General, 2, Classed>(), resident_loop_of<P, T, General, 3, Classed>()};
    return loop[shape];
}

} // namespace stencil

#define STENCIL_RESIDENT(name)                                                                               \
    extern "C" const void *stencil_resident_##name(stencil_precision precision, bool general, int shape) {   \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        return stencil::with_kind(precision, general, [&](auto cell, auto is_general) {                      \
            return stencil::find_resident<P, decltype(cell), decltype(is_general)::value, false>(shape);     \
        });                                                                                                  \
    }
