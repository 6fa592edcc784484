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

typedef struct question {
    int32_t barrier; /* stencil_barrier_id; none: OpenMP's */
    int32_t threads, absent;
} question;

stencil_status stencil_partial_state(stencil_bench *b, const stencil_bench_subject *subject,
                                     const char *benchmark, double limit_s, const void *question,
                                     size_t question_size, const char *skipped) {
    stencil_partial_outcome outcome = STENCIL_PARTIAL_UNKNOWN;
    bool timed_out = false;
    if (skipped == NULL && stencil_bench_in_child(b->options, benchmark, limit_s, question, question_size,
                                                  &outcome, sizeof outcome, &timed_out) != STENCIL_OK)
        outcome = STENCIL_PARTIAL_UNKNOWN;
    TRY(stencil_bench_state(b, subject, "%s",
                            skipped != NULL ? "" : texts[timed_out ? STENCIL_PARTIAL_DEADLOCKS : outcome]));
    if (skipped != NULL)
        stencil_bench_skip_row(b->result, b->result->row_count - 1, "%s", skipped);
    return STENCIL_OK;
}

/* Everybody but the absent ones passes the barrier once. */
static stencil_partial_outcome synchronise(const question *q, const stencil_barrier_state *state) {
    int done = 0, in_vain = 0, threads = 0;
#pragma omp parallel num_threads(q->threads) reduction(+ : done, in_vain)
    {
        const int thread = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        if (thread >= q->absent) {
            if (q->barrier != STENCIL_BARRIER_none)
                in_vain += !stencil_team_sync((stencil_barrier_id)q->barrier, state, (uint32_t)thread, true);
            else {
#pragma omp barrier
            }
        }
        done++;
    }
    return threads != q->threads || done != threads ? STENCIL_PARTIAL_LOSES
           : in_vain > 0                            ? STENCIL_PARTIAL_GIVES_UP
                                                    : STENCIL_PARTIAL_COMPLETES;
}

stencil_status stencil_bench_partial_cpu_child(stencil_bench *b, const void *question_bytes,
                                               size_t question_size, void *answer, size_t answer_size) {
    const question *q = question_bytes;
    CHECK(question_size == sizeof *q && answer_size == sizeof(stencil_partial_outcome) && q->threads >= 1 &&
              q->barrier >= 0 && q->barrier < STENCIL_BARRIER_COUNT,
          USAGE, "partial: no such question");
    stencil_barrier_state state;
    TRY(stencil_bench_team_barrier(b, &state, q->threads, timeout_s));
    *(stencil_partial_outcome *)answer = synchronise(q, &state);
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
            const question q = {.barrier = barrier, .threads = threads, .absent = absent};
            const bool limited = barrier != STENCIL_BARRIER_none;
            const stencil_bench_subject subject = {limited ? "with a time limit" : "team",
                                                   limited ? stencil_barriers[barrier].name : "omp barrier",
                                                   "s", .axis = {{"threads", threads}, {"absent", absent}}};
            if (b->options->progress != NULL)
                b->options->progress(b->options->context, subject.name);
            TRY(stencil_partial_state(b, &subject, "partial", child_timeout_s, &q, sizeof q, NULL));
        }
    stencil_bench_note(
        b,
        "The absent threads go on to the end of the parallel region, the others synchronise once. Deadlock: "
        "not ended after %g s. The barriers of this program have a time limit, here %g s.",
        child_timeout_s, timeout_s);
    return STENCIL_OK;
}
