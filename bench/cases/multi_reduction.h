/* Runs of case multi-reduction. Internal to bench/. */
#pragma once

#include "bench/cases/multi_reduction.cuh"
#include "bench/cases/parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What keeps parts in order. A host's thread for each part: it meets the others at OpenMP's barrier, and
 * moves sums between parts, to all or along a tree; or a persistent kernel under a barrier. */
typedef enum multi_reduction_order {
    MULTI_REDUCTION_HOST,
    MULTI_REDUCTION_HOST_TREE,
    MULTI_REDUCTION_MULTI_GRID,
    MULTI_REDUCTION_NEIGHBOR,
    MULTI_REDUCTION_CEILING, /* CUB in each part, and NCCL's all-reduce */
    MULTI_REDUCTION_ORDERS
} multi_reduction_order;
static inline bool multi_reduction_is_persistent(multi_reduction_order order) {
    return order == MULTI_REDUCTION_MULTI_GRID || order == MULTI_REDUCTION_NEIGHBOR;
}

/* A problem of case reduction, spread over parts. */
typedef struct multi_reduction_spread {
    const stencil_case_problem *problem;
    int parts;
    uint32_t blocks; /* of a part, at most; on a CPU 1 */
    multi_reduction_arguments part[STENCIL_PARTS_MAX];
    struct stencil_parts *gpus; /* NULL: a CPU */
} multi_reduction_spread;

typedef struct multi_reduction_gpu multi_reduction_gpu;

/* The first part is the caller's to fill in. */
typedef struct multi_reduction_loop {
    const multi_reduction_spread *spread;
    multi_reduction_order order;
    double timeout_s;
    stencil_fault fault; /* of the next run of a persistent loop; who is absent is the last one of all */

    multi_reduction_arguments part[STENCIL_PARTS_MAX];
    stencil_barrier_state team; /* a CPU's */
    multi_reduction_gpu *gpu;
} multi_reduction_loop;

/* Spreads a problem, until the benchmark ends. */
stencil_status multi_reduction_spread_create(stencil_bench *b, multi_reduction_spread *spread);
/* Makes ready to run, until the benchmark ends; the loop stays where it is. *why, "" before: a reason where
 * the device cannot run it. */
stencil_status multi_reduction_loop_create(stencil_bench *b, multi_reduction_loop *loop, char why[96]);
/* `count` runs, each from its beginning until all parts have the sum. INTERNAL: somebody waited in vain. */
stencil_status multi_reduction_loop_run(multi_reduction_loop *loop, int64_t count, double *time_s);
/* A run from spoiled memory: whether every part has the sum, to the bit; the ceiling's, within its bound. */
stencil_status multi_reduction_loop_verify(multi_reduction_loop *loop);

#ifdef STENCIL_HAVE_CUDA
/* The same on GPUs. Launching a phase, copying `count` doubles of the sums, from number `first` on, and
 * waiting for both are one thread's of the host, for its part, and say what CUDA says. */
stencil_status multi_reduction_gpu_spread(stencil_bench *b, multi_reduction_spread *spread);
stencil_status multi_reduction_gpu_create(stencil_bench *b, multi_reduction_loop *loop, char why[96]);
int multi_reduction_gpu_begin(const multi_reduction_loop *loop, int part);
int multi_reduction_gpu_launch(const multi_reduction_loop *loop, int part, int64_t phase);
int multi_reduction_gpu_copy(const multi_reduction_loop *loop, int part, int to, int64_t first,
                             int64_t count);
int multi_reduction_gpu_wait(const multi_reduction_loop *loop, int part);
stencil_status multi_reduction_gpu_run(multi_reduction_loop *loop, int64_t count, double *time_s);
stencil_status multi_reduction_gpu_spoil(const multi_reduction_loop *loop);
stencil_status multi_reduction_gpu_read(const multi_reduction_loop *loop, int part, double *sum);

/* bench/cases/multi_reduction_ceiling.cu: communicators and what else it takes; a run. */
stencil_status multi_reduction_ceiling_create(stencil_bench *b, const multi_reduction_loop *loop,
                                              void **state, char why[96]);
stencil_status multi_reduction_ceiling_run(void *state);
#endif

#ifdef __cplusplus
}
#endif
