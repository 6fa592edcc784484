/* CPU twins that are plain host code: NAME_cpu.c, the host barrier in grid_cpu.c. The table row stands in
 * NAME.c. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_CPU_H
#define STENCIL_BENCH_CPU_H

#include "bench/benchmark.h"

/* Over the number of threads: fork and join of a parallel region; OpenMP's own barrier; the team twin of
 * every barrier of sync/barriers.def, verified, which has a fault. */
stencil_status stencil_bench_launch_cpu(stencil_bench *b);
stencil_status stencil_bench_host_barrier_cpu(stencil_bench *b);
stencil_status stencil_bench_grid_cpu(stencil_bench *b);

/* A part of a team synchronises, in child processes; the second answers their questions. */
stencil_status stencil_bench_partial_cpu(stencil_bench *b);
stencil_status stencil_bench_partial_cpu_child(stencil_bench *b, const void *question, size_t question_size,
                                               void *answer, size_t answer_size);

#endif
