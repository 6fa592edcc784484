/* CPU twins that are plain host code: NAME_cpu.c, the host barrier in grid_cpu.c. The table row stands in
 * NAME.c. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_CPU_H
#define STENCIL_BENCH_CPU_H

#include "bench/benchmark.h"

/* Fork and join of a parallel region, over the number of threads. */
stencil_status stencil_bench_launch_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                                        stencil_bench_result *result);

/* OpenMP's own barrier, over the number of threads. */
stencil_status stencil_bench_host_barrier_cpu(const stencil_bench_options *options,
                                              const stencil_machine *machine, stencil_bench_result *result);

/* The team twin of every barrier of sync/barriers.def, over the number of threads; verified. Has a fault. */
stencil_status stencil_bench_grid_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                                      stencil_bench_result *result);

/* A part of a team synchronises, in child processes; the second answers their questions. */
stencil_status stencil_bench_partial_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                                         stencil_bench_result *result);
stencil_status stencil_bench_partial_cpu_child(const stencil_bench_options *options, const void *question,
                                               size_t question_size, void *answer, size_t answer_size);

#endif
