/* Where cells stand in memory, and boxes of them on their way between two buffers. */
#ifndef STENCIL_SOLVER_PARTS_LAYOUT_H
#define STENCIL_SOLVER_PARTS_LAYOUT_H

#include "solver/parts/box.h"

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

/* BAD_DATA where the sizes overflow 63 bits. */
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

/* Those of a buffer of that layout, whose updated cell (0, 0, 0) has the index `first`; those of a block of
 * memory without gaps. */
stencil_cells stencil_cells_in(const stencil_layout *layout, void *base, const int64_t first[3]);
stencil_cells stencil_cells_dense(stencil_precision precision, void *block, const stencil_box *box);

/* Those from a cell of the box on. */
stencil_cells stencil_cells_from(const stencil_cells *cells, const int64_t cell[3]);

/* The value of the element so far behind the first one. */
static inline double stencil_cells_value(const stencil_cells *cells, int64_t element) {
    return cells->precision == STENCIL_FLOAT64 ? ((const double *)cells->at)[element]
                                               : (double)((const float *)cells->at)[element];
}

/* Bytes from the first one to the end of the last one of n cells (z, y, x). */
size_t stencil_cells_span(const stencil_cells *cells, const int64_t n[3]);

/* Copies n cells (z, y, x), the first one first: with all threads, or with the one of a run that calls it.
 */
void stencil_cells_copy(const stencil_cells *to, const stencil_cells *from, const int64_t n[3]);

#endif
