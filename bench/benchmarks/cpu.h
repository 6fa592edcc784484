/* What teams of threads share. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_CPU_H
#define STENCIL_BENCH_CPU_H

#include "bench/benchmark.h"
#include "sync/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whom barrier `neighbor` waits for where it is measured alone: the one before and the one after in a ring of
 * `count` participants. The lists are as in stencil_barrier_state: first[count + 1], and behind it
 * list[STENCIL_RING_NEIGHBORS * count]; until the benchmark ends. */
enum { STENCIL_RING_NEIGHBORS = 2 };
stencil_status stencil_ring_create(stencil_bench *b, uint32_t **first, uint32_t count);

/* Memory of a barrier for a team whose neighbours stand in a ring, until the benchmark ends. */
stencil_status stencil_bench_team_barrier(stencil_bench *b, stencil_barrier_state *state, int threads,
                                          double timeout_s);

/* What a row of benchmark partial states. */
void stencil_bench_say_part(const stencil_bench *b, bool ended, bool all_done, bool gave_up);

/* Numbers of threads to measure: `least`, then twice as many each time, then all (or only all, where the
 * machine has no more than `least`). Begins behind 0; 0 comes behind the last one. */
static inline int stencil_bench_next_threads(const stencil_bench *b, int least, int threads) {
    const int all = b->machine->cpu_threads, next = threads == 0 ? least : 2 * threads;
    return threads == all ? 0 : next < all ? next : all;
}

#ifdef __cplusplus
}
#endif
#endif
