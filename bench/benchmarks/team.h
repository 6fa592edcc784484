/* Teams of CPU threads. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_TEAM_H
#define STENCIL_BENCH_TEAM_H

#include "bench/benchmark.h"
#include "sync/barrier.h"

/* Memory of a barrier for a team whose neighbours stand in a ring, until the benchmark ends. */
stencil_status stencil_bench_team_barrier(stencil_bench *b, stencil_barrier_state *state, int threads,
                                          double timeout_s);

/* Numbers of threads to measure: `least`, then twice as many each time, then all (or only all, where the
 * machine has no more than `least`). Begins behind 0; 0 comes behind the last one. */
static inline int stencil_bench_next_threads(const stencil_bench *b, int least, int threads) {
    const int all = b->machine->cpu_threads, next = threads == 0 ? least : 2 * threads;
    return threads == all ? 0 : next < all ? next : all;
}

#endif
