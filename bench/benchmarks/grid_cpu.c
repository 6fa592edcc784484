/* One pass of the team twin of every barrier, over the number of threads. `neighbor` waits for the two
 * neighbours in a ring. */
#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/team.h"
#include "sync/host.h"

enum { VERIFIED_PASSES = 2000, ROWS_MAX = (STENCIL_BARRIER_COUNT + 1) * STENCIL_BENCH_COUNTS_MAX };
static const double timeout_s = 10;

/* A barrier and its memory. */
typedef struct place {
    stencil_barrier_id id; /* none: the planted fault, which lets everybody pass */
    stencil_barrier_state state;
    stencil_bench_team team;
} place;

typedef struct bench {
    place row[ROWS_MAX];
    int rows;
} bench;

static bool sync(void *context, uint32_t thread) {
    place *p = context;
    return p->id == STENCIL_BARRIER_none || stencil_team_sync(p->id, &p->state, thread, false);
}

static stencil_status make_place(place *p, stencil_barrier_id id, const char *name, int threads) {
    p->id = id;
    TRY(stencil_bench_team_barrier(&p->state, threads, timeout_s));
    p->team = (stencil_bench_team){.name = name,
                                   .threads = threads,
                                   .sync = sync,
                                   .context = p,
                                   .ring = stencil_barriers[id].needs == STENCIL_NEEDS_NEIGHBORS};
    return STENCIL_OK;
}

static stencil_status add_row(bench *b, stencil_barrier_id id, const char *name, int threads,
                              stencil_bench_result *result) {
    int row;
    TRY(stencil_bench_add_row(result, "barrier", name, "s/pass", &row));
    stencil_bench_set_axis(result, row, "threads", threads);
    TRY(make_place(&b->row[row], id, name, threads));
    b->rows = row + 1;
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, int64_t passes, double *time_s) {
    bench *b = context;
    return stencil_bench_team_time(&b->row[row].team, passes, time_s);
}

static stencil_status run(bench *b, const stencil_bench_options *options, const stencil_machine *machine,
                          stencil_bench_result *result) {
    int count[STENCIL_BENCH_COUNTS_MAX];
    const int counts = stencil_bench_thread_counts(machine, 2, count);
    for (int id = STENCIL_BARRIER_none + 1; id < STENCIL_BARRIER_COUNT; id++)
        for (int i = 0; i < counts; i++)
            TRY(add_row(b, (stencil_barrier_id)id, stencil_barriers[id].name, count[i], result));
    if (options->inject_fault)
        TRY(add_row(b, STENCIL_BARRIER_none, "planted fault", machine->cpu_threads, result));
    for (int row = 0; row < b->rows; row++)
        TRY(stencil_bench_calibrate(sample, b, row, options->iterations, &result->row[row].iterations));
    TRY(stencil_bench_measure(result, options, sample, b));
    for (int row = 0; row < b->rows; row++)
        TRY(stencil_bench_team_verify(&b->row[row].team, VERIFIED_PASSES));
    stencil_bench_add_note(result,
                           "Verified: after timing, %d passes of each in which everybody checked that "
                           "those it waits for had arrived.",
                           VERIFIED_PASSES);
    return STENCIL_OK;
}

stencil_status stencil_bench_grid_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                                      stencil_bench_result *result) {
    bench *b = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the barriers");
    const stencil_status status = run(b, options, machine, result);
    for (int row = 0; row < ROWS_MAX; row++)
        stencil_bench_team_barrier_destroy(&b->row[row].state);
    free(b);
    return status;
}
