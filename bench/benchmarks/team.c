/* Benchmarks of CPU threads: a pass of the CPU version of every barrier (`neighbor` in a ring of threads) and
 * of the OpenMP barrier, which coordinates threads that each drive a GPU (000 section 4.2), over the number
 * of threads; synchronisation of only a part of them (000 section 8.2); fork and join, a CPU's launch. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/benchmark.h"
#include "sync/host.h"

stencil_status stencil_ring_create(stencil_bench *b, uint32_t **first, uint32_t count) {
    TRY(stencil_bench_memory(b, first,
                             (count + 1 + STENCIL_RING_NEIGHBORS * (size_t)count) * sizeof **first));
    uint32_t *list = *first + count + 1;
    for (uint32_t i = 0; i < count; i++) {
        (*first)[i] = STENCIL_RING_NEIGHBORS * i;
        list[STENCIL_RING_NEIGHBORS * i] = (i + count - 1) % count;
        list[STENCIL_RING_NEIGHBORS * i + 1] = (i + 1) % count;
    }
    (*first)[count] = STENCIL_RING_NEIGHBORS * count;
    return STENCIL_OK;
}

stencil_status stencil_bench_check_team(int threads, int asked) {
    CHECK(threads == asked, UNAVAILABLE, "OpenMP gave %d thread%s where %d were asked for", threads,
          stencil_plural(threads), asked);
    return STENCIL_OK;
}

/* Barrier ids besides barriers.def: the planted fault, a barrier that never waits, and the OpenMP barrier. */
enum { FAULT = STENCIL_BARRIER_none, OPENMP = STENCIL_BARRIER_COUNT };

/* WORD_STRIDE: 32-bit words between the words of two threads, to separate their cache lines. */
enum { VERIFIED_PASSES = 2000, WORD_STRIDE = 32 };
static const double timeout_s = 10;

/* A team of threads and its barrier. */
typedef struct team {
    int id;
    const char *name;
    int threads, absent; /* number of threads; number of those that do not synchronise */
    stencil_barrier_state state;
} team;

/* Creates the barrier state of a team, with neighbors in a ring; it lasts until the benchmark ends. */
static stencil_status create_barrier(stencil_bench *b, team *t, double limit_s) {
    uint32_t *first;
    TRY(stencil_team_create(&t->state, (uint32_t)t->threads, 0, limit_s));
    TRY(stencil_bench_keep(b, free, t->state.words));
    TRY(stencil_ring_create(b, &first, t->state.participants));
    t->state.neighbor_first = first;
    t->state.neighbor = first + t->threads + 1;
    return STENCIL_OK;
}

/* Passes the barrier of a team; false: the time limit was reached. */
static bool sync(const team *t, uint32_t thread, bool all) {
    if (t->id == OPENMP) {
#pragma omp barrier
        return true;
    }
    return t->id == FAULT || stencil_team_sync((stencil_barrier_id)t->id, &t->state, thread, all);
}

/* Counts the threads that `thread` waits for and that have not reached pass `i`. */
static int64_t count_missing(const team *t, const uint32_t *word, uint32_t thread, uint32_t i) {
    const uint32_t n = (uint32_t)t->threads;
    const bool ring = t->id != OPENMP && stencil_barriers[t->id].needs == STENCIL_NEEDS_NEIGHBORS;
    int64_t missing = 0;
    for (uint32_t k = 0; k < (ring ? STENCIL_RING_NEIGHBORS : n); k++) {
        const uint32_t other = ring ? t->state.neighbor[STENCIL_RING_NEIGHBORS * thread + k] : k;
        missing += __atomic_load_n(&word[WORD_STRIDE * other], __ATOMIC_RELAXED) < i;
    }
    return missing;
}

/* Times passes of a barrier by all threads of a parallel region. When verifying, each thread stores the
 * number of the pass before the barrier, and then checks the words of the threads that it waits for. */
static stencil_status sample(stencil_bench *b, void *what, int64_t passes, double *time_s) {
    const team *t = what;
    int64_t missing = 0, in_vain = 0;
    int threads = 0;
    double start_s = 0;
    uint32_t *word = NULL;
    if (b->verifying)
        TRY(stencil_bench_memory(b, &word, (size_t)t->threads * WORD_STRIDE * sizeof *word));
#pragma omp parallel num_threads(t->threads) reduction(+ : missing, in_vain)
    {
        const uint32_t thread = (uint32_t)omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        if (omp_get_thread_num() == 0)
            start_s = stencil_clock_s();
        for (int64_t i = 1; i <= passes && threads == t->threads; i++) {
            if (word != NULL)
                __atomic_store_n(&word[WORD_STRIDE * thread], (uint32_t)i, __ATOMIC_RELAXED);
            if (!sync(t, thread, false)) {
                in_vain++;
                break;
            }
            if (word != NULL)
                missing += count_missing(t, word, thread, (uint32_t)i);
        }
    }
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_bench_check_team(threads, t->threads));
    CHECK(in_vain == 0, INTERNAL, "barrier %s: %lld of %d threads waited in vain", t->name,
          (long long)in_vain, threads);
    CHECK(missing == 0, INTERNAL, "barrier %s does not hold: %lld times somebody had not arrived", t->name,
          (long long)missing);
    return STENCIL_OK;
}

static stencil_status add_row(stencil_bench *b, int id, const char *name, int threads) {
    team t = {.id = id, .name = name, .threads = threads};
    TRY(create_barrier(b, &t, timeout_s));
    return STENCIL_BENCH_ADD(b, t, id == OPENMP ? "host" : "barrier", name, "s/pass", .sample = sample,
                             .verified = VERIFIED_PASSES, .axis = {{"threads", threads}});
}

