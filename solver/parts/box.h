/* Boxes of cells, first cell and extent, per axis in (z, y, x); and where an index outside of an axis points
 * to.
 */
#ifndef STENCIL_SOLVER_PARTS_BOX_H
#define STENCIL_SOLVER_PARTS_BOX_H

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

typedef struct stencil_box {
    int64_t first[3], n[3];
} stencil_box;

static inline int64_t stencil_box_cells(const stencil_box *box) {
    return box->n[STENCIL_Z] * box->n[STENCIL_Y] * box->n[STENCIL_X];
}

/* The box with by[axis] cells more on each side. */
stencil_box stencil_box_grow(const stencil_box *box, const int64_t by[3]);

/* The box as its cells are numbered from cell `origin` on. */
stencil_box stencil_box_from(const stencil_box *box, const int64_t origin[3]);

/* The cells that both boxes have; they may have none. */
stencil_box stencil_box_common(const stencil_box *a, const stencil_box *b);

/* Tiles of tile[3] cells that cover n cells: tiles[3] along each axis. Returns how many. */
int64_t stencil_tiles(const int64_t n[3], const int64_t tile[3], int64_t tiles[3]);

/* The first item of an owner's share where items that follow each other are shared out evenly. */
static inline int64_t stencil_share_begin(int64_t items, int64_t owners, int64_t owner) {
    return items / owners * owner + stencil_smaller(owner, items % owners);
}

/* Takes a box of at least one cell apart into slabs of at most `cells_max` cells, each a contiguous run of
 * its cells in array order: the first one, which is the largest; and the next one, false after the last. */
stencil_box stencil_slab_first(const stencil_box *box, int64_t cells_max);
bool stencil_slab_next(stencil_box *slab, const stencil_box *box, int64_t cells_max);

#endif
