/* Whom barrier `neighbor` waits for where it is measured alone. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_RING_H
#define STENCIL_BENCH_RING_H

#include <stdint.h>

/* Everybody waits for the one before and the one after it in a ring. */
enum { STENCIL_RING_NEIGHBORS = 2 };

/* The lists of participants `from` … `from` + count - 1 of a ring of `all`, as in stencil_barrier_state:
 * first[count + 1], list[STENCIL_RING_NEIGHBORS * count]. */
static inline void stencil_ring_fill(uint32_t *first, uint32_t *list, uint32_t from, uint32_t count,
                                     uint32_t all) {
    first[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        list[first[i]] = (from + i + all - 1) % all;
        list[first[i] + 1] = (from + i + 1) % all;
        first[i + 1] = first[i] + STENCIL_RING_NEIGHBORS;
    }
}

#endif
