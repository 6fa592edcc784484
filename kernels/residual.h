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
    STENCIL_COMBINE_VALUES = 1024, /* values of a group */
    STENCIL_COMBINE_LANES = 256
};

/* The norm of a residual, which says how terms are combined; the user's --norm. */
typedef enum stencil_norm {
    STENCIL_NORM_L2,  /* root mean square of u' - u over the updated cells */
    STENCIL_NORM_MAX, /* largest |u' - u| */
    STENCIL_NORM_COUNT
} stencil_norm;

/* Number of the partial sum that has cell (z, y, x) of a problem with n updated cells per axis (z, y, x); how
 * many there are. */
static inline int64_t stencil_partial_at(const int64_t n[3], int64_t z, int64_t y, int64_t x) {
    const int64_t row = (n[2] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS;
    return (z * n[1] + y) * row + x / STENCIL_PARTIAL_CELLS;
}
static inline int64_t stencil_partial_count(const int64_t n[3]) {
    return stencil_partial_at(n, n[0], 0, 0);
}

/* Number of values after one reduction level; of all levels together (at least 1). */
STENCIL_ANYWHERE int64_t stencil_level_count(int64_t value_count) {
    return (value_count + STENCIL_COMBINE_VALUES - 1) / STENCIL_COMBINE_VALUES;
}
int64_t stencil_levels_count(int64_t value_count);
/* Bytes of the values, with room to combine them. */
static inline int64_t stencil_values_bytes(int64_t value_count) {
    return (value_count + stencil_levels_count(value_count)) * (int64_t)sizeof(double);
}

/* A reduction level: to[g] becomes the value of group g of from[count], for all groups. */
typedef struct stencil_level {
    const double *from;
    int64_t count; /* 1: nothing is left to be done, from[0] is the value */
    double *to;
    int64_t results;
} stencil_level;

/* The level that begins with `count` values, and the one after it; the levels stand one behind the other in
 * scratch[stencil_levels_count(count)]. */
STENCIL_ANYWHERE stencil_level stencil_level_first(const double *values, int64_t count, double *scratch) {
    const stencil_level level = {values, count, scratch, stencil_level_count(count)};
    return level;
}
STENCIL_ANYWHERE stencil_level stencil_level_next(const stencil_level *level) {
    return stencil_level_first(level->to, level->results, level->to + level->results);
}

/* The operator on the CPU, and a level of a tree, out of place, so that its operations are vectors. */
static inline double stencil_combine_two(double a, double b, stencil_norm norm) {
    if (norm == STENCIL_NORM_L2)
        return a + b;
    return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
}
static inline void stencil_combine_pairs(double *to, const double *from, int count, stencil_norm norm) {
    for (int i = 0; i < count; i++)
        to[i] = stencil_combine_two(from[2 * i], from[2 * i + 1], norm);
}

/* Step 1 on the CPU: a partial sum from its 64 terms (missing ones 0). */
static inline double stencil_partial_sum(const double term[STENCIL_PARTIAL_CELLS], stencil_norm norm) {
    double even[32], odd[16];
    stencil_combine_pairs(even, term, 32, norm);
    stencil_combine_pairs(odd, even, 16, norm);
    stencil_combine_pairs(even, odd, 8, norm);
    stencil_combine_pairs(odd, even, 4, norm);
    stencil_combine_pairs(even, odd, 2, norm);
    return stencil_combine_two(even[0], even[1], norm);
}

/* Step 3 on the CPU: the value of group `group` of v[value_count]. */
double stencil_combine(const double *v, int64_t value_count, int64_t group, stencil_norm norm);

/* Combines values as step 3 does, with the threads of the caller. */
double stencil_combine_all(const double *values, int64_t count, double *scratch, stencil_norm norm);

/* Makes the residual of the last value, as step 4 does. */
STENCIL_ANYWHERE double stencil_residual_finish(double value, int64_t updated_cells, stencil_norm norm) {
    if (isnan(value))
        return (double)NAN;
    return norm == STENCIL_NORM_MAX ? value : sqrt(value / (double)updated_cells);
}
