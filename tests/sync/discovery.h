/* The kernel of discovery_test.c. */
#pragma once

#include "sync/barrier.h"
#include "sync/discovery.h"

/* The memory that blocks write: taken[i] counts how often number i was given out, word[i] is its pass. */
typedef struct discovery_passes {
    stencil_barrier_state state;
    stencil_discovery *poll;
    int64_t passes;
    uint32_t most;             /* blocks launched */
    uint32_t *taken, *word;    /* [most] */
    uint32_t *missing, *ended; /* times that a block was not there after the barrier; blocks that ended */
} discovery_passes;

#ifdef __cplusplus
extern "C" {
#endif
/* waits false: without the barrier. */
const void *discovery_kernel(int waits);
#ifdef __cplusplus
}
#endif
