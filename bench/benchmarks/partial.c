/* What happens when only a part of a group synchronises (000 section 8.2): of a team of threads, a warp, a
 * block, a grid, of all GPUs, while the others go on to their end. Does it complete, or deadlock? Each case
 * in a child process; the team also keeps the machinery for what hangs under test where there is no GPU. */
#include <omp.h>
#include <stdio.h>

#include "bench/benchmarks/cpu.h"
#include "bench/device.h"
#include "bench/kernels.h"
#include "sync/host.h"

/* On a CPU a deadlock is what has not ended after this time; much longer than a child takes to start. */
static const double deadlock_s = 5, timeout_s = 0.3;

static const char *const texts[] = {[STENCIL_PARTIAL_UNKNOWN] = "ends its process",
                                    [STENCIL_PARTIAL_COMPLETES] = "completes",
                                    [STENCIL_PARTIAL_DEADLOCKS] = "deadlocks",
                                    [STENCIL_PARTIAL_GIVES_UP] =
                                        "waits in vain, given up after its time limit",
                                    [STENCIL_PARTIAL_LOSES] = "ends, but not every thread comes to its end"};

/* A row that states the outcome with which the child of `benchmark` answers {first, second}; to end its
 * process is one, too. */
static stencil_status state(stencil_bench *b, const stencil_bench_subject *subject, const char *benchmark,
                            double limit_s, int first, int second) {
    const int question[STENCIL_BENCH_NUMBERS] = {first, second};
    int answer[STENCIL_BENCH_NUMBERS] = {STENCIL_PARTIAL_UNKNOWN};
    bool timed_out = false;
    if (subject->skipped != NULL)
        return stencil_bench_add(b, subject, NULL, 0);
    if (stencil_bench_in_child(b, benchmark, limit_s, question, answer, &timed_out) != STENCIL_OK)
        answer[0] = STENCIL_PARTIAL_UNKNOWN;
    return stencil_bench_state(b, subject, "%s", texts[timed_out ? STENCIL_PARTIAL_DEADLOCKS : answer[0]]);
}

