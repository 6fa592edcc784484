/* What happens when only a part of a group synchronises: cases, outcomes, and what the benchmark partial asks
 * the benchmark multi-grid. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_PARTIAL_H
#define STENCIL_BENCH_PARTIAL_H

#include "bench/benchmark.h"
#include "bench/kernels.h"

/* The host's side, in partial_cpu.c. A row that states the stencil_partial_outcome with which the child of
 * `benchmark` answers {first, second}; to end its process is an outcome, too. Of multi-grid: the number of
 * GPUs, at least 2, the first ones of those asked for, and whether half the blocks of each synchronise, or
 * half the GPUs. `skipped`: why it is not asked, or NULL. */
stencil_status stencil_partial_state(stencil_bench *b, const stencil_bench_subject *subject,
                                     const char *benchmark, double timeout_s, int first, int second,
                                     const char *skipped);
#endif
