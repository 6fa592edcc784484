/* The persistent loop: one launch makes all steps, with a barrier between them; residuals, decisions and
 * progress stay on the device. On a CPU a team of threads does the same (solver/run/team.c). Strategies of
 * this loop are named after their barrier. */
#include <time.h>

#include "solver/run/strategy.h"

#ifdef STENCIL_HAVE_CUDA
/* Launches the persistent kernel of one part, for single steps or for passes of several steps. */
static stencil_status launch(stencil_gpu_part *gpu, const stencil_batch *batch) {
    const stencil_plan *plan = gpu->plan;
    const stencil_kernel_launch launch = stencil_plan_launch(plan, plan->depth, false);
    stencil_kernel_args *s = &gpu->args;
    stencil_gpu_set_steps(gpu, s, batch->first, batch->count, batch->from);
    gpu->args.mailbox->step = batch->first;
    /* Kernels that share a GPU are resident together because the plan divides its multiprocessors among them.
     */
    const stencil_grid grid = {.blocks = (unsigned)stencil_plan_part(plan, gpu->part)->grid_blocks,
                               .block_x = (unsigned)launch.block_x,
                               .block_y = (unsigned)launch.block_y,
                               .cluster_blocks = (unsigned)plan->cluster_blocks,
                               .shared_bytes = (unsigned)launch.shared_bytes,
                               .shared = gpu->shared};
    return stencil_grid_launch(launch.function, &grid, s, gpu->stream);
}

/* Waits for the launch, and polls the observers with the progress in its mailbox; ranks poll them between
 * batches, together. The host sleeps only during
 * long launches, for a small fraction of the time waited so far: where it is a virtual machine it may sleep
 * for milliseconds. */
static stencil_status wait(stencil_gpu_part *gpu, const stencil_batch *batch) {
    const double start_s = stencil_clock_s();
    for (;;) {
        const double waited_s = stencil_clock_s() - start_s;
        const cudaError_t state = cudaStreamQuery(gpu->stream);
        if (state == cudaSuccess)
            return STENCIL_OK;
        if (state != cudaErrorNotReady)
            TRY_CUDA_STATE(state, "cudaStreamQuery(gpu->stream), a persistent loop");
        if (gpu->part == 0 && !gpu->plan->spans_ranks &&
            !stencil_observers_poll(batch->observers, gpu->args.mailbox->step, gpu->args.mailbox->residual))
            gpu->args.mailbox->interrupt = 1;
        if (waited_s > 0.01)
            nanosleep(&(struct timespec){.tv_nsec = waited_s > 0.2 ? 1000000 : (long)(5e6 * waited_s)}, NULL);
    }
}

/* Moves an absence in a step before the batch, which the host has launched, to the first step of the batch.
 */
static void move_absence(stencil_gpu_part *gpu, const stencil_batch *batch) {
    int64_t *absent = &gpu->args.fault.absent_step;
    if (*absent > 0 && *absent <= batch->first)
        *absent = batch->first + 1;
}

static stencil_status launch_and_wait(stencil_gpu_part *gpu, void *context) {
    const stencil_batch *batch = *(const stencil_batch **)context;
    if (gpu->plan->depth > 1)
        move_absence(gpu, batch);
    TRY_CUDA(cudaEventRecord(gpu->begin, gpu->stream));
    TRY(launch(gpu, batch));
    TRY_CUDA(cudaEventRecord(gpu->end, gpu->stream));
    TRY(wait(gpu, batch));
    /* The copy is not queued before the wait: a pending copy may keep another part's kernel from starting. */
    TRY_CUDA(cudaMemcpyAsync(gpu->control_host, gpu->args.control, sizeof *gpu->control_host,
                             cudaMemcpyDeviceToHost, gpu->stream));
    return stencil_gpu_wait(gpu);
}

/* Reads the outcome of the launch from part 0; all parts must have found the same outcome. */
static stencil_status collect(stencil_gpu_run *run, const stencil_batch *batch, stencil_outcome *outcome) {
    stencil_gpu_part *gpu = &run->part[0];
    const stencil_control *control = gpu->control_host;
    TRY_CUDA(cudaSetDevice(gpu->device));
    *outcome = (stencil_outcome){control->step - batch->first, (stencil_reason)control->reason,
                                 control->history_count, outcome->residual};
    TRY_CUDA(cudaMemcpy(outcome->residual, gpu->args.history, (size_t)outcome->checks * sizeof(double),
                        cudaMemcpyDeviceToHost));
    for (int p = 1; p < run->parts; p++)
        CHECK(run->part[p].control_host->step == control->step &&
                  run->part[p].control_host->reason == control->reason,
              INTERNAL, "part %d ended after step %lld, part 0 after step %lld", p,
              (long long)run->part[p].control_host->step, (long long)control->step);
    for (int p = 0; p < run->parts; p++)
        run->part[p].args.resident.checks += (uint32_t)control->history_count;
    return STENCIL_OK;
}

/* Launches the persistent kernel of one part for passes of several steps. */
static stencil_status launch_passes(stencil_gpu_part *gpu, const stencil_batch *batch) {
    stencil_kernel_args *s = &gpu->args;
    const int64_t last = batch->first + batch->count;
    const stencil_pass next = {last, (int32_t)stencil_pass_steps(&s->schedule, s->depth, last, INT64_MAX), 0};
    int64_t *absent = &s->fault.absent_step;
    /* A checked pass is a launch without a barrier, so an absence in it is moved to the barrier before or
     * after. */
    if (*absent > last && *absent <= last + next.steps && stencil_pass_check(&s->schedule, &next) > 0)
        *absent = last;
    move_absence(gpu, batch);
    TRY_CUDA(cudaSetDevice(gpu->device));
    return launch(gpu, batch);
}

