/* Where an index outside of an axis points to. */
#ifndef STENCIL_SOLVER_PARTS_BOUNDARY_H
#define STENCIL_SOLVER_PARTS_BOUNDARY_H

#include "base/base.h"

typedef enum stencil_boundary {
    STENCIL_FIXED,    /* boundary cells keep their values; they are part of /u, as wide as the points reach */
    STENCIL_PERIODIC, /* the array wraps around */
    STENCIL_MIRROR,   /* half-sample symmetric: cell -1-k is a copy of cell k */
    STENCIL_BOUNDARY_COUNT
} stencil_boundary;

/* Index in [0, n) whose value cell i shows, however far outside it is: … 1 0 | 0 1 … n-1 | n-1 n-2 … where
 * mirrored, which has the period 2n. A cell beyond a fixed boundary shows itself. */
static inline int64_t stencil_boundary_image(int64_t i, int64_t n, stencil_boundary boundary) {
    if ((i >= 0 && i < n) || boundary == STENCIL_FIXED)
        return i;
    const int64_t period = boundary == STENCIL_MIRROR ? 2 * n : n, phase = (i % period + period) % period;
    return phase < n ? phase : 2 * n - 1 - phase;
}

#endif
