/* Kernels of the benchmark peer. Internal to it. */
#ifndef STENCIL_BENCH_PEER_KERNELS_H
#define STENCIL_BENCH_PEER_KERNELS_H

#include "bench/kernels.h"

typedef struct stencil_peer_seen {
    int64_t cycles;
    uint32_t failed; /* waited in vain */
} stencil_peer_seen;

typedef enum stencil_peer_kernel {
    STENCIL_PEER_PUT, /* (const void *from, void *to, int64_t vectors): 16 bytes a thread at a time */
    /* (int64_t repeats, uint32_t *words): every thread adds 1 at system scope to a word of its own block,
     * [blocks][32], one in 32 threads to each. */
    STENCIL_PEER_ADDS,
    /* A chain of operations on one word, each of which waits for the last: (int64_t repeats, uint32_t *word,
     * stencil_peer_seen *seen): one thread, a multiple of 16; `word` is 0. */
    STENCIL_PEER_LOAD,    /* ld.acquire.sys */
    STENCIL_PEER_ADD_GPU, /* atom.add of device scope */
    STENCIL_PEER_ADD_SYS, /* of system scope */
    /* A flag to and fro, polled with ld.acquire.sys: (int64_t rounds, uint32_t *mine, uint32_t *theirs, bool
     * first, stencil_peer_seen *seen): one thread; `mine` is in its own memory, both words are 0. It stores
     * the number of the round to `theirs` and waits for it in `mine`, or, where it is not the first, the
     * other way round. */
    STENCIL_PEER_RELAXED,     /* st.relaxed.sys: the flag alone */
    STENCIL_PEER_RELEASE_GPU, /* orders what the GPU sees, not what its peers do */
    STENCIL_PEER_RELEASE_SYS, /* what a barrier across GPUs needs */
    STENCIL_PEER_KERNELS
} stencil_peer_kernel;
STENCIL_KERNELS stencil_peer_kernels[STENCIL_PEER_KERNELS];

#endif
