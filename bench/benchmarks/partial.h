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

/* Asks a child that answers with a stencil_partial_outcome. One that ends its process is an outcome, too. */
stencil_partial_outcome stencil_partial_ask(const stencil_bench *b, const char *benchmark, double timeout_s,
                                            const void *question, size_t question_size);

/* A row that states an outcome; `skipped`: why there is none, or NULL. */
stencil_status stencil_partial_state(stencil_bench *b, const stencil_bench_subject *subject,
                                     stencil_partial_outcome outcome, const char *skipped);
#endif
