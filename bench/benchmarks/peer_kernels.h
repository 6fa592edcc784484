/* Kernels of the benchmark peer. Internal to it. */
#ifndef STENCIL_BENCH_PEER_KERNELS_H
#define STENCIL_BENCH_PEER_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a flag is stored; it is polled with ld.acquire.sys. */
typedef enum stencil_peer_store {
    STENCIL_PEER_RELAXED,     /* st.relaxed.sys: the flag alone */
    STENCIL_PEER_RELEASE_GPU, /* orders what the GPU sees, not what its peers do */
    STENCIL_PEER_RELEASE_SYS, /* what a barrier across GPUs needs */
    STENCIL_PEER_STORE_COUNT
} stencil_peer_store;

/* A chain of operations on one word, each of which waits for the last. */
typedef enum stencil_peer_operation {
    STENCIL_PEER_LOAD,    /* ld.acquire.sys */
    STENCIL_PEER_ADD_GPU, /* atom.add of device scope */
    STENCIL_PEER_ADD_SYS, /* of system scope */
    STENCIL_PEER_OPERATION_COUNT
} stencil_peer_operation;

typedef struct stencil_peer_seen {
    int64_t cycles;
    uint32_t failed; /* waited in vain */
} stencil_peer_seen;

/* (const void *from, void *to, int64_t vectors): 16 bytes a thread at a time. */
const void *stencil_peer_put_kernel(void);
/* (int64_t rounds, uint32_t *mine, uint32_t *theirs, bool first, stencil_peer_seen *seen): one thread; `mine`
 * is in its own memory, both words are 0. It stores the number of the round to `theirs` and waits for it in
 * `mine`, or, where it is not the first, the other way round. */
const void *stencil_peer_ping_kernel(stencil_peer_store store);
/* (int64_t repeats, uint32_t *word, stencil_peer_seen *seen): one thread, a multiple of 16; `word` is 0. */
const void *stencil_peer_chain_kernel(stencil_peer_operation operation);
/* (int64_t repeats, uint32_t *words): every thread adds 1 at system scope to a word of its own block,
 * [blocks][32], one in 32 threads to each. */
const void *stencil_peer_adds_kernel(void);

#ifdef __cplusplus
}
#endif
#endif
