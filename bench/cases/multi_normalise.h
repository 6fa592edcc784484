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

/* A part's view of a problem of case normalise-cached. */
typedef struct multi_normalise_part {
    normalise_cached_arguments of;
    uint32_t *word[STENCIL_PARTS_MAX]; /* of each part, in its memory: the largest of its values */
    uint32_t *total, *count;           /* of this part: the largest of all; blocks that have come */
    uint32_t *told;                    /* in memory of the host */
    uint32_t value;                    /* what the host passes on */
} multi_normalise_part;

static inline multi_normalise_part *multi_normalise_part_of(const stencil_part *part) {
    return (multi_normalise_part *)part;
}

/* The case; its orders are the values of multi_normalise_way. */
extern const stencil_parts_case stencil_multi_normalise;

#ifdef STENCIL_HAVE_CUDA
/* The words of all parts for the host to read; words of managed memory, where the loop takes them; a step. */
stencil_status multi_normalise_gpu_pin(stencil_bench *b, stencil_parts_spread *spread);
stencil_status multi_normalise_gpu_manage(stencil_bench *b, stencil_parts_loop *loop, char why[96]);
int multi_normalise_gpu_steps(const stencil_parts_loop *loop);
int multi_normalise_gpu_step(const stencil_parts_loop *loop, int part, int step);
#endif

#ifdef __cplusplus
}
#endif
