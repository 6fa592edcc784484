/* The kernels of the resident sweep for one point set where cells have classes, which
 * STENCIL_RESIDENT_CLASSED() defines. Kernels for plain problems (resident.cuh) know no classes. */
#pragma once

#include "kernels/resident.cuh"

#define STENCIL_RESIDENT_CLASSED(name)                                                                       \
    extern "C" const void *stencil_resident_classed_##name(stencil_precision precision, bool general,        \
                                                           int shape) {                                      \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        return stencil::with_kind(precision, general, [&](auto cell, auto is_general) {                      \
            return stencil::find_resident<P, decltype(cell), decltype(is_general)::value, true>(shape);      \
        });                                                                                                  \
    }