static stencil_status launch_checked(stencil_gpu_run *run, const stencil_pass *pass) {
    for (int p = 0; p < run->parts && !run->part[p].args.trace.without_compute; p++) {
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY(stencil_gpu_launch_pass(&run->part[p], pass));
    }
    return STENCIL_OK;
}

/* Returns the steps from a pass on up to the next checked pass or the end of the batch, which one launch
 * makes. */
static stencil_batch plain_steps(const stencil_gpu_run *run, const stencil_batch *batch,
                                 const stencil_pass *pass) {
    const int64_t plain_end =
        stencil_passes_plain(&run->schedule, run->plan->depth, pass->first, batch->first + batch->count);
    return (stencil_batch){.first = pass->first,
                           .count = plain_end - pass->first,
                           .observers = batch->observers,
                           .from = pass->from};
}

/* Returns the last pass of a launch that has made `made` steps; on chip a launch goes from one buffer to the
 * other, like a pass. */
static stencil_pass last_pass(const stencil_plan *plan, const stencil_batch *some, int64_t made) {
    const int64_t before = (made - 1) / plan->depth;
    if (plan->layout.kind == STENCIL_PASS_ON_CHIP)
        return (stencil_pass){some->first + made - 1, 1, some->from};
    return (stencil_pass){some->first + before * plan->depth, (int32_t)(made - before * plan->depth),
                          some->from ^ (int32_t)(before % 2)};
}

/* Tells whether a launch is so short that nobody needs to ask it to leave, so that the host can queue what
 * follows before the launch has ended. */
static bool is_brief(const stencil_gpu_run *run, const stencil_batch *some) {
    enum { POLLS = 8 };
    return run->plan->cut.parts == 1 && run->plan->layout.kind != STENCIL_PASS_ON_CHIP &&
           some->count <= (int64_t)POLLS * run->plan->poll_every;
}

/* Waits for a launch of several passes that all parts make. */
static stencil_status wait_for_passes(stencil_gpu_run *run, const stencil_batch *some) {
    for (int p = 0; p < run->parts; p++) { /* the host may notice the end milliseconds late */
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY_CUDA(cudaEventRecord(run->part[p].end, run->part[p].stream));
    }
    run->ends = true;
    TRY(wait(&run->part[0], some));
    for (int p = 1; p < run->parts; p++)
        TRY(stencil_gpu_wait(&run->part[p]));
    for (int p = 0; p < run->parts; p++)
        if (run->part[p].args.mailbox->step != some->first + some->count)
            TRY(stencil_barrier_check(&run->barrier));
    return STENCIL_OK;
}

/* Makes passes of several steps: one launch up to the next checked pass, which is a separate launch. A launch
 * that ends early was interrupted, or its barrier timed out. */
static stencil_status queue_gpu(stencil_gpu_run *run, const stencil_batch *batch, stencil_pass *pass) {
    if (stencil_pass_check(&run->schedule, pass) > 0)
        return launch_checked(run, pass);
    const stencil_batch some = plain_steps(run, batch, pass);
    stencil_status status = STENCIL_OK;
    for (int p = 0; p < run->parts && status == STENCIL_OK; p++)
        status = launch_passes(&run->part[p], &some);
    if (status == STENCIL_OK && is_brief(run, &some)) {
        *pass = last_pass(run->plan, &some, some.count);
        return STENCIL_OK;
    }
    if (status == STENCIL_OK)
        status = wait_for_passes(run, &some);
    TRY(stencil_gpu_agree(run, status));
    const int64_t made = run->part[0].args.mailbox->step - some.first;
    CHECK(made > 0 && made <= some.count, INTERNAL, "a launch of %lld steps made %lld", (long long)some.count,
          (long long)made);
    *pass = last_pass(run->plan, &some, made);
    return STENCIL_OK;
}

/* Queues the launch after a checked pass, unless it is a long loop. */
static stencil_status queue_ahead(stencil_gpu_run *run, const stencil_batch *batch, stencil_pass *pass) {
    const stencil_batch some = plain_steps(run, batch, pass);
    if (stencil_pass_check(&run->schedule, pass) > 0 || is_brief(run, &some))
        return queue_gpu(run, batch, pass);
    pass->steps = 0;
    return STENCIL_OK;
}

static stencil_status batch_gpu(stencil_gpu_run *run, const stencil_batch *batch, stencil_outcome *outcome) {
    /* Loops of passes leave for each check, unless they check inside. A batch of one step is a launch by
     * itself. */
    if (run->plan->depth > 1 && (!stencil_plan_checks_inside(run->plan) || batch->count == 1)) {
        TRY(stencil_host_loop_gpu(run, batch, outcome));
        return stencil_gpu_agree(run, stencil_barrier_check(&run->barrier));
    }
    stencil_status status = stencil_gpu_each(run, launch_and_wait, &batch);
    if (status == STENCIL_OK)
        status = stencil_barrier_check(&run->barrier);
    TRY(stencil_gpu_agree(run, status));
    return collect(run, batch, outcome);
}
#endif

const stencil_strategy stencil_strategy_persistent = {.batch_gpu = STENCIL_ON_GPU(batch_gpu),
                                                      .queue_gpu = STENCIL_ON_GPU(queue_gpu),
                                                      .queue_ahead = STENCIL_ON_GPU(queue_ahead)};