/* Everybody but the absent ones passes the barrier once. */
static stencil_partial_outcome synchronise(int barrier, const stencil_barrier_state *words, int team,
                                           int absent) {
    int done = 0, in_vain = 0, threads = 0;
#pragma omp parallel num_threads(team) reduction(+ : done, in_vain)
    {
        const int thread = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        if (thread >= absent) {
            if (barrier != STENCIL_BARRIER_none)
                in_vain += !stencil_team_sync((stencil_barrier_id)barrier, words, (uint32_t)thread, true);
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

static stencil_status child_cpu(stencil_bench *b, const int question[STENCIL_BENCH_NUMBERS],
                                int answer[STENCIL_BENCH_NUMBERS]) {
    const int barrier = question[0], threads = b->machine->cpu_threads;
    CHECK(barrier >= 0 && barrier < STENCIL_BARRIER_COUNT, USAGE, "partial: no such question");
    stencil_barrier_state words;
    TRY(stencil_bench_team_barrier(b, &words, threads, timeout_s));
    answer[0] = synchronise(barrier, &words, threads, question[1]);
    return STENCIL_OK;
}

static stencil_status run_cpu(stencil_bench *b) {
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
            TRY(state(b, &subject, "partial", deadlock_s, barrier, absent));
        }
    stencil_bench_note(
        b,
        "The absent threads go on to the end of the parallel region, the others synchronise once. Deadlock: "
        "not ended after %g s. The barriers of this program have a time limit, here %g s.",
        deadlock_s, timeout_s);
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
enum { THREADS = 256 };
static const double limit_s = 1, child_timeout_s = 40;

/* Barriers with a time limit that need nothing but memory of one GPU and a cooperative launch. */
static bool exists(int which) {
    const stencil_barrier_needs needs = which < STENCIL_PARTIAL_LIMITED
                                            ? STENCIL_NEEDS_NOTHING
                                            : stencil_barriers[which - STENCIL_PARTIAL_LIMITED].needs;
    return stencil_partial_kernels[which] != NULL &&
           (needs == STENCIL_NEEDS_NOTHING || needs == STENCIL_NEEDS_RESET);
}

static stencil_status launch_case(stencil_bench *b, stencil_barrier *barrier, int which, int *outcome) {
    const stencil_grid grid = {.blocks = barrier->state[0].participants,
                               .block_x = which <= STENCIL_PARTIAL_COALESCED ? 32 : THREADS,
                               .block_y = 1};
    stencil_partial_work work = {.state = barrier->state[0], .done = stencil_barrier_spare(barrier, 0)};
    uint32_t done;
    bool ended;
    TRY(stencil_grid_launch(stencil_partial_kernels[which], &grid, &work, NULL));
    TRY(stencil_device_wait(b, limit_s, &ended));
    *outcome = STENCIL_PARTIAL_DEADLOCKS;
    if (!ended)
        return STENCIL_OK;
    TRY_CUDA(cudaMemcpy(&done, work.done, sizeof done, cudaMemcpyDeviceToHost));
    *outcome = stencil_barrier_check(barrier, NULL) != STENCIL_OK ? STENCIL_PARTIAL_GIVES_UP
               : done == grid.blocks * grid.block_x               ? STENCIL_PARTIAL_COMPLETES
                                                                  : STENCIL_PARTIAL_LOSES;
    return STENCIL_OK;
}

/* The process ends behind its answer: what was given up may have left the driver's own words wrong. */
static stencil_status child(stencil_bench *b, const int question[STENCIL_BENCH_NUMBERS],
                            int answer[STENCIL_BENCH_NUMBERS]) {
    const int which = question[0], gpu = b->options->gpu[0];
    CHECK(which >= 0 && which < STENCIL_PARTIAL_CASES && exists(which), USAGE, "partial: no such question");
    stencil_barrier_shape shape = {
        .info = &stencil_barriers[which < STENCIL_PARTIAL_LIMITED ? 0 : which - STENCIL_PARTIAL_LIMITED],
        .parts = 1,
        .device = {gpu},
        .timeout_s = timeout_s};
    stencil_barrier barrier;
    shape.first[1] = which >= STENCIL_PARTIAL_GRID_LANES ? (uint32_t)b->machine->gpu[gpu].sm_count : 1;
    TRY(stencil_barrier_create(&barrier, &shape));
    return launch_case(b, &barrier, which, answer);
}

static stencil_status add_case(stencil_bench *b, int which) {
    static const struct {
        const char *kind, *name;
    } fixed[STENCIL_PARTIAL_LIMITED] = {
        {"warp", "__syncwarp, half the lanes"},     {"warp", "tile, half the lanes"},
        {"warp", "coalesced, half the lanes"},      {"block", "__syncthreads, half the lanes"},
        {"block", "__syncthreads, half the warps"}, {"grid", "grid.sync, half the lanes"},
        {"grid", "grid.sync, half the warps"},      {"grid", "grid.sync, half the blocks"},
    };
    const stencil_barrier_info *limited =
        which < STENCIL_PARTIAL_LIMITED ? NULL : &stencil_barriers[which - STENCIL_PARTIAL_LIMITED];
    const bool missing =
        limited != NULL && b->machine->gpu[b->options->gpu[0]].capability < limited->capability;
    char name[64];
    snprintf(name, sizeof name, limited != NULL ? "%s, half the blocks" : "%s",
             limited != NULL ? limited->name : fixed[which].name);
    const stencil_bench_subject subject = {limited != NULL ? "with a time limit" : fixed[which].kind, name,
                                           .unit = "s",
                                           .skipped = missing ? "needs a newer compute capability" : NULL};
    return state(b, &subject, "partial", child_timeout_s, which, 0);
}

/* The barrier across GPUs belongs to another benchmark, which knows how to launch it: on so many GPUs, half
 * the blocks of each, or half the GPUs. */
static stencil_status add_multi_grid(stencil_bench *b) {
    const int count = b->options->gpu_count;
    bool reach = count > 1;
    for (int i = 1; i < count; i++)
        reach = reach && b->machine->peer[b->options->gpu[0]][b->options->gpu[i]];
    for (int blocks = 0; blocks < 2; blocks++) {
        const stencil_bench_subject subject = {
            "with a time limit", blocks ? "multi-grid, half the blocks" : "multi-grid, half the GPUs", "s",
            .axis = {{"gpus", count}},
            .skipped = reach ? NULL : "needs two GPUs that reach each other's memory"};
        TRY(state(b, &subject, "multi-grid", child_timeout_s, count, blocks));
    }
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_bench *b) {
    if (b->options->child_command == NULL)
        return stencil_bench_skip(b->result, "needs child processes");
    for (int which = 0; which < STENCIL_PARTIAL_CASES; which++)
        if (exists(which))
            TRY(add_case(b, which));
    TRY(add_multi_grid(b));
    stencil_bench_note(b,
                       "A part of the group synchronises once, the rest goes on to its end. Deadlock: not "
                       "ended after %g s. The barriers of this program have a time limit, here %g s.",
                       limit_s, timeout_s);
    return STENCIL_OK;
}
#endif

const stencil_benchmark stencil_benchmark_partial = {
    .run_cpu = run_cpu,
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .child = STENCIL_ON_GPU(child),
    .child_cpu = child_cpu,
    .many_gpus = true,
};
