/* The residual of a step, u' - u over all updated cells, summed in double in one canonical order, so that
 * every strategy, tile, partition and back-end gets the same number to the last bit.
 *
 * l2 norm: term of a cell d*d with d = (double)u' - (double)u, and the operator a + b.
 * max norm: term |d| and the operator "the larger one; NaN if either is NaN".
 *
 * 1. Chunks. Each row of updated cells is cut at x = 0, 64, 128, … (x counted from the first updated cell of
 * the whole problem). The value of a chunk is the balanced binary tree over its 64 terms, adjacent ones
 * first:
 *    ((t0+t1)+(t2+t3)) + ((t4+t5)+(t6+t7)) …; cells beyond the row's end have the term 0.
 * 2. Numbering. With c = ceil(nx / 64) chunks in a row, chunk k of row (z, y) has the number (z*ny + y)*c +
 * k.
 * 3. Folding. While there is more than one value: each group of 1024 consecutive values (the last one filled
 * up with zeros) becomes one: s_t = ((v[t] + v[t+256]) + v[t+512]) + v[t+768] for t = 0 … 255, then the
 * balanced binary tree over s_0 … s_255, adjacent ones first.
 * 4. l2: sqrt(value / number of updated cells), in double. max: the value. A NaN is stored as the NaN of
 * <math.h>.
 */
#ifndef STENCIL_KERNELS_RESIDUAL_H
#define STENCIL_KERNELS_RESIDUAL_H

#include "base/base.h"

enum {
    STENCIL_CHUNK_CELLS = 64,   /* cells of a chunk */
    STENCIL_FOLD_VALUES = 1024, /* values of a group */
    STENCIL_FOLD_LANES = 256
};

/* How terms are joined; the user's --norm. */
typedef enum stencil_norm {
    STENCIL_NORM_L2,  /* root mean square of u' - u over the updated cells */
    STENCIL_NORM_MAX, /* largest |u' - u| */
    STENCIL_NORM_COUNT
} stencil_norm;

#ifdef __cplusplus
extern "C" {
#endif

/* Number of chunks of a problem with n updated cells per axis (z, y, x). */
int64_t stencil_chunk_count(const int64_t n[3]);

/* Number of values after one level of folding; of all levels together (at least 1). */
int64_t stencil_fold_count(int64_t value_count);
int64_t stencil_fold_scratch_count(int64_t value_count);

/* A level of folding on the CPU: to[g] = stencil_fold_group(from, count, g, …) for all groups. */
typedef struct stencil_fold {
    const double *from;
    int64_t count; /* 1: nothing is left to be done, from[0] is the value */
    double *to;
    int64_t groups;
} stencil_fold;

/* The level that begins with `count` values, and the one after it; the levels stand one behind the other in
 * scratch[stencil_fold_scratch_count(count)]. */
stencil_fold stencil_fold_first(const double *values, int64_t count, double *scratch);
stencil_fold stencil_fold_next(const stencil_fold *fold);

/* Step 1 on the CPU: the value of one chunk from its 64 terms (missing ones 0); `term` is overwritten. */
double stencil_chunk_join(double term[STENCIL_CHUNK_CELLS], stencil_norm norm);

/* Step 3 on the CPU: the value of group `group` of v[value_count]. */
double stencil_fold_group(const double *v, int64_t value_count, int64_t group, stencil_norm norm);

/* All of step 3 by the threads of the caller. */
double stencil_fold_all(const double *values, int64_t count, double *scratch, stencil_norm norm);

/* Step 4. */
double stencil_residual_finish(double value, int64_t updated_cells, stencil_norm norm);

#ifdef __cplusplus
}
#endif
#endif
