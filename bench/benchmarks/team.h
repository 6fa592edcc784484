/* Timing and checking a barrier of CPU threads. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_TEAM_H
#define STENCIL_BENCH_TEAM_H

#include "bench/benchmark.h"
#include "sync/barrier.h"

/* A team that passes one barrier again and again. */
typedef struct stencil_bench_team {
    const char *name; /* for messages */
    int threads;
    /* One pass, called by every thread of a parallel region; false: waited in vain. */
    bool (*sync)(void *context, uint32_t thread);
    void *context;
    bool ring; /* a thread waits only for those before and after it in a ring */
} stencil_bench_team;

/* All threads pass `passes` times in one parallel region. UNAVAILABLE: OpenMP gave other threads than asked
 * for; INTERNAL: somebody waited in vain. */
stencil_status stencil_bench_team_time(const stencil_bench_team *team, int64_t passes, double *time_s);

/* The same, and everybody leaves the number of the pass before the barrier and looks after it whether those
 * it waits for have done so. INTERNAL: the barrier does not hold. */
stencil_status stencil_bench_team_verify(const stencil_bench_team *team, int64_t passes);

/* Memory of a barrier for a team whose neighbours stand in a ring. */
stencil_status stencil_bench_team_barrier(stencil_barrier_state *state, int threads, double timeout_s);
void stencil_bench_team_barrier_destroy(stencil_barrier_state *state);

/* Numbers of threads to measure: `least`, then the powers of two above it, then all (or only all, where the
 * machine has no more than `least`). Returns how many there are. */
enum { STENCIL_BENCH_COUNTS_MAX = 32 };
int stencil_bench_thread_counts(const stencil_machine *machine, int least,
                                int count[STENCIL_BENCH_COUNTS_MAX]);

#endif
