/* Classes of cells: a byte for each cell that says how a step updates it. */
#pragma once

#include "base/base.h"
#include "kernels/residual.h"

enum {
    STENCIL_CLASS_PLAIN = 0,  /* updated with the weights of the step, as all cells are in plain problems */
    STENCIL_CLASS_KEPT = 255, /* keeps its value, to the bit, whatever its neighbours are */
    STENCIL_MARK_MIXED = 254, /* no class, but the mark of a group whose cells are of several classes */
    STENCIL_GROUP_CELLS = STENCIL_PARTIAL_CELLS /* cells of a group that has one mark */
};

/* The classes of a part's cells. A row is cut into groups of 64 cells at x = 0, 64, …, like the partial sums
 * of the residual. A group's mark is the class of all its cells or, where these differ, MIXED: only then are
 * the cells' own bytes read. */
typedef struct stencil_classes {
    const uint8_t *of;   /* class of the cell at an element, counted from updated cell (0, 0, 0); NULL: all
                            cells are plain */
    const uint8_t *mark; /* mark[z * mark_plane + y * mark_row + x / 64], x / 64 rounded down */
    int64_t mark_row, mark_plane;
    int64_t first, end; /* range of x that has classes: the part's cells and its ghost cells */
} stencil_classes;

/* Returns the number of the group that has cell x of a row, negative for ghost cells on the left. */
STENCIL_ANYWHERE int64_t stencil_group_of(int64_t x) {
    return x >= 0 ? x / STENCIL_GROUP_CELLS : -((STENCIL_GROUP_CELLS - 1 - x) / STENCIL_GROUP_CELLS);
}
