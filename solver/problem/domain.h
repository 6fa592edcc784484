/* Domains: the description of a part that kernels get, and the boxes of ghost cells that are copied from part
 * to part where kernels do not store them. Internal to solver/. */
#pragma once

#include "kernels/sweep.h"
#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* The arrays of this process's parts, in the layout of the cut: two alternating buffers of u, of which a pass
 * reads one and writes the other (STENCIL_BUFFER_U + 0 and 1), the source term if there is a source, and
 * bytes where cells have classes. Marks of groups of cells and, on GPUs, bits of cells have layouts of their
 * own, see stencil_marks_of(). Weights of faces have a buffer for each axis of the problem. */
enum {
    STENCIL_BUFFER_U,
    STENCIL_BUFFER_B = 2,
    STENCIL_BUFFER_CLASS,
    STENCIL_BUFFER_MARK,
    STENCIL_BUFFER_BITS,
    STENCIL_BUFFER_ROW,  /* numbers of rows of cells of class WIDE, in two bytes */
    STENCIL_BUFFER_MORE, /* arrays behind B whose factors change in time */
    STENCIL_BUFFER_MORE_LAST = STENCIL_BUFFER_MORE + STENCIL_SUM_ARRAYS - 2,
    STENCIL_BUFFER_FACE, /* + axis */
    STENCIL_BUFFER_FACE_LAST = STENCIL_BUFFER_FACE + STENCIL_AXES - 1,
    STENCIL_BUFFERS
};
typedef struct stencil_buffers {
    const stencil_cut *cut;
    void *at[STENCIL_PARTS_MAX][STENCIL_BUFFERS]; /* [own parts]; NULL: the problem has no such array */
} stencil_buffers;

/* The arrays of one of this process's parts. */
static inline void *const *stencil_buffers_part(const stencil_buffers *buffers, int part) {
    return buffers->at[part - buffers->cut->own];
}

/* The buffer that holds an array of the problem while buffer `from` (0 or 1) has the current field. */
static inline int stencil_buffer_of(stencil_array array, int from) {
    const int in_sum = stencil_array_in_sum(array), axis = stencil_array_axis(array);
    return array == STENCIL_ARRAY_U     ? STENCIL_BUFFER_U + from
           : array == STENCIL_ARRAY_B   ? STENCIL_BUFFER_B
           : in_sum > 0                 ? STENCIL_BUFFER_MORE + in_sum - 1
           : axis >= 0                  ? STENCIL_BUFFER_FACE + axis
           : array == STENCIL_ARRAY_ROW ? STENCIL_BUFFER_ROW
                                        : STENCIL_BUFFER_CLASS;
}
static inline stencil_array stencil_array_of(int buffer) {
    return buffer < STENCIL_BUFFER_B      ? STENCIL_ARRAY_U
           : buffer == STENCIL_BUFFER_B   ? STENCIL_ARRAY_B
           : buffer == STENCIL_BUFFER_ROW ? STENCIL_ARRAY_ROW
           : buffer >= STENCIL_BUFFER_MORE && buffer <= STENCIL_BUFFER_MORE_LAST
               ? stencil_array_of_sum(buffer - STENCIL_BUFFER_MORE + 1)
           : buffer >= STENCIL_BUFFER_FACE && buffer <= STENCIL_BUFFER_FACE_LAST
               ? stencil_array_of_face(buffer - STENCIL_BUFFER_FACE)
               : STENCIL_ARRAY_CLASS;
}

/* The buffers that a problem needs, on a GPU or on a CPU, as a set of bits 1 << STENCIL_BUFFER_…; the bytes
 * of one of them; and its name, for messages. */
unsigned stencil_buffers_of(const stencil_problem *problem, bool gpu);
int64_t stencil_buffer_bytes(const stencil_cut *cut, int buffer);
const char *stencil_buffer_text(int buffer);

/* Bytes of all buffers of a part. INT64_MAX / 2: more than can be counted. */
int64_t stencil_buffers_bytes(const stencil_problem *problem, const stencil_cut *cut, bool gpu);

