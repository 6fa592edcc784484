#include "bench/benchmarks/cpu.h"

#include <stdlib.h>

#include "sync/host.h"

stencil_status stencil_ring_create(uint32_t **first, uint32_t count) {
    *first = malloc((count + 1 + STENCIL_RING_NEIGHBORS * (size_t)count) * sizeof **first);
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

stencil_status stencil_bench_team_barrier(stencil_bench *b, stencil_barrier_state *state, int threads,
                                          double timeout_s) {
    uint32_t *first;
    TRY(stencil_team_create(state, (uint32_t)threads, 0, timeout_s));
    TRY(stencil_bench_keep(b, free, state->words));
    TRY(stencil_ring_create(&first, state->participants));
    TRY(stencil_bench_keep(b, free, first));
    state->neighbor_first = first;
    state->neighbor = first + threads + 1;
    return STENCIL_OK;
}
