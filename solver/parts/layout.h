/* Where cells stand in memory, and boxes of them on their way between two buffers. */
#ifndef STENCIL_SOLVER_PARTS_LAYOUT_H
#define STENCIL_SOLVER_PARTS_LAYOUT_H

#include "solver/parts/box.h"

/* Layout of u[nz][ny][nx] with ghost or boundary cells around it. Interior cell (z, y, x) stands at element
 * origin + z*plane + y*row + x; indices down to -rim and up to n+rim-1 are valid on every axis.
 * Cell x = 0 of every row is aligned to 128 bytes.
 *
 *            |<-------------- row -------------->|
 *    origin: | rim |<--- nx updated --->| rim |  | gap, shared with the next row's left rim
 *                  ^ aligned
 */
typedef struct stencil_layout {
    stencil_precision precision;
    int64_t n[3];   /* interior (updated) cells per axis */
    int64_t rim[3]; /* ghost or boundary cells on each side */
    int64_t row;    /* elements from row to row */
    int64_t plane;  /* elements from plane to plane */
    int64_t origin; /* elements before interior cell (0, 0, 0) */
    int64_t element_count;
} stencil_layout;

/* BAD_DATA where the sizes overflow 63 bits. */
stencil_status stencil_layout_init(stencil_layout *layout, stencil_precision precision, const int64_t n[3],
                                   const int64_t rim[3]);

int64_t stencil_layout_bytes(const stencil_layout *layout);

/* Elements from interior cell (0, 0, 0) to another one. */
static inline int64_t stencil_layout_offset(const stencil_layout *layout, const int64_t cell[3]) {
    return cell[STENCIL_Z] * layout->plane + cell[STENCIL_Y] * layout->row + cell[STENCIL_X];
}

/* A box that is copied from one buffer to another one, all in bytes. */
typedef struct stencil_copy {
    size_t from, to; /* its first cell */
    size_t from_row, from_plane, to_row, to_plane;
    size_t row_bytes, rows, planes; /* how much of it */
    size_t span;                    /* from its first cell to its last one; 0: the strides differ */
} stencil_copy;

/* `box` in indices of `from`, of the same precision; its first cell becomes cell to_first of `to`. */
stencil_copy stencil_copy_make(const stencil_layout *to, const int64_t to_first[3],
                               const stencil_layout *from, const stencil_box *box);

/* Copies rows [first, end) of the planes * rows. */
void stencil_copy_rows(const stencil_copy *copy, void *to, const void *from, size_t first, size_t end);

#endif
