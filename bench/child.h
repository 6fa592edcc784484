/* Child processes: one question each, asked and answered as JSON on a socket. Internal to bench/. */
#ifndef STENCIL_BENCH_CHILD_H
#define STENCIL_BENCH_CHILD_H

#include "bench/benchmark.h"

/* A benchmark's table row by its name, and running it in this process (bench.c). */
const stencil_benchmark *stencil_benchmark_find(const char *name, int *index);
stencil_status stencil_bench_run_here(int index, const stencil_bench_options *options,
                                      const stencil_machine *machine, stencil_bench_result *result);

/* Runs benchmark `index` in a child process. *result is set and destroyed by the caller. */
stencil_status stencil_bench_run_in_child(int index, const stencil_bench_options *options,
                                          const stencil_machine *machine, stencil_bench_result *result);

/* Options without progress and child_command, as a child process is told them. BAD_DATA: what was read is not
 * what was written. */
json_t *stencil_bench_options_json(const stencil_bench_options *options);
stencil_status stencil_bench_options_read(const json_t *object, stencil_bench_options *options);

#endif
