/* Case normalise over several parts, GPUs or threads of a CPU: the seven ways of the report on
 * synchronisation across devices (003) to come by the largest of all parts' values. Internal to bench/. */
#pragma once

#include "bench/cases/normalise_cached.cuh"
#include "bench/cases/parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two passes, and how the second one comes by the largest value; or three, or one. */
typedef enum multi_normalise_way {
    MULTI_NORMALISE_SYSTEM,  /* all parts' atomics are on one word, of part 0 */
    MULTI_NORMALISE_HOST,    /* the host copies a word of each part, and passes the result on */
    MULTI_NORMALISE_BLOCK,   /* each block looks at the words of all parts */
    MULTI_NORMALISE_MANAGED, /* like HOST, of words that pages bring */
    MULTI_NORMALISE_PINNED,  /* like HOST, but the last block to come, by a second atomic, stores to the host
                              */
    MULTI_NORMALISE_THREE,   /* the second pass is a thread on each part */
    MULTI_NORMALISE_CACHED   /* a persistent kernel under the barrier across parts */
} multi_normalise_way;

/* What a part knows. */
typedef struct multi_normalise_part {
    normalise_cached_arguments of;
    uint32_t *word[STENCIL_PARTS_MAX]; /* of each part, in its memory: the largest of its values */
    uint32_t *total, *count;           /* of this part: the largest of all; blocks that have come */
    uint32_t *told;                    /* in memory of the host */
    uint32_t value;                    /* what the host passes on */
} multi_normalise_part;

/* A problem of case normalise-cached, spread over parts. */
typedef struct multi_normalise_spread {
    const stencil_case_problem *problem;
    int parts;
    uint32_t blocks; /* of a part, at most; on a CPU 1 */
    multi_normalise_part part[STENCIL_PARTS_MAX];
    struct stencil_parts *gpus; /* NULL: a CPU */
} multi_normalise_spread;

/* The first part is the caller's to fill in. */
typedef struct multi_normalise_loop {
    const multi_normalise_spread *spread;
    multi_normalise_way way;
    double timeout_s;
    stencil_fault fault; /* of the next run of CACHED; who is absent is the last one of all */

    multi_normalise_part part[STENCIL_PARTS_MAX];
    stencil_barrier_state team;     /* a CPU's */
    struct stencil_parts_loop *gpu; /* NULL: a CPU */
} multi_normalise_loop;

/* These are like multi_reduction.h's. */
stencil_status multi_normalise_spread_create(stencil_bench *b, multi_normalise_spread *spread);
stencil_status multi_normalise_loop_create(stencil_bench *b, multi_normalise_loop *loop, char why[96]);
stencil_status multi_normalise_loop_run(multi_normalise_loop *loop, int64_t count, double *time_s);
stencil_status multi_normalise_loop_verify(multi_normalise_loop *loop);

#ifdef STENCIL_HAVE_CUDA
stencil_status multi_normalise_gpu_spread(stencil_bench *b, multi_normalise_spread *spread);
stencil_status multi_normalise_gpu_create(stencil_bench *b, multi_normalise_loop *loop, char why[96]);
stencil_status multi_normalise_gpu_run(multi_normalise_loop *loop, int64_t count, double *time_s);
/* Spoils the numbers of all parts; brings them to the problem's memory on the host. */
stencil_status multi_normalise_gpu_spoil(const multi_normalise_loop *loop);
stencil_status multi_normalise_gpu_read(const multi_normalise_loop *loop);
#endif

#ifdef __cplusplus
}
#endif
