#include "bench/benchmarks/cpu.h"

#include <stdlib.h>

#include "bench/benchmarks/ring.h"
#include "sync/host.h"

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
