#include "bench/benchmarks/team.h"

#include <omp.h>
#include <stdlib.h>

#include "bench/benchmarks/ring.h"
#include "sync/host.h"

/* A line of its own for the word of each thread. */
enum { WORD_STRIDE = 32 };

/* How many of those whom `thread` waits for have not come as far as pass `i`. */
static int64_t count_missing(const stencil_bench_team *team, const uint32_t *word, uint32_t thread,
                             uint32_t i) {
    const uint32_t n = (uint32_t)team->threads;
    const uint32_t ring[2] = {(thread + n - 1) % n, (thread + 1) % n};
    int64_t missing = 0;
    for (uint32_t k = 0; k < (team->ring ? 2 : n); k++) {
        const uint32_t other = team->ring ? ring[k] : k;
        missing += __atomic_load_n(&word[WORD_STRIDE * other], __ATOMIC_RELAXED) < i;
    }
    return missing;
}

/* With `word`, verifies. */
static stencil_status pass(const stencil_bench_team *team, int64_t passes, uint32_t *word, double *time_s) {
    int64_t missing = 0, in_vain = 0;
    int threads = 0;
    double start_s = 0;
#pragma omp parallel num_threads(team->threads) reduction(+ : missing, in_vain)
    {
        const uint32_t thread = (uint32_t)omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp master
        start_s = stencil_clock_s();
        for (int64_t i = 1; i <= passes && threads == team->threads; i++) {
            if (word != NULL)
                __atomic_store_n(&word[WORD_STRIDE * thread], (uint32_t)i, __ATOMIC_RELAXED);
            if (!team->sync(team->context, thread)) {
                in_vain++;
                break;
            }
            if (word != NULL)
                missing += count_missing(team, word, thread, (uint32_t)i);
        }
    }
    *time_s = stencil_clock_s() - start_s;
    CHECK(threads == team->threads, UNAVAILABLE, "OpenMP gave %d thread%s where %d were asked for", threads,
          stencil_plural(threads), team->threads);
    CHECK(in_vain == 0, INTERNAL, "barrier %s: %lld of %d threads waited in vain", team->name,
          (long long)in_vain, threads);
    CHECK(missing == 0, INTERNAL, "barrier %s does not hold: %lld times somebody had not arrived", team->name,
          (long long)missing);
    return STENCIL_OK;
}

stencil_status stencil_bench_team_time(const stencil_bench_team *team, int64_t passes, double *time_s) {
    return pass(team, passes, NULL, time_s);
}

stencil_status stencil_bench_team_verify(const stencil_bench_team *team, int64_t passes) {
    void *word;
    double time_s;
    TRY(stencil_memory_alloc(&word, (int64_t)team->threads * WORD_STRIDE * (int64_t)sizeof(uint32_t),
                             "the words of a barrier"));
    const stencil_status status = pass(team, passes, word, &time_s);
    free(word);
    return status;
}

stencil_status stencil_bench_team_barrier(stencil_barrier_state *state, int threads, double timeout_s) {
    uint32_t *first;
    TRY(stencil_team_create(state, (uint32_t)threads, 0, timeout_s));
    const stencil_status status = stencil_ring_create(&first, state->participants);
    if (status != STENCIL_OK) {
        stencil_bench_team_barrier_destroy(state);
        return status;
    }
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
