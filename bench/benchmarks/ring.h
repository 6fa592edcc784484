/* Whom barrier `neighbor` waits for where it is measured alone. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_RING_H
#define STENCIL_BENCH_RING_H

#include <stdlib.h>

#include "base/base.h"

/* Everybody waits for the one before and the one after it in a ring. */
enum { STENCIL_RING_NEIGHBORS = 2 };

/* The lists of a ring of `count` participants, as in stencil_barrier_state: first[count + 1], and behind it
 * list[STENCIL_RING_NEIGHBORS * count]; freed with free(). */
static inline stencil_status stencil_ring_create(uint32_t **first, uint32_t count) {
    *first = (uint32_t *)malloc((count + 1 + STENCIL_RING_NEIGHBORS * (size_t)count) * sizeof **first);
    CHECK(*first != NULL, NO_MEMORY, "no memory for a ring of %u", (unsigned)count);
    uint32_t *list = *first + count + 1;
    for (uint32_t i = 0; i < count; i++) {
        (*first)[i] = STENCIL_RING_NEIGHBORS * i;
        list[STENCIL_RING_NEIGHBORS * i] = (i + count - 1) % count;
        list[STENCIL_RING_NEIGHBORS * i + 1] = (i + 1) % count;
    }
    (*first)[count] = STENCIL_RING_NEIGHBORS * count;
    return STENCIL_OK;
}

#endif
