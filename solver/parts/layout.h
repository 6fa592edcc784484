/* Boxes of cells, where an index outside of an axis points to, where cells stand in memory, and boxes of them
 * on their way between two buffers. Per axis in (z, y, x). */
#pragma once

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

/* First cell and extent. */
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

/* Takes a box of at least one cell apart into slabs of at most `cells_max` cells, each a contiguous run of
 * its cells in array order: the first one, which is the largest; and the next one, false after the last. */
stencil_box stencil_slab_first(const stencil_box *box, int64_t cells_max);
bool stencil_slab_next(stencil_box *slab, const stencil_box *box, int64_t cells_max);

/* Layout of u[nz][ny][nx] with ghost or boundary cells around it. Interior cell (z, y, x) stands at element
 * origin + z*plane + y*row + x; indices down to -ghost and up to n+ghost-1 are valid on every axis.
 * Cell x = 0 of every row is aligned to 128 bytes.
 *
 *            |<-------------- row -------------->|
 *    origin: |ghost|<--- nx updated --->|ghost|  | gap, shared with the next row's left ghost cells
 *                  ^ aligned
 */
typedef struct stencil_layout {
    stencil_precision precision;
    int64_t n[3];     /* interior (updated) cells per axis */
    int64_t ghost[3]; /* ghost or boundary cells on each side */
    int64_t row;      /* elements from row to row */
    int64_t plane;    /* elements from plane to plane */
    int64_t origin;   /* elements before interior cell (0, 0, 0) */
    int64_t element_count;
} stencil_layout;

/* Lays out n interior cells with ghost cells around them. BAD_DATA where the sizes overflow 63 bits. */
stencil_status stencil_layout_init(stencil_layout *layout, stencil_precision precision, const int64_t n[3],
                                   const int64_t ghost[3]);

int64_t stencil_layout_bytes(const stencil_layout *layout);

/* Elements from interior cell (0, 0, 0) to another one. */
static inline int64_t stencil_layout_offset(const stencil_layout *layout, const int64_t cell[3]) {
    return cell[STENCIL_Z] * layout->plane + cell[STENCIL_Y] * layout->row + cell[STENCIL_X];
}

/* Cells of a box in memory. */
typedef struct stencil_cells {
    stencil_precision precision;
    void *at;           /* the first one */
    int64_t first[3];   /* its index */
    int64_t row, plane; /* elements from row to row and from plane to plane, a multiple of that */
} stencil_cells;

/* The cells of a buffer of that layout, whose updated cell (0, 0, 0) has the index `first`; the cells of
 * `box` in a block of memory without gaps. */
stencil_cells stencil_cells_in(const stencil_layout *layout, void *base, const int64_t first[3]);
stencil_cells stencil_cells_dense(stencil_precision precision, void *block, const stencil_box *box);

/* The cells of `cells` from the one with index `cell` on. */
stencil_cells stencil_cells_from(const stencil_cells *cells, const int64_t cell[3]);

/* The value of the element so far behind the first one. */
static inline double stencil_cells_value(const stencil_cells *cells, int64_t element) {
    return cells->precision == STENCIL_FLOAT64 ? ((const double *)cells->at)[element]
                                               : (double)((const float *)cells->at)[element];
}

/* Sets the element so far behind the first one, rounded to the precision of the cells. */
static inline void stencil_cells_set(const stencil_cells *cells, int64_t element, double value) {
    if (cells->precision == STENCIL_FLOAT64)
        ((double *)cells->at)[element] = value;
    else
        ((float *)cells->at)[element] = (float)value;
}

/* Bytes from the first one to the end of the last one of n cells (z, y, x). */
size_t stencil_cells_span(const stencil_cells *cells, const int64_t n[3]);

/* Copies n cells (z, y, x), the first one first: with all threads, or with the one of a run that calls it.
 */
void stencil_cells_copy(const stencil_cells *to, const stencil_cells *from, const int64_t n[3]);
