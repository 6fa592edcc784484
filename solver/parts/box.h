/* Boxes of cells: first cell and extent, per axis in (z, y, x). */
#ifndef STENCIL_SOLVER_PARTS_BOX_H
#define STENCIL_SOLVER_PARTS_BOX_H

#include "base/base.h"

typedef struct stencil_box {
    int64_t first[3], n[3];
} stencil_box;

static inline int64_t stencil_box_cells(const stencil_box *box) {
    return box->n[STENCIL_Z] * box->n[STENCIL_Y] * box->n[STENCIL_X];
}

/* The box with by[axis] cells more on each side. */
static inline stencil_box stencil_box_grow(const stencil_box *box, const int64_t by[3]) {
    stencil_box grown;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        grown.first[axis] = box->first[axis] - by[axis];
        grown.n[axis] = box->n[axis] + 2 * by[axis];
    }
    return grown;
}

#endif