static stencil_status measure(stencil_bench *b) {
    stencil_bench_note(b,
                       "Verified: after timing, %d passes of each in which everybody checked that those it "
                       "waits for had arrived.",
                       VERIFIED_PASSES);
    return stencil_bench_take(b);
}

/* Returns the number of threads to measure after `threads`: `least`, doubled each time, at last all threads
 * of the machine (only these, where the machine has at most `least`). 0 begins and ends the series. */
static int next_threads(const stencil_bench *b, int least, int threads) {
    const int all = b->machine->cpu_threads, next = threads == 0 ? least : 2 * threads;
    return threads == all ? 0 : next < all ? next : all;
}

stencil_status stencil_measure_grid_cpu(stencil_bench *b) {
    for (int id = STENCIL_BARRIER_none + 1; id < STENCIL_BARRIER_COUNT; id++)
        for (int n = 0; (n = next_threads(b, 2, n)) > 0;)
            TRY(add_row(b, id, stencil_barriers[id].name, n));
    if (b->options->inject_fault)
        TRY(add_row(b, FAULT, "planted fault", b->machine->cpu_threads));
    return measure(b);
}

stencil_status stencil_measure_host_barrier_cpu(stencil_bench *b) {
    for (int n = 0; (n = next_threads(b, 1, n)) > 0;)
        TRY(add_row(b, OPENMP, "omp barrier", n));
    return measure(b);
}

/* Seconds until a child process counts as deadlocked, its start included; time limit of its barriers. */
static const double deadlock_s = 5, part_timeout_s = 0.3;

void stencil_bench_say_part(const stencil_bench *b, bool ended, bool all_done, bool gave_up) {
    stencil_bench_row *row = &b->result->row[b->row];
    snprintf(row->outcome, sizeof row->outcome, "%s",
             !ended      ? "deadlocks"
             : !all_done ? "ends, but not every thread comes to its end"
             : gave_up   ? "waits in vain, given up after its time limit"
                         : "completes");
}

/* States what happens when all threads but t->absent pass the barrier once. */
static stencil_status state_part(stencil_bench *b, void *what) {
    team *t = what;
    int done = 0, in_vain = 0, threads = 0;
    TRY(create_barrier(b, t, part_timeout_s));
#pragma omp parallel num_threads(t->threads) reduction(+ : done, in_vain)
    {
        const int thread = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        in_vain += thread >= t->absent && !sync(t, (uint32_t)thread, true);
        done++;
    }
    stencil_bench_say_part(b, true, threads == t->threads && done == threads, in_vain > 0);
    return STENCIL_OK;
}

/* States each case in a child process, which also tests child processes on machines without a GPU. */
stencil_status stencil_measure_partial_cpu(stencil_bench *b) {
    const int threads = b->machine->cpu_threads;
    if (threads < 2)
        return stencil_bench_skip(b->result, "needs two threads");
    for (int i = STENCIL_BARRIER_none; i < STENCIL_BARRIER_COUNT; i++)
        for (int absent = 0; absent < 2; absent++) {
            const bool limited = i != STENCIL_BARRIER_none;
            const team t = {.id = limited ? i : OPENMP, .threads = threads, .absent = absent};
            TRY(STENCIL_BENCH_ADD(b, t, limited ? "with a time limit" : "team",
                                  limited ? stencil_barriers[i].name : "omp barrier", "s",
                                  .state = state_part, .limit_s = deadlock_s, .may_end_process = true,
                                  .axis = {{"threads", threads}, {"absent", absent}}));
        }
    stencil_bench_note(
        b,
        "The absent threads go on to the end of the parallel region, the others synchronise once. Deadlock: "
        "not ended after %g s. The barriers of this program have a time limit, here %g s.",
        deadlock_s, part_timeout_s);
    return stencil_bench_take(b);
}

/* 64-bit counts between the counts of two threads, to separate their cache lines. */
enum { COUNT_STRIDE = 16 };

/* Times nearly empty parallel regions; b->own, [COUNT_STRIDE * threads], counts each thread's regions. */
static stencil_status sample_regions(stencil_bench *b, void *what, int64_t regions, double *time_s) {
    const int threads = *(int *)what;
    int64_t *entered = b->own;
    /* A change of the number of threads starts new threads, which is not timed. */
#pragma omp parallel num_threads(threads)
    entered[COUNT_STRIDE * omp_get_thread_num()] = 0;
    const double start_s = stencil_clock_s();
    for (int64_t k = 0; k < regions; k++) {
#pragma omp parallel num_threads(threads)
        entered[COUNT_STRIDE * omp_get_thread_num()]++;
    }
    *time_s = stencil_clock_s() - start_s;
    for (int i = 0; i < threads; i++)
        CHECK(entered[COUNT_STRIDE * i] == regions, INTERNAL,
              "thread %d of %d was in %lld of %lld parallel regions", i, threads,
              (long long)entered[COUNT_STRIDE * i], (long long)regions);
    return STENCIL_OK;
}

stencil_status stencil_measure_launch_cpu(stencil_bench *b) {
    TRY(stencil_bench_memory(b, &b->own, (size_t)b->machine->cpu_threads * COUNT_STRIDE * sizeof(int64_t)));
    for (int n = 0; (n = next_threads(b, 1, n)) > 0;)
        TRY(STENCIL_BENCH_ADD(b, n, "launch", "fork-join", "s/region", .sample = sample_regions,
                              .axis = {{"threads", n}}));
    stencil_bench_note(b, "Verified: after each sample, every thread was in every region.");
    return stencil_bench_take(b);
}
