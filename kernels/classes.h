/* Classes of cells: a byte for each cell that says how a step updates it. Where cells have more rows of
 * weights than bytes can name, a second array has the number of the row of those that have a rare one. */
#pragma once

#include "base/base.h"
#include "kernels/points.h"
#include "kernels/residual.h"

enum {
    STENCIL_CLASS_PLAIN = 0,    /* updated with the weights of the step, as all cells are in plain problems */
    STENCIL_CLASS_KEPT = 255,   /* keeps its value, to the bit, whatever its neighbours are */
    STENCIL_CLASS_WIDE = 254,   /* updated with the row whose number stands in stencil_classes.row */
    STENCIL_MARK_MIXED = 254,   /* mark of a group whose cells are of several classes, or all of them WIDE */
    STENCIL_CLASS_DRIVEN = 253, /* has the value that stencil_sums says, whatever its neighbours are */
    STENCIL_BYTE_ROWS = 252,    /* rows of weights that bytes name: classes 1 to 252 */
    STENCIL_WIDE_ROWS = 65000,  /* rows of weights that a problem may have, numbered from 1 on */
    STENCIL_ROWS_MAX = 256,     /* rows that its author may give, row 0 included, which plain cells have */
    STENCIL_GROUP_CELLS = STENCIL_PARTIAL_CELLS, /* cells of a group that has one mark */
    STENCIL_WORD_CELLS = 32                      /* cells of a word of bits */
};

/* The classes of a part's cells. A row is cut into groups of 64 cells at x = 0, 64, …, like the partial sums
 * of the residual. A group's mark is the class of all its cells or, where these differ, MIXED: only then are
 * the cells' own bytes read. Kernels of several steps, which keep rows of any columns in registers, read a
 * bit for each cell in place of marks. */
typedef struct stencil_classes {
    const uint8_t *of;   /* class of the cell at an element, counted from updated cell (0, 0, 0); NULL: all
                            cells are plain */
    const uint8_t *mark; /* mark[z * mark_plane + y * mark_row + x / 64], x / 64 rounded down */
    int64_t mark_row, mark_plane;
    const uint32_t *bits; /* on GPUs: bit x % 32 of bits[z * bits_plane + y * bits_row + x / 32], x / 32
                             rounded down, is 1 where cell (z, y, x) is not plain; cell x = 0 of each row is
                             aligned to 16 bytes; NULL: none */
    int64_t bits_row, bits_plane;
    int64_t first, end;             /* range of x that has classes: the part's cells and its ghost cells */
    const stencil_weights *palette; /* palette[c - 1]: the row of class c, for c from 1 to 252; NULL: all
                                       cells have the weights of the step, or are kept */
    const uint16_t *row; /* of cells of class WIDE, counted as `of`: the row is palette[BYTE_ROWS + row - 1];
                            NULL: there are no such cells */
} stencil_classes;

/* Tells whether a class, or the mark of a group, names a row of the palette, so that cells have weights of
 * their own. A point that has the weight 0 in it is not read: 0 stands in its place. The source term is added
 * as it is, and last, where it is not 0, the constant that stands at STENCIL_SOURCE_WEIGHT. */
STENCIL_ANYWHERE bool stencil_class_has_row(uint32_t class_of) {
    return class_of - 1u < STENCIL_BYTE_ROWS;
}

/* Tells whether cells of a class, which is no mark, have weights of their own: also those of class WIDE. */
STENCIL_ANYWHERE bool stencil_class_is_varied(uint32_t class_of) {
    return stencil_class_has_row(class_of) || class_of == STENCIL_CLASS_WIDE;
}

/* Tells whether steps update the cells of a class, so that their changes belong to the residual. KEPT and
 * DRIVEN differ in one bit. */
STENCIL_ANYWHERE bool stencil_class_is_updated(uint32_t class_of) {
    return (class_of | (STENCIL_CLASS_KEPT ^ STENCIL_CLASS_DRIVEN)) != STENCIL_CLASS_KEPT;
}

/* Returns where the row of a cell stands in the palette: that of class `of`, which names a row or is WIDE, of
 * the cell at element `at`. */
STENCIL_ANYWHERE int64_t stencil_palette_at(const stencil_classes *c, uint32_t of, int64_t at) {
    return of == STENCIL_CLASS_WIDE ? STENCIL_BYTE_ROWS + c->row[at] - 1 : (int64_t)of - 1;
}

/* In a problem whose weights are fields of faces, a row of the palette says in place of weights what point k
 * of a cell reads, in four numbers from 4 k on: if the first is 1 its own cell; else, added up in this order,
 * the fourth, the second times the opposite point's cell (which is not read where that is 0) and the third
 * times the cell itself: what lies beyond a wall (solver/problem/rows.h). */
enum {
    STENCIL_READ_STRAIGHT,
    STENCIL_READ_OPPOSITE,
    STENCIL_READ_CENTRE,
    STENCIL_READ_CONSTANT,
    STENCIL_READS
};

/* Returns the number of the group that has cell x of a row, negative for ghost cells on the left. */
STENCIL_ANYWHERE int64_t stencil_group_of(int64_t x) {
    return x >= 0 ? x / STENCIL_GROUP_CELLS : -((STENCIL_GROUP_CELLS - 1 - x) / STENCIL_GROUP_CELLS);
}
