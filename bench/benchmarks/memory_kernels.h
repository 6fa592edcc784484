/* Kernels of the benchmark memory. Internal to it. */
#ifndef STENCIL_BENCH_MEMORY_KERNELS_H
#define STENCIL_BENCH_MEMORY_KERNELS_H

#include "bench/benchmarks/sm.h"

/* A chain of `nodes` (a power of two) places, `stride` words of 4 bytes apart; each holds the number of the
 * next. All of them make one ring: next = (1664525 x node + 1013904223) modulo nodes. */
typedef struct stencil_memory_chain {
    uint32_t *place;
    uint32_t nodes, stride;
} stencil_memory_chain;

static inline uint32_t stencil_memory_next(uint32_t node, uint32_t nodes) {
    return (1664525u * node + 1013904223u) & (nodes - 1);
}

typedef struct stencil_memory_seen {
    int64_t cycles;
    uint32_t node; /* where the chase ended */
} stencil_memory_seen;

typedef enum stencil_memory_kernel {
    /* One thread follows a chain from `first` for `steps` steps, a multiple of 16: (stencil_memory_chain,
     * uint32_t first, int64_t steps, stencil_memory_seen *). */
    STENCIL_MEMORY_CHASE_CACHED,  /* through L1 */
    STENCIL_MEMORY_CHASE_L2,      /* past L1 */
    STENCIL_MEMORY_CHASE_ACQUIRE, /* ld.acquire at device scope, as a barrier polls */
    STENCIL_MEMORY_CHASE_SHARED,  /* a chain of 4096 words in shared memory, whose `place` is not used */
    STENCIL_MEMORY_FILL,          /* fills a chain: (stencil_memory_chain) */
    STENCIL_MEMORY_COPY, /* 16 bytes a thread at a time: (const void *from, void *to, int64_t vectors) */
    /* Every block reads all of it `passes` times, past L1, and adds up the words by exclusive or: (const void
     * *from, int64_t vectors, int64_t passes, uint32_t *result [blocks]). */
    STENCIL_MEMORY_READ,
    /* With a stencil_sm_arguments: a thread reads 16 bytes of shared memory per repeat (a multiple of 32);
     * or, 000 Fig. 10, adds doubles in shared memory, 8 bytes per repeat (a multiple of 16). */
    STENCIL_MEMORY_SHARED_READ,
    STENCIL_MEMORY_SHARED_SUM,
    STENCIL_MEMORY_KERNELS
} stencil_memory_kernel;
STENCIL_KERNELS stencil_memory_kernels[STENCIL_MEMORY_KERNELS];

#endif
