/* Kernels of meetings_test.c. */
#ifndef STENCIL_TESTS_MEETINGS_H
#define STENCIL_TESTS_MEETINGS_H

#include "sync/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MEETINGS_BLOCKS_MAX = 8 /* of a part */, MEETINGS_PER_BARRIER = 4 };

/* Argument of a kernel whose blocks all wait for each other `meetings` times. */
typedef struct meetings {
    stencil_barrier_state state;
    int64_t count;
    uint32_t blocks;                   /* of each part */
    uint32_t *come[STENCIL_PARTS_MAX]; /* [blocks] of every part: meetings that a block has come to, zeroed */
    uint32_t *wrong;                   /* how often a block was found behind, or ahead by two; zeroed */
} meetings;

/* Returns the kernel with that barrier. */
const void *meetings_kernel(stencil_barrier_id id);

#ifdef __cplusplus
}
#endif
#endif
