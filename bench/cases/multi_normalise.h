/* Case normalise over several parts, GPUs or threads of a CPU: the seven ways of the report on
 * synchronisation across devices (003) to come by the largest of all parts' values. Internal to bench/. */
#pragma once

#include "bench/cases/normalise.cuh"
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
    normalise_arguments of;
    uint32_t *word[STENCIL_PARTS_MAX]; /* of each part, in its memory: the largest of its values */
    uint32_t *total, *count;           /* of this part: the largest of all; blocks that have come */
    uint32_t *told;                    /* in memory of the host */
    uint32_t value;                    /* what the host passes on */
} multi_normalise_part;

static inline multi_normalise_part *multi_normalise_part_of(const stencil_part *part) {
    return (multi_normalise_part *)part;
}

STENCIL_ANYWHERE uint32_t multi_normalise_largest_word(const multi_normalise_part *m) {
    uint32_t largest = 1;
    for (uint32_t k = 0; k < m->of.parts; k++)
        largest = normalise_larger(largest, *m->word[k]);
    return largest;
}

/* The two passes of a GPU's lane or a CPU's thread: they find the largest of its values, and divide them. */
STENCIL_ANYWHERE uint32_t multi_normalise_find(const normalise_arguments *a, stencil_case_block block) {
    uint32_t largest = 0;
    CASE_ITEMS(i, a->own * a->piece_quads, block) {
        largest = normalise_largest(largest, a->integers[i]);
    }
    return largest;
}
STENCIL_ANYWHERE void multi_normalise_divide(const normalise_arguments *a, uint32_t by,
                                             stencil_case_block block) {
    CASE_ITEMS(i, a->own * a->piece_quads, block) {
        a->numbers[i] = normalise_quotients(a->integers[i], (float)by);
    }
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
