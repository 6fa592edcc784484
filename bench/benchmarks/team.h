/* Teams of CPU threads. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_TEAM_H
#define STENCIL_BENCH_TEAM_H

#include "bench/benchmark.h"
#include "sync/barrier.h"

/* Memory of a barrier for a team whose neighbours stand in a ring; destroyed after failures too. */
stencil_status stencil_bench_team_barrier(stencil_barrier_state *state, int threads, double timeout_s);
void stencil_bench_team_barrier_destroy(stencil_barrier_state *state);

/* Numbers of threads to measure: `least`, then the powers of two above it, then all (or only all, where the
 * machine has no more than `least`). Returns how many there are. */
enum { STENCIL_BENCH_COUNTS_MAX = 32 };
int stencil_bench_thread_counts(const stencil_machine *machine, int least,
                                int count[STENCIL_BENCH_COUNTS_MAX]);

#endif
