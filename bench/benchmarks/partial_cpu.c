/* What happens when only a part of a team of threads synchronises: the CPU twin of `partial`, and what keeps
 * the machinery for cases that hang under test where there is no GPU. Each case runs in a child process. */
#include <omp.h>
#include <stdio.h>

#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/partial.h"
#include "bench/benchmarks/team.h"

/* A deadlock is what has not ended after this time; much longer than a child takes to start. */
static const double child_timeout_s = 5;
static const double timeout_s = 0.3;

const char *const stencil_partial_texts[] = {
    [STENCIL_PARTIAL_UNKNOWN] = "ends its process",
    [STENCIL_PARTIAL_COMPLETES] = "completes",
    [STENCIL_PARTIAL_DEADLOCKS] = "deadlocks",
    [STENCIL_PARTIAL_GIVES_UP] = "waits in vain, given up after its time limit",
    [STENCIL_PARTIAL_LOSES] = "ends, but not every thread comes to its end"};

typedef struct question {
    int32_t barrier; /* stencil_barrier_id; none: OpenMP's */
    int32_t threads, absent;
} question;

typedef struct answer {
    int32_t outcome; /* stencil_partial_outcome */
} answer;

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

stencil_status stencil_bench_partial_cpu_child(const stencil_bench_options *options,
                                               const void *question_bytes, size_t question_size,
                                               void *answer_bytes, size_t answer_size) {
    (void)options;
    const question *q = question_bytes;
    answer *a = answer_bytes;
    CHECK(question_size == sizeof *q && answer_size == sizeof *a && q->threads >= 1 && q->barrier >= 0 &&
              q->barrier < STENCIL_BARRIER_COUNT,
          USAGE, "partial: no such question");
    stencil_barrier_state state;
    TRY(stencil_bench_team_barrier(&state, q->threads, timeout_s));
    a->outcome = (int32_t)synchronise(q, &state);
    stencil_bench_team_barrier_destroy(&state);
    return STENCIL_OK;
}

static stencil_status ask(const stencil_bench_options *options, const question *q,
                          stencil_bench_result *result) {
    answer a = {.outcome = STENCIL_PARTIAL_UNKNOWN};
    bool timed_out;
    int row;
    const bool limited = q->barrier != STENCIL_BARRIER_none;
    TRY(stencil_bench_add_row(result, limited ? "with a time limit" : "team",
                              limited ? stencil_barriers[q->barrier].name : "omp barrier", "s", &row));
    stencil_bench_set_axis(result, row, "threads", q->threads);
    stencil_bench_set_axis(result, row, "absent", q->absent);
    if (options->progress != NULL)
        options->progress(options->context, result->row[row].name);
    /* A case that ends its process is an outcome, not an error. */
    const stencil_status status =
        stencil_bench_in_child(options, "partial", child_timeout_s, q, sizeof *q, &a, sizeof a, &timed_out);
    const stencil_partial_outcome outcome = status != STENCIL_OK ? STENCIL_PARTIAL_UNKNOWN
                                            : timed_out          ? STENCIL_PARTIAL_DEADLOCKS
                                                                 : (stencil_partial_outcome)a.outcome;
    snprintf(result->row[row].outcome, sizeof result->row[row].outcome, "%s", stencil_partial_texts[outcome]);
    return STENCIL_OK;
}

stencil_status stencil_bench_partial_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                                         stencil_bench_result *result) {
    if (options->child_command == NULL)
        return stencil_bench_skip(result, "needs child processes");
    if (machine->cpu_threads < 2)
        return stencil_bench_skip(result, "needs two threads");
    for (int barrier = STENCIL_BARRIER_none; barrier < STENCIL_BARRIER_COUNT; barrier++)
        for (int absent = 0; absent < 2; absent++) {
            const question q = {.barrier = barrier, .threads = machine->cpu_threads, .absent = absent};
            TRY(ask(options, &q, result));
        }
    stencil_bench_add_note(result,
                           "The absent threads go on to the end of the parallel region, the others "
                           "synchronise once. Deadlock: not ended after %g s. The barriers of this program "
                           "have a time limit, here %g s.",
                           child_timeout_s, timeout_s);
    return STENCIL_OK;
}
