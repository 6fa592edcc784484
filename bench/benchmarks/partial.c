/* What happens when only a part of a group synchronises (000 section 8.2): of a team of threads, a warp, a
 * block, a grid, of all GPUs, while the others go on to their end. Does it complete, or deadlock? Each case
 * in a child process; the team also keeps the machinery for what hangs under test where there is no GPU. */
#include <omp.h>

#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/passes.h"

/* On a CPU a deadlock is what has not ended after this time; much longer than a child takes to start. */
static const double deadlock_s = 5, timeout_s = 0.3;

static void say(const stencil_bench *b, bool ended, bool all_done, bool gave_up) {
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
    say(b, true, threads == asked && done == threads, in_vain > 0);
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

#ifdef STENCIL_HAVE_CUDA
static const double limit_s = 1, child_limit_s = 40;

/* The barrier is left as it is: what was given up may have left the driver's own words wrong. */
static stencil_status state_kernel(stencil_bench *b, void *what) {
    const stencil_partial_kernel *k = what;
    const stencil_barrier_info *info = &stencil_barriers[k->barrier];
    stencil_passes_case c = {.barrier = {*info, {k->kernel}},
                             .gpus = info->needs == STENCIL_NEEDS_PEERS ? b->options->gpu_count : 1};
    const uint32_t least = (uint32_t)stencil_device_least(b, c.gpus).sm_count;
    bool ended = true, resident;
    uint32_t done = 0;
    c.grid = (stencil_grid){.blocks = k->grid ? least : 1, .block_x = k->threads, .block_y = 1};
    TRY(stencil_passes_load(b, &c, 0, &resident));
    TRY(stencil_passes_make(b, &c, timeout_s));
    TRY(stencil_passes_launch(&c, 1, 0));
    for (int part = 0; part < c.gpus && ended; part++) {
        TRY_CUDA(cudaSetDevice(b->options->gpu[part]));
        TRY(stencil_device_wait(b, NULL, limit_s, &ended));
    }
    if (ended)
        TRY(stencil_passes_count(&c, &done));
    say(b, ended, done == (uint32_t)c.gpus * c.grid.blocks * k->threads,
        ended && stencil_barrier_check(&c.memory, NULL) != STENCIL_OK);
    return STENCIL_OK;
}

/* Of barriers with a time limit those that need nothing but memory and a cooperative launch. */
stencil_status stencil_measure_partial(stencil_bench *b) {
    char why[64];
    const bool several = b->options->gpu_count > 1 && stencil_device_peers(b, why, sizeof why);
    for (const stencil_partial_kernel *k = stencil_partial_kernels; k->name != NULL; k++) {
        const stencil_barrier_info *info = &stencil_barriers[k->barrier];
        const bool spans = info->needs == STENCIL_NEEDS_PEERS;
        const char *missing = spans && !several ? "needs two GPUs that reach each other's memory"
                              : stencil_device_least(b, 1).capability < info->capability
                                  ? "needs a newer compute capability"
                                  : NULL;
        if (info->needs != STENCIL_NEEDS_NEIGHBORS && info->needs != STENCIL_NEEDS_CLUSTERS)
            TRY(STENCIL_BENCH_ADD(
                b, *k, k->kind, k->name, "s", .state = state_kernel, .limit_s = child_limit_s,
                .axis = {{spans ? "gpus" : NULL, b->options->gpu_count}}, .skipped = missing));
    }
    stencil_bench_note(b,
                       "A part of the group synchronises once, the rest goes on to its end. Deadlock: not "
                       "ended after %g s. The barriers of this program have a time limit, here %g s.",
                       limit_s, timeout_s);
    return stencil_bench_take(b);
}
#endif
