/* Rows that belong together: the same thing at several places of its axes. For tables and plots. */
#ifndef STENCIL_BENCH_SERIES_H
#define STENCIL_BENCH_SERIES_H

#include "bench/bench.h"

/* Rows of the same kind, name, unit, method and axis names, in the order of the result. */
typedef struct stencil_bench_series {
    int count;
    int *row; /* [count]: indices into result->row, owned */
} stencil_bench_series;

/* All series of a result, in the order of their first rows; destroyed by stencil_bench_series_destroy().
 * NO_MEMORY. */
stencil_status stencil_bench_series_make(const stencil_bench_result *result, stencil_bench_series **series,
                                         int *count);
void stencil_bench_series_destroy(stencil_bench_series *series, int count);

/* The different numbers of a series on axis `axis` (0: outermost), ascending, into value[series->count].
 * Returns how many there are. */
int stencil_bench_series_values(const stencil_bench_result *result, const stencil_bench_series *series,
                                int axis, int64_t *value);

/* The row whose numbers on all axes are at[axis_count]; NULL: none. */
const stencil_bench_row *stencil_bench_series_at(const stencil_bench_result *result,
                                                 const stencil_bench_series *series, const int64_t *at);

/* Whether the last two axes span a field of at least 2 x 2 places. */
bool stencil_bench_series_is_field(const stencil_bench_result *result, const stencil_bench_series *series);

/* The smallest number on every axis. */
void stencil_bench_series_first(const stencil_bench_result *result, const stencil_bench_series *series,
                                int64_t *at);

/* Moves at[0 … axes) to the next combination of the outer axes' values, the last of them fastest; false: that
 * was the last one. Used to walk through the fields of a series. */
bool stencil_bench_series_next(const stencil_bench_result *result, const stencil_bench_series *series,
                               int axes, int64_t *at);

#endif
