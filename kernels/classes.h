/* Classes of cells: a byte for each cell that says how a step updates it. */
#pragma once

#include "base/base.h"
#include "kernels/points.h"
#include "kernels/residual.h"

enum {
    STENCIL_CLASS_PLAIN = 0,    /* updated with the weights of the step, as all cells are in plain problems */
    STENCIL_CLASS_KEPT = 255,   /* keeps its value, to the bit, whatever its neighbours are */
    STENCIL_CLASS_NONE = 254,   /* of no class: only boundary cells, which nobody updates */
    STENCIL_MARK_MIXED = 254,   /* no class, but the mark of a group whose cells are of several classes */
    STENCIL_CLASS_DRIVEN = 253, /* has the value that stencil_sums says, whatever its neighbours are */
    STENCIL_CLASSES_MAX = 253,  /* classes 0 to 252: those whose cells are updated */
    STENCIL_ROWS_MAX = 252,     /* rows of weights that a problem's author may give, for classes 0 to 251 */
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
} stencil_classes;

/* Tells whether cells of a class have weights of their own: those of a row of the palette. A point that has
 * the weight 0 in it is not read: 0 stands in its place. The source term is added as it is, and last, where
 * it is not 0, the constant that stands at STENCIL_SOURCE_WEIGHT. */
STENCIL_ANYWHERE bool stencil_class_has_row(uint32_t class_of) {
    return class_of - 1u < STENCIL_CLASSES_MAX - 1u;
}

/* Tells whether steps update the cells of a class, so that their changes belong to the residual. */
STENCIL_ANYWHERE bool stencil_class_is_updated(uint32_t class_of) {
    return class_of < STENCIL_CLASSES_MAX;
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
