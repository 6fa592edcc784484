/* What happens when only a part of a group synchronises: cases, outcomes, and what the benchmark partial asks
 * the benchmark multi-grid. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_PARTIAL_H
#define STENCIL_BENCH_PARTIAL_H

#include "bench/benchmark.h"
#include "bench/kernels.h"

/* The host's side, in partial_cpu.c. Question to the benchmark multi-grid's child, answered by a
 * stencil_partial_outcome: half the GPUs synchronise, or half the blocks of each. */
typedef struct stencil_multi_grid_part {
    int gpu_count; /* >= 2: the first ones of those asked for */
    bool blocks;
} stencil_multi_grid_part;

/* A row that states the outcome with which a child answers. One that ends its process is an outcome, too.
 * `skipped`: why it is not asked, or NULL. */
stencil_status stencil_partial_state(stencil_bench *b, const stencil_bench_subject *subject,
                                     const char *benchmark, double timeout_s, const void *question,
                                     size_t question_size, const char *skipped);
#endif
