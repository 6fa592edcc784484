/* One pass of the barriers of CPU threads, over the number of threads: the team twin of every barrier, where
 * `neighbor` waits for the two neighbours in a ring, and OpenMP's own, which threads that each drive a GPU
 * coordinate with (000 section 4.2). */
#include <omp.h>
#include <stdlib.h>

#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/ring.h"
#include "bench/benchmarks/team.h"
#include "sync/barrier.h"

/* What stands beside the barriers of barriers.def: the planted fault, which lets everybody pass. */
enum { FAULT = STENCIL_BARRIER_none, OPENMP = STENCIL_BARRIER_COUNT };

/* WORD_STRIDE: a line of its own for the word of each thread. */
enum {
    VERIFIED_PASSES = 2000,
    ROWS_MAX = (STENCIL_BARRIER_COUNT + 1) * STENCIL_BENCH_COUNTS_MAX,
    WORD_STRIDE = 32
};
static const double timeout_s = 10;

/* A team that passes one barrier again and again. */
typedef struct team {
    int id;
    const char *name;
    int threads;
    stencil_barrier_state state; /* owned */
} team;

typedef struct bench {
    team row[ROWS_MAX];
    int rows;
} bench;

static bool sync(const team *t, uint32_t thread) {
    if (t->id == OPENMP) {
#pragma omp barrier
        return true;
    }
    return t->id == FAULT || stencil_team_sync((stencil_barrier_id)t->id, &t->state, thread, false);
}

/* How many of those whom `thread` waits for have not come as far as pass `i`. */
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

/* All threads pass in one parallel region. With `word`, everybody leaves the number of the pass before the
 * barrier and looks after it whether those it waits for have done so. */
static stencil_status pass(const team *t, int64_t passes, uint32_t *word, double *time_s) {
    int64_t missing = 0, in_vain = 0;
    int threads = 0;
    double start_s = 0;
#pragma omp parallel num_threads(t->threads) reduction(+ : missing, in_vain)
    {
        const uint32_t thread = (uint32_t)omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp master
        start_s = stencil_clock_s();
        for (int64_t i = 1; i <= passes && threads == t->threads; i++) {
            if (word != NULL)
                __atomic_store_n(&word[WORD_STRIDE * thread], (uint32_t)i, __ATOMIC_RELAXED);
            if (!sync(t, thread)) {
                in_vain++;
                break;
            }
            if (word != NULL)
                missing += count_missing(t, word, thread, (uint32_t)i);
        }
    }
    *time_s = stencil_clock_s() - start_s;
    CHECK(threads == t->threads, UNAVAILABLE, "OpenMP gave %d thread%s where %d were asked for", threads,
          stencil_plural(threads), t->threads);
    CHECK(in_vain == 0, INTERNAL, "barrier %s: %lld of %d threads waited in vain", t->name,
          (long long)in_vain, threads);
    CHECK(missing == 0, INTERNAL, "barrier %s does not hold: %lld times somebody had not arrived", t->name,
          (long long)missing);
    return STENCIL_OK;
}

static stencil_status verify(const team *t) {
    void *word;
    double time_s;
    TRY(stencil_memory_alloc(&word, (int64_t)t->threads * WORD_STRIDE * (int64_t)sizeof(uint32_t),
                             "the words of a barrier"));
    const stencil_status status = pass(t, VERIFIED_PASSES, word, &time_s);
    free(word);
    return status;
}

static stencil_status add_row(bench *b, int id, const char *name, int threads, stencil_bench_result *result) {
    int row;
    TRY(stencil_bench_add_row(result, id == OPENMP ? "host" : "barrier", name, "s/pass", &row));
    stencil_bench_set_axis(result, row, "threads", threads);
    b->row[row] = (team){.id = id, .name = name, .threads = threads};
    b->rows = row + 1;
    return stencil_bench_team_barrier(&b->row[row].state, threads, timeout_s);
}

static stencil_status add_grid_rows(bench *b, const stencil_bench_options *options,
                                    const stencil_machine *machine, stencil_bench_result *result) {
    int count[STENCIL_BENCH_COUNTS_MAX];
    const int counts = stencil_bench_thread_counts(machine, 2, count);
    for (int id = STENCIL_BARRIER_none + 1; id < STENCIL_BARRIER_COUNT; id++)
        for (int i = 0; i < counts; i++)
            TRY(add_row(b, id, stencil_barriers[id].name, count[i], result));
    if (options->inject_fault)
        TRY(add_row(b, FAULT, "planted fault", machine->cpu_threads, result));
    return STENCIL_OK;
}

static stencil_status add_host_rows(bench *b, const stencil_bench_options *options,
                                    const stencil_machine *machine, stencil_bench_result *result) {
    (void)options;
    int count[STENCIL_BENCH_COUNTS_MAX];
    const int counts = stencil_bench_thread_counts(machine, 1, count);
    for (int i = 0; i < counts; i++)
        TRY(add_row(b, OPENMP, "omp barrier", count[i], result));
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, int64_t passes, double *time_s) {
    const bench *b = context;
    return pass(&b->row[row], passes, NULL, time_s);
}

static stencil_status measure(bench *b, const stencil_bench_options *options, stencil_bench_result *result) {
    for (int row = 0; row < b->rows; row++)
        TRY(stencil_bench_calibrate(sample, b, row, options->iterations, &result->row[row].iterations));
    TRY(stencil_bench_measure(result, options, sample, b));
    for (int row = 0; row < b->rows; row++)
        TRY(verify(&b->row[row]));
    stencil_bench_add_note(result,
                           "Verified: after timing, %d passes of each in which everybody checked that "
                           "those it waits for had arrived.",
                           VERIFIED_PASSES);
    return STENCIL_OK;
}

static stencil_status run(stencil_status (*add_rows)(bench *, const stencil_bench_options *,
                                                     const stencil_machine *, stencil_bench_result *),
                          const stencil_bench_options *options, const stencil_machine *machine,
                          stencil_bench_result *result) {
    bench *b = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the barriers");
    stencil_status status = add_rows(b, options, machine, result);
    if (status == STENCIL_OK)
        status = measure(b, options, result);
    for (int row = 0; row < b->rows; row++)
        stencil_bench_team_barrier_destroy(&b->row[row].state);
    free(b);
    return status;
}

stencil_status stencil_bench_grid_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                                      stencil_bench_result *result) {
    return run(add_grid_rows, options, machine, result);
}

stencil_status stencil_bench_host_barrier_cpu(const stencil_bench_options *options,
                                              const stencil_machine *machine, stencil_bench_result *result) {
    return run(add_host_rows, options, machine, result);
}
