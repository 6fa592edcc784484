/* What happens when only a part of a team of threads synchronises: the CPU twin of `partial`, and what keeps
 * the machinery for cases that hang under test where there is no GPU. Each case runs in a child process. */
#include <omp.h>

#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/partial.h"

/* A deadlock is what has not ended after this time; much longer than a child takes to start. */
static const double child_timeout_s = 5;
static const double timeout_s = 0.3;

static const char *const texts[] = {[STENCIL_PARTIAL_UNKNOWN] = "ends its process",
                                    [STENCIL_PARTIAL_COMPLETES] = "completes",
                                    [STENCIL_PARTIAL_DEADLOCKS] = "deadlocks",
                                    [STENCIL_PARTIAL_GIVES_UP] =
                                        "waits in vain, given up after its time limit",
                                    [STENCIL_PARTIAL_LOSES] = "ends, but not every thread comes to its end"};

stencil_status stencil_partial_state(stencil_bench *b, const stencil_bench_subject *subject,
                                     const char *benchmark, double limit_s, int first, int second,
                                     const char *skipped) {
    const int question[STENCIL_BENCH_NUMBERS] = {first, second};
    int answer[STENCIL_BENCH_NUMBERS] = {STENCIL_PARTIAL_UNKNOWN};
    bool timed_out = false;
    if (skipped == NULL &&
        stencil_bench_in_child(b, benchmark, limit_s, question, answer, &timed_out) != STENCIL_OK)
        answer[0] = STENCIL_PARTIAL_UNKNOWN;
    TRY(stencil_bench_state(b, subject, "%s",
                            skipped != NULL ? "" : texts[timed_out ? STENCIL_PARTIAL_DEADLOCKS : answer[0]]));
    if (skipped != NULL)
        stencil_bench_skip_row(b->result, b->result->row_count - 1, "%s", skipped);
    return STENCIL_OK;
}

/* Everybody but the absent ones passes the barrier once. */
static stencil_partial_outcome synchronise(int barrier, const stencil_barrier_state *state, int team,
                                           int absent) {
    int done = 0, in_vain = 0, threads = 0;
#pragma omp parallel num_threads(team) reduction(+ : done, in_vain)
    {
        const int thread = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        if (thread >= absent) {
            if (barrier != STENCIL_BARRIER_none)
                in_vain += !stencil_team_sync((stencil_barrier_id)barrier, state, (uint32_t)thread, true);
            else {
#pragma omp barrier
            }
        }
        done++;
    }
    return threads != team || done != threads ? STENCIL_PARTIAL_LOSES
           : in_vain > 0                      ? STENCIL_PARTIAL_GIVES_UP
                                              : STENCIL_PARTIAL_COMPLETES;
}

stencil_status stencil_bench_partial_cpu_child(stencil_bench *b, const int question[STENCIL_BENCH_NUMBERS],
                                               int answer[STENCIL_BENCH_NUMBERS]) {
    const int barrier = question[0], threads = b->machine->cpu_threads;
    CHECK(barrier >= 0 && barrier < STENCIL_BARRIER_COUNT, USAGE, "partial: no such question");
    stencil_barrier_state state;
    TRY(stencil_bench_team_barrier(b, &state, threads, timeout_s));
    answer[0] = synchronise(barrier, &state, threads, question[1]);
    return STENCIL_OK;
}

stencil_status stencil_bench_partial_cpu(stencil_bench *b) {
    const int threads = b->machine->cpu_threads;
    if (b->options->child_command == NULL)
        return stencil_bench_skip(b->result, "needs child processes");
    if (threads < 2)
        return stencil_bench_skip(b->result, "needs two threads");
    for (int barrier = STENCIL_BARRIER_none; barrier < STENCIL_BARRIER_COUNT; barrier++)
        for (int absent = 0; absent < 2; absent++) {
            const bool limited = barrier != STENCIL_BARRIER_none;
            const stencil_bench_subject subject = {limited ? "with a time limit" : "team",
                                                   limited ? stencil_barriers[barrier].name : "omp barrier",
                                                   "s", .axis = {{"threads", threads}, {"absent", absent}}};
            if (b->options->progress != NULL)
                b->options->progress(b->options->context, subject.name);
            TRY(stencil_partial_state(b, &subject, "partial", child_timeout_s, barrier, absent, NULL));
        }
    stencil_bench_note(
        b,
        "The absent threads go on to the end of the parallel region, the others synchronise once. Deadlock: "
        "not ended after %g s. The barriers of this program have a time limit, here %g s.",
        child_timeout_s, timeout_s);
    return STENCIL_OK;
}
