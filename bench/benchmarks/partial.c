/* What happens when only a part of a group synchronises (000 section 8.2): of a team of threads, a warp, a
 * block, a grid, of all GPUs, while the others go on to their end. Does it complete, or deadlock? Each case
 * in a child process; the team also keeps the machinery for what hangs under test where there is no GPU. */
#include <omp.h>

#include "bench/benchmarks/cpu.h"
#include "sync/host.h"

/* On a CPU a deadlock is what has not ended after this time; much longer than a child takes to start. */
static const double deadlock_s = 5, timeout_s = 0.3;

void stencil_bench_say_part(const stencil_bench *b, bool ended, bool all_done, bool gave_up) {
    stencil_bench_say(&b->result->row[b->row], "%s",
                      !ended      ? "deadlocks"
                      : !all_done ? "ends, but not every thread comes to its end"
                      : gave_up   ? "waits in vain, given up after its time limit"
                                  : "completes");
}

typedef struct team {
    int barrier, absent;
} team;

/* Everybody but the absent ones passes the barrier once. */
static stencil_status state_team(stencil_bench *b, void *what) {
    const team *t = what;
    const int asked = b->machine->cpu_threads;
    int done = 0, in_vain = 0, threads = 0;
    stencil_barrier_state words;
    TRY(stencil_bench_team_barrier(b, &words, asked, timeout_s));
#pragma omp parallel num_threads(asked) reduction(+ : done, in_vain)
    {
        const int thread = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        if (thread >= t->absent) {
            if (t->barrier != STENCIL_BARRIER_none)
                in_vain += !stencil_team_sync((stencil_barrier_id)t->barrier, &words, (uint32_t)thread, true);
            else {
#pragma omp barrier
            }
        }
        done++;
    }
    stencil_bench_say_part(b, true, threads == asked && done == threads, in_vain > 0);
    return STENCIL_OK;
}

stencil_status stencil_measure_partial_cpu(stencil_bench *b) {
    const int threads = b->machine->cpu_threads;
    if (threads < 2)
        return stencil_bench_skip(b->result, "needs two threads");
    for (team t = {.barrier = STENCIL_BARRIER_none}; t.barrier < STENCIL_BARRIER_COUNT; t.barrier++)
        for (t.absent = 0; t.absent < 2; t.absent++) {
            const bool limited = t.barrier != STENCIL_BARRIER_none;
            TRY(STENCIL_BENCH_ADD(b, t, limited ? "with a time limit" : "team",
                                  limited ? stencil_barriers[t.barrier].name : "omp barrier", "s",
                                  .state = state_team, .limit_s = deadlock_s,
                                  .axis = {{"threads", threads}, {"absent", t.absent}}));
        }
    stencil_bench_note(
        b,
        "The absent threads go on to the end of the parallel region, the others synchronise once. Deadlock: "
        "not ended after %g s. The barriers of this program have a time limit, here %g s.",
        deadlock_s, timeout_s);
    return stencil_bench_take(b);
}
