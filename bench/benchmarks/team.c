#include "bench/benchmarks/team.h"

#include <stdlib.h>

#include "bench/benchmarks/ring.h"
#include "sync/host.h"

stencil_status stencil_bench_team_barrier(stencil_barrier_state *state, int threads, double timeout_s) {
    uint32_t *first;
    *state = (stencil_barrier_state){0};
    TRY(stencil_team_create(state, (uint32_t)threads, 0, timeout_s));
    TRY(stencil_ring_create(&first, state->participants));
    state->neighbor_first = first;
    state->neighbor = first + threads + 1;
    return STENCIL_OK;
}

void stencil_bench_team_barrier_destroy(stencil_barrier_state *state) {
    free(state->words);
    free((void *)state->neighbor_first);
    *state = (stencil_barrier_state){0};
}

int stencil_bench_thread_counts(const stencil_machine *machine, int least,
                                int count[STENCIL_BENCH_COUNTS_MAX]) {
    int n = 0;
    for (int64_t threads = least; threads < machine->cpu_threads; threads *= 2)
        count[n++] = (int)threads;
    count[n++] = machine->cpu_threads;
    return n;
}
