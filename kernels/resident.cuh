/* The kernels of the resident sweep of one point set, the argument of STENCIL_RESIDENT(). */
#pragma once

#include "kernels/sweeps/resident3d_loop.cuh"
#include "kernels/table.h"

namespace stencil {

template <class P, class T, bool General, int Shape> const void *resident_loop_of() {
    constexpr stencil_resident_shape shape = stencil_resident_shape_of(P::radius, sizeof(T) == 8, Shape);
    if constexpr (shape.rows > 0 && !(General && shape.plain))
        return reinterpret_cast<const void *>(&resident_loop<resident_block<P, T, General, Shape>>);
    return nullptr;
}
template <class P, class T, bool General> const void *resident_of(int shape) {
    static const void *const loop[STENCIL_RESIDENT_SHAPES] = {
        resident_loop_of<P, T, General, 0>(), resident_loop_of<P, T, General, 1>(),
        resident_loop_of<P, T, General, 2>(), resident_loop_of<P, T, General, 3>()};
    return loop[shape];
}
template <class P, class T, bool General, int Shape> const void *box_loop_of() {
    if constexpr (stencil_box_shape_of(P::radius, sizeof(T) == 8, Shape).rows > 0)
        return reinterpret_cast<const void *>(&resident_loop<box_block<P, T, General, Shape>>);
    return nullptr;
}
template <class P, class T, bool General> const void *box_of(int shape) {
    static const void *const loop[STENCIL_BOX_SHAPES] = {
        box_loop_of<P, T, General, 0>(), box_loop_of<P, T, General, 1>(), box_loop_of<P, T, General, 2>(),
        box_loop_of<P, T, General, 3>()};
    return loop[shape];
}
template <int Rank, stencil_rule Rule, int Radius, class T>
const void *find_resident(bool general, int shape) {
    if constexpr (Rank == 2)
        return general ? resident_of<points<Rank, Rule, Radius>, T, true>(shape)
                       : resident_of<points<Rank, Rule, Radius>, T, false>(shape);
    else
        return general ? box_of<points<Rank, Rule, Radius>, T, true>(shape)
                       : box_of<points<Rank, Rule, Radius>, T, false>(shape);
}

} // namespace stencil

#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                 \
    enum {                                                                                                   \
        resident_rank_##name = rank,                                                                         \
        resident_rule_##name = STENCIL_##rule,                                                               \
        resident_radius_##name = radius                                                                      \
    };
#include "kernels/stencils.def"
#define STENCIL_RESIDENT(name)                                                                               \
    extern "C" const void *stencil_resident_##name(stencil_precision precision, bool general, int shape) {   \
        constexpr stencil_rule rule = (stencil_rule)resident_rule_##name;                                    \
        return precision == STENCIL_FLOAT64                                                                  \
                   ? stencil::find_resident<resident_rank_##name, rule, resident_radius_##name, double>(     \
                         general, shape)                                                                     \
                   : stencil::find_resident<resident_rank_##name, rule, resident_radius_##name, float>(      \
                         general, shape);                                                                    \
    }