/* The cells of a part in a buffer, from `cell` on, in indices of the whole problem. */
stencil_cells stencil_buffer_cells(const stencil_buffers *buffers, int part, int buffer,
                                   const int64_t cell[3]);

/* A box of n cells (z, y, x) of part `from` that are ghost cells of part `to`. Its first cell and first ghost
 * cell are in indices of the whole problem. */
typedef struct stencil_halo_transfer {
    int from, to;
    int64_t n[3], from_first[3], to_first[3];
} stencil_halo_transfer;

typedef struct stencil_halo_transfers {
    int count;
    stencil_halo_transfer *item; /* owned */
} stencil_halo_transfers;

/* Finds the ghost cells that parts must copy from other parts, where this process has one of the two. Boxes
 * from one part to another one are in the same order in both of their processes. Along axes that are not cut
 * and at mirrored ends the boxes include the sender's ghost cells, and thereby corners. Requires that parts
 * are at least as thick as their ghost cells; no box is mirrored. Errors: NO_MEMORY. */
stencil_status stencil_halo_transfers_find(stencil_halo_transfers *transfers, const stencil_cut *cut);
void stencil_halo_transfers_destroy(stencil_halo_transfers *transfers);

/* Allocates the *length step weights of the problem's cycle, in its precision, and after them those of its
 * palette as kernels get it (stencil_classes.palette); the caller frees *cycle. stencil_weights_rows(): how
 * many rows that palette has; stencil_weights_bytes(): the bytes of all. */
stencil_status stencil_weights_make(stencil_weights **cycle, int *length, const stencil_problem *problem);
int stencil_weights_rows(const stencil_problem *problem);
int64_t stencil_weights_bytes(const stencil_problem *problem);

/* Rounds the weights of points, and `last`, which stands behind them (the factor of the source term), to a
 * precision. */
void stencil_weights_round(stencil_weights *to, stencil_precision precision,
                           const double weight[STENCIL_POINTS_MAX], double last);

/* Sets the extents and ghost cells of a part's domain. `store`: the sweep writes the ghost cells of
 * neighbouring parts; else they are copied after the sweep. Sides where a part of another process lies are
 * open like all where cells are copied. Borrows all arguments. The caller sets domain->weights and
 * domain->partial. */
void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, int part,
                         const stencil_buffers *buffers, bool store);

/* The groups of cells that have a mark, in all parts of a cut: count[axis] of them, from `first` on, in the
 * indices of a part (along x in groups of 64 cells), ghost cells included. Bits of cells: words before that
 * of cell x = 0 of a row, and from row to row; words of all rows, with a gap behind that kernels read. */
typedef struct stencil_marks {
    int64_t first[3], count[3];
    int64_t words_before, words_row, words;
} stencil_marks;
stencil_marks stencil_marks_of(const stencil_cut *cut);

/* The classes of a part's cells as kernels get them; `of` NULL where the part has no such buffers. */
stencil_classes stencil_classes_of(const stencil_buffers *buffers, int part);

/* Marks groups: writes the marks of `count` groups that begin with x = `first` (a multiple of 64, an index of
 * the part) to mark[count], from the classes of a row. of[x] is the class of cell x; only cells of the range
 * [low, end) count, and a group without any is plain. */
void stencil_marks_make(uint8_t *mark, const uint8_t *of, int64_t first, int64_t count, int64_t low,
                        int64_t end);

/* The range [low, end) of x of a part's cells, ghost cells included, that steps update somewhere: without
 * boundary cells of fixed sides, whose class says nothing. */
void stencil_marks_range(const stencil_cut *cut, int part, int64_t range[2]);

/* The arrays of a part whose factors change in time; the caller sets the factors. */
stencil_sums stencil_sums_of(const stencil_problem *problem, const stencil_buffers *buffers, int part);

/* Swaps u[0] and u[1] in all parts. */
void stencil_domain_swap(stencil_domain *domain);
