/* Boxes of cells, cell indices beyond a boundary, the layout of cells in memory, and copies of boxes between
 * buffers. Arrays per axis are in (z, y, x). */
#pragma once

#include "base/base.h"

typedef enum stencil_boundary {
    STENCIL_FIXED,    /* boundary cells keep their values; they are part of /u, as wide as the points reach */
    STENCIL_PERIODIC, /* the array wraps around */
    STENCIL_MIRROR,   /* half-sample symmetric: cell -1-k is a copy of cell k */
    STENCIL_BOUNDARY_COUNT
} stencil_boundary;

/* Index in [0, n) of the cell that cell i is a copy of, at any distance: … 1 0 | 0 1 … n-1 | n-1 n-2 … where
 * mirrored, with the period 2n. A cell beyond a fixed boundary is no copy: returns i. */
static inline int64_t stencil_boundary_image(int64_t i, int64_t n, stencil_boundary boundary) {
    if ((i >= 0 && i < n) || boundary == STENCIL_FIXED)
        return i;
    const int64_t period = boundary == STENCIL_MIRROR ? 2 * n : n, phase = (i % period + period) % period;
    return phase < n ? phase : 2 * n - 1 - phase;
}

/* A box of cells: its first cell and its extent. */
typedef struct stencil_box {
    int64_t first[3], n[3];
} stencil_box;

static inline int64_t stencil_box_cells(const stencil_box *box) {
    return box->n[STENCIL_Z] * box->n[STENCIL_Y] * box->n[STENCIL_X];
}

/* The box with by[axis] cells more on each side. */
stencil_box stencil_box_grow(const stencil_box *box, const int64_t by[3]);

/* The box in indices that count from cell `origin`. */
stencil_box stencil_box_from(const stencil_box *box, const int64_t origin[3]);

/* The intersection of two boxes, which may be empty. */
stencil_box stencil_box_common(const stencil_box *a, const stencil_box *b);

/* Sets tiles[3] to the numbers of tiles of tile[3] cells that cover n cells. Returns their product. */
int64_t stencil_tiles(const int64_t n[3], const int64_t tile[3], int64_t tiles[3]);

/* Splits a box of at least one cell into slabs of at most `cells_max` cells, each contiguous in array order.
 * first: returns the first, largest slab. next: replaces a slab by the next; false after the last. */
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

/* A view of cells in memory: address, index of the first cell and strides. */
typedef struct stencil_cells {
    stencil_precision precision;
    void *at;           /* address of the first cell */
    int64_t first[3];   /* index of the first cell */
    int64_t row, plane; /* elements from row to row, and from plane to plane; plane is a multiple of row */
} stencil_cells;

/* in: the cells of the buffer `base` with a layout, whose interior cell (0, 0, 0) has the index `first`.
 * dense: the cells of `box` in a block of memory without gaps. */
stencil_cells stencil_cells_in(const stencil_layout *layout, void *base, const int64_t first[3]);
stencil_cells stencil_cells_dense(stencil_precision precision, void *block, const stencil_box *box);

/* Elements from the first cell of a view to the one with index `cell`. */
static inline int64_t stencil_cells_offset(const stencil_cells *cells, const int64_t cell[3]) {
    return (cell[STENCIL_Z] - cells->first[STENCIL_Z]) * cells->plane +
           (cell[STENCIL_Y] - cells->first[STENCIL_Y]) * cells->row + cell[STENCIL_X] -
           cells->first[STENCIL_X];
}

/* The view `cells` moved so that its first cell is the one with index `cell`. */
stencil_cells stencil_cells_from(const stencil_cells *cells, const int64_t cell[3]);

/* The value of the cell `element` elements after the first cell. */
static inline double stencil_cells_value(const stencil_cells *cells, int64_t element) {
    return cells->precision == STENCIL_FLOAT64 ? ((const double *)cells->at)[element]
                                               : (double)((const float *)cells->at)[element];
}

/* Sets the cell `element` elements after the first cell to a value rounded to the precision of the cells. */
static inline void stencil_cells_set(const stencil_cells *cells, int64_t element, double value) {
    if (cells->precision == STENCIL_FLOAT64)
        ((double *)cells->at)[element] = value;
    else
        ((float *)cells->at)[element] = (float)value;
}

/* Bytes from the begin of the first to the end of the last of n cells (z, y, x). */
size_t stencil_cells_span(const stencil_cells *cells, const int64_t n[3]);

/* Sets n cells (z, y, x) from the first cell on to 0. */
void stencil_cells_clear(const stencil_cells *cells, const int64_t n[3]);

/* Copies n cells (z, y, x) from the first cell on; with all threads unless in a parallel region. */
void stencil_cells_copy(const stencil_cells *to, const stencil_cells *from, const int64_t n[3]);
