/* The residual of a step, u' - u over all updated cells, summed in double in one canonical order, so that
 * every strategy, tile, partition and back-end gets the same number to the last bit.
 *
 * l2 norm: term of a cell d*d with d = (double)u' - (double)u, and the operator a + b.
 * max norm: term |d| and the operator "the larger one; NaN if either is NaN".
 *
 * 1. Partial sums. Each row of updated cells is cut at x = 0, 64, 128, … (x counted from the first updated
 * cell of the whole problem). A partial sum is the balanced binary tree over its 64 terms, adjacent ones
 * first:
 *    ((t0+t1)+(t2+t3)) + ((t4+t5)+(t6+t7)) …; cells beyond the row's end have the term 0.
 * 2. Numbering. With c = ceil(nx / 64) partial sums in a row, partial sum k of row (z, y) has the number
 * (z*ny + y)*c + k.
 * 3. Combining. While there is more than one value: each group of 1024 consecutive values (the last one
 * filled up with zeros) becomes one: s_t = ((v[t] + v[t+256]) + v[t+512]) + v[t+768] for t = 0 … 255, then
 * the balanced binary tree over s_0 … s_255, adjacent ones first.
 * 4. l2: sqrt(value / number of updated cells), in double. max: the value. A NaN is stored as the NaN of
 * <math.h>.
 */
#pragma once

#include <math.h>

#include "base/base.h"

enum {
    STENCIL_PARTIAL_CELLS = 64,    /* cells of a partial sum */
    STENCIL_COMBINE_VALUES = 1024, /* values of a group, which are combined to one */
    STENCIL_COMBINE_LANES = 256
};

/* The norm of a residual, which says how terms are combined; the user's --norm. */
typedef enum stencil_norm {
    STENCIL_NORM_L2,  /* root mean square of u' - u over the updated cells */
    STENCIL_NORM_MAX, /* largest |u' - u| */
    STENCIL_NORM_COUNT
} stencil_norm;

/* Returns the number of the partial sum that contains cell (z, y, x) of a problem with n updated cells per
 * axis (z, y, x); stencil_partial_count() returns how many partial sums there are. */
static inline int64_t stencil_partial_at(const int64_t n[3], int64_t z, int64_t y, int64_t x) {
    const int64_t row = (n[2] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS;
    return (z * n[1] + y) * row + x / STENCIL_PARTIAL_CELLS;
}
static inline int64_t stencil_partial_count(const int64_t n[3]) {
    return stencil_partial_at(n, n[0], 0, 0);
}

/* Returns the number of values after one reduction level, where groups of 1024 values become one value;
 * stencil_levels_count() returns the sum over all levels (at least 1). */
STENCIL_ANYWHERE int64_t stencil_level_count(int64_t value_count) {
    return (value_count + STENCIL_COMBINE_VALUES - 1) / STENCIL_COMBINE_VALUES;
}
int64_t stencil_levels_count(int64_t value_count);
/* Returns the bytes of `value_count` values and of the scratch memory to combine them. */
static inline int64_t stencil_values_bytes(int64_t value_count) {
    return (value_count + stencil_levels_count(value_count)) * (int64_t)sizeof(double);
}

/* A reduction level: to[g] becomes the value of group g of from[count], for all groups. */
typedef struct stencil_level {
    const double *from;
    int64_t count; /* number of values; 1: the reduction is complete, from[0] is its result */
    double *to;
    int64_t results;
} stencil_level;

/* Returns the reduction level of `count` values; stencil_level_next() returns the level that follows `level`.
 * The levels are contiguous in scratch[stencil_levels_count(count)]. */
STENCIL_ANYWHERE stencil_level stencil_level_first(const double *values, int64_t count, double *scratch) {
    const stencil_level level = {values, count, scratch, stencil_level_count(count)};
    return level;
}
STENCIL_ANYWHERE stencil_level stencil_level_next(const stencil_level *level) {
    return stencil_level_first(level->to, level->results, level->to + level->results);
}

/* The operator of a norm on the CPU; stencil_combine_pairs() applies it to adjacent pairs, one level of a
 * binary tree. */
static inline double stencil_combine_two(double a, double b, stencil_norm norm) {
    if (norm == STENCIL_NORM_L2)
        return a + b;
    return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
}
static inline void stencil_combine_pairs(double *to, const double *from, int count, stencil_norm norm) {
    for (int i = 0; i < count; i++)
        to[i] = stencil_combine_two(from[2 * i], from[2 * i + 1], norm);
}

/* Returns a partial sum from its 64 terms (missing terms are 0): step 1 of the residual, on the CPU. */
static inline double stencil_partial_sum(const double term[STENCIL_PARTIAL_CELLS], stencil_norm norm) {
    double even[32], odd[16];
    stencil_combine_pairs(even, term, 32, norm);
    stencil_combine_pairs(odd, even, 16, norm);
    stencil_combine_pairs(even, odd, 8, norm);
    stencil_combine_pairs(odd, even, 4, norm);
    stencil_combine_pairs(even, odd, 2, norm);
    return stencil_combine_two(even[0], even[1], norm);
}

/* Returns the value of group `group` of v[value_count]: step 3 of the residual, on the CPU. */
double stencil_combine(const double *v, int64_t value_count, int64_t group, stencil_norm norm);

/* Combines `count` values to one, as step 3 of the residual does, with the caller's OpenMP threads and
 * scratch[stencil_levels_count(count)]. */
double stencil_combine_all(const double *values, int64_t count, double *scratch, stencil_norm norm);

/* Returns the residual that the last combined value gives: step 4 of the residual. */
STENCIL_ANYWHERE double stencil_residual_finish(double value, int64_t updated_cells, stencil_norm norm) {
    if (isnan(value))
        return (double)NAN;
    return norm == STENCIL_NORM_MAX ? value : sqrt(value / (double)updated_cells);
}
