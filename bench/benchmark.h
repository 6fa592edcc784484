/* What benchmarks are made of: the table row, filling a result, and sampling. Internal to bench/. */
#ifndef STENCIL_BENCH_BENCHMARK_H
#define STENCIL_BENCH_BENCHMARK_H

#include "bench/bench.h"

/* options->backend is the result's here (CPU or GPU), and samples and max_s are in range. */
typedef stencil_status (*stencil_benchmark_function)(const stencil_bench_options *options,
                                                     const stencil_machine *machine,
                                                     stencil_bench_result *result);

/* Name and description stand in benchmarks.def. NULL: does not apply. */
typedef struct stencil_benchmark {
    stencil_benchmark_function run_cpu, run_gpu;
} stencil_benchmark;

/* Appends a row; *index is its place, since rows move when one is added. `unit` and `kind` are kept, not
 * copied. */
stencil_status stencil_bench_add_row(stencil_bench_result *result, const char *kind, const char *name,
                                     const char *unit, int *index);

void stencil_bench_add_number(stencil_bench_result *result, const char *name, int64_t number);
void stencil_bench_add_text(stencil_bench_result *result, const char *name, const char *text);
void stencil_bench_add_note(stencil_bench_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Gives a benchmark up without an error. Returns OK. */
stencil_status stencil_bench_skip(stencil_bench_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes `iterations` iterations of row `row` and says how long all of them took. */
typedef stencil_status (*stencil_bench_sampler)(void *context, int row, int64_t iterations, double *time_s);

/* Warms up row `row`, and finds how many iterations make a sample: `asked`, or, where that is 0, as many as
 * take about 0.4 s (and at least 0.05 s). */
stencil_status stencil_bench_calibrate(stencil_bench_sampler sampler, void *context, int row, int64_t asked,
                                       int64_t *iterations);

/* Takes options->samples samples of every row that is not skipped, row->iterations iterations each. Rounds:
 * each row once, starting with another one each time, so that what disturbs the machine hits all rows alike.
 * Then fills the rows' statistics, and their ratios where there are rows of kind "copy". */
stencil_status stencil_bench_measure(stencil_bench_result *result, const stencil_bench_options *options,
                                     stencil_bench_sampler sampler, void *context);

/* Ratio of every row that moves bytes to the best row of kind "copy". */
void stencil_bench_fill_ratios(stencil_bench_result *result);

#endif
