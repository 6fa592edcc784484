/* One host thread per GPU: each launches the step on its own, waits for its stream, and all meet at an OpenMP
 * barrier. Edge cells go into the rims of other parts by the sweep's own stores, or by copies in the same
 * stream; with overlap the edges are computed first and copied while the rest is. On a CPU one team of
 * threads makes all steps, with the compiler's barrier between them. */
#include <math.h>
#include <omp.h>

#include "solver/strategy.h"

#ifdef STENCIL_HAVE_CUDA
/* What the threads share. Thread 0 writes what it has decided before a barrier, all read it after it. */
typedef struct loop {
    const stencil_watch *watch;
    stencil_report *report;
    bool stop;
    stencil_status failed; /* of any thread */
} loop;

/* All threads arrive, and go on or leave together. */
static bool all_well(loop *l, stencil_status status) {
    if (status != STENCIL_OK)
        __atomic_store_n(&l->failed, status, __ATOMIC_RELAXED);
#pragma omp barrier
    return __atomic_load_n(&l->failed, __ATOMIC_RELAXED) == STENCIL_OK;
}

static stencil_status make_step(stencil_gpu_run *gpu, int64_t step) {
    TRY(stencil_gpu_advance(gpu, step));
    return stencil_gpu_wait(gpu);
}

static stencil_status mark(stencil_gpu_run *gpu, cudaEvent_t event) {
    TRY_CUDA(cudaEventRecord(event, gpu->stream));
    return STENCIL_OK;
}

static stencil_status fold(stencil_gpu_run *gpu) {
    TRY(stencil_gpu_start_fold(gpu));
    return stencil_gpu_wait(gpu);
}

/* What only one thread does after a step. */
static stencil_status decide(stencil_gpu_run *gpu, loop *l, int64_t step, bool check) {
    const double residual = check ? stencil_gpu_residual(gpu->team) : NAN;
    TRY(stencil_host_loop_note(&gpu->team->schedule, l->watch, step, residual, &gpu->team->last_residual,
                               l->report));
    l->stop = l->report->reason != STENCIL_REASON_NONE;
    return STENCIL_OK;
}

/* Whether this step ends with a word of thread 0 to the others: when the residual was looked at, and now and
 * then for the progress and the user's wish to stop, which cost a second barrier. */
enum { WORD_EVERY = 16 };

/* A barrier never separates a failing thread from the others: every round trip of all_well() is made by all.
 */
static stencil_status run_part(stencil_gpu_run *gpu, void *context) {
    loop *l = context;
    const stencil_schedule *schedule = &gpu->team->schedule;
    stencil_status status = mark(gpu, gpu->begin);
    int64_t step = 0;
    while (step < schedule->last_step && !l->stop) {
        if (status == STENCIL_OK)
            status = make_step(gpu, step);
        step++;
        const bool check = stencil_schedule_checks(schedule, step);
        if (!all_well(l, status))
            return status;
        if (!check && step % WORD_EVERY != 0)
            continue;
        if (check)
            status = fold(gpu);
        if (check && !all_well(l, status))
            return status;
        if (gpu->part == 0)
            status = decide(gpu, l, step, check);
        if (!all_well(l, status))
            return status;
    }
    TRY(mark(gpu, gpu->end));
    return stencil_gpu_wait(gpu);
}

static stencil_status run_gpu(stencil_gpu_team *team, const stencil_watch *watch, stencil_report *report) {
    loop l = {.watch = watch, .report = report};
    return stencil_gpu_each(team, run_part, &l);
}
#endif

const stencil_strategy stencil_strategy_openmp = {
    .barrier = STENCIL_BARRIER_none,
    .spans = true,
    .copies = true,
    .run_cpu = stencil_persistent_cpu,
    .run_gpu = STENCIL_ON_GPU(run_gpu),
};
