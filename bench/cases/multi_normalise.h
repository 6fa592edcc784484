/* Case normalise over several parts, GPUs or threads of a CPU: nine ways to find the largest value of all
 * parts, from the report on synchronisation across devices (003). Internal to bench/. */
#pragma once

#include "bench/cases/loop.h"
#include "bench/cases/normalise.cuh"

#ifdef __cplusplus
extern "C" {
#endif

/* Ways to find the largest value of all parts between a pass that finds each part's largest value and a pass
 * that divides by the largest of all. */
typedef enum multi_normalise_way {
    MULTI_NORMALISE_SYSTEM,  /* system-scope atomics of all parts on one word of part 0 */
    MULTI_NORMALISE_HOST,    /* the host copies a word of each part, and passes the maximum to kernels */
    MULTI_NORMALISE_BLOCK,   /* each block of the second pass reads the words of all parts */
    MULTI_NORMALISE_MANAGED, /* as MULTI_NORMALISE_HOST, with the words in managed memory */
    MULTI_NORMALISE_PINNED,  /* each part's last block stores its word to pinned host memory for the host */
    MULTI_NORMALISE_THREE,   /* an extra pass, of one thread on each part, finds the maximum */
    MULTI_NORMALISE_CACHED,  /* one persistent kernel with a barrier across all parts */
    MULTI_NORMALISE_SYSTEM_WARPS, /* as MULTI_NORMALISE_SYSTEM, with an atomic for each warp, not each block
                                   */
    MULTI_NORMALISE_BLOCK_WARPS   /* as MULTI_NORMALISE_BLOCK, with an atomic for each warp */
} multi_normalise_way;

/* A part's view of a problem of case normalise-cached. */
typedef struct multi_normalise_part {
    normalise_arguments of;
    uint32_t *word[STENCIL_PARTS_MAX]; /* [parts]: word with a part's largest value, in its memory */
    uint32_t *total, *count;           /* in this part's memory: largest of all; number of arrived blocks */
    uint32_t *told;                    /* the part's largest value in host memory */
    uint32_t value;                    /* the largest value, passed by the host */
} multi_normalise_part;

/* Tells whether all parts raise one word, of part 0. */
STENCIL_ANYWHERE bool multi_normalise_is_system(int way) {
    return way == MULTI_NORMALISE_SYSTEM || way == MULTI_NORMALISE_SYSTEM_WARPS;
}

static inline multi_normalise_part *multi_normalise_part_of(const stencil_part *part) {
    return (multi_normalise_part *)part;
}

STENCIL_ANYWHERE uint32_t multi_normalise_largest_word(const multi_normalise_part *m) {
    uint32_t largest = 1;
    for (uint32_t k = 0; k < m->of.parts; k++)
        largest = normalise_larger(largest, *m->word[k]);
    return largest;
}

/* First pass: returns the largest value of a GPU lane or CPU thread. multi_normalise_divide(), the second
 * pass, divides the values. */
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

/* Case multi-normalise; its orders are the values of multi_normalise_way. */
extern const stencil_parts_case stencil_multi_normalise;

#ifdef STENCIL_HAVE_CUDA
/* Allocates pinned host memory for the words of all parts; multi_normalise_gpu_manage() moves the
 * words to managed memory. */
stencil_status multi_normalise_gpu_pin(stencil_bench *b, stencil_parts_spread *spread);
stencil_status multi_normalise_gpu_manage(stencil_bench *b, stencil_case_loop *loop, char why[96]);
int multi_normalise_gpu_steps(const stencil_case_loop *loop);
int multi_normalise_gpu_step(const stencil_case_loop *loop, int part, int step);
#endif

#ifdef __cplusplus
}
#endif
