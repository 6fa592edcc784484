/* What happens when only a part of a group synchronises: cases, outcomes, and what the benchmark partial asks
 * the benchmark multi-grid. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_PARTIAL_H
#define STENCIL_BENCH_PARTIAL_H

#include "bench/kernels.h"
#include "sync/barrier.h"

/* The part that does not synchronise ends its work instead. */
typedef enum stencil_partial_case {
    STENCIL_PARTIAL_SYNCWARP, /* half the lanes */
    STENCIL_PARTIAL_TILE,
    STENCIL_PARTIAL_COALESCED,
    STENCIL_PARTIAL_BLOCK_LANES, /* half the lanes of each warp, __syncthreads() */
    STENCIL_PARTIAL_BLOCK_WARPS,
    STENCIL_PARTIAL_GRID_LANES, /* the library's grid.sync() */
    STENCIL_PARTIAL_GRID_WARPS,
    STENCIL_PARTIAL_GRID_BLOCKS,
    STENCIL_PARTIAL_LIMITED, /* + barrier id: half the blocks, the barriers of barriers.def with their time
                                limit */
    STENCIL_PARTIAL_CASES = STENCIL_PARTIAL_LIMITED + STENCIL_BARRIER_COUNT
} stencil_partial_case;

typedef enum stencil_partial_outcome {
    STENCIL_PARTIAL_UNKNOWN,
    STENCIL_PARTIAL_COMPLETES,
    STENCIL_PARTIAL_DEADLOCKS,
    STENCIL_PARTIAL_GIVES_UP, /* after its time limit, with the alarm */
    STENCIL_PARTIAL_LOSES     /* ends, though not every thread came to its end */
} stencil_partial_outcome;

typedef struct stencil_partial_work {
    stencil_barrier_state state; /* of the limited ones */
    uint32_t *done;              /* threads that came to their end */
} stencil_partial_work;

/* With a stencil_partial_work; NULL where there is none. */
STENCIL_KERNELS stencil_partial_kernels[STENCIL_PARTIAL_CASES];

/* The host's side, in partial_cpu.c. Question to the benchmark multi-grid's child, answered by a
 * stencil_partial_outcome: half the GPUs synchronise, or half the blocks of each. */
typedef struct stencil_multi_grid_part {
    int gpu_count; /* >= 2: the first ones of those asked for */
    bool blocks;
} stencil_multi_grid_part;

#ifndef __cplusplus
#include "bench/benchmark.h"

/* Asks a child that answers with a stencil_partial_outcome. One that ends its process is an outcome, too. */
stencil_partial_outcome stencil_partial_ask(const stencil_bench *b, const char *benchmark, double timeout_s,
                                            const void *question, size_t question_size);

/* A row that states an outcome; `skipped`: why there is none, or NULL. */
stencil_status stencil_partial_state(stencil_bench *b, const stencil_bench_subject *subject,
                                     stencil_partial_outcome outcome, const char *skipped);
#endif

#endif
