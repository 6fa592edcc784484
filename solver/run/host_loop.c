/* Time loops driven by the host. On a GPU, launches are queued in a stream, and the host waits when it checks
 * a residual and where the strategy requires it; on a CPU, each step is a parallel loop over all parts. */
#include <math.h>
#include <omp.h>

#include "solver/run/strategy.h"

/* Tells whether the host polls its observers between two steps. */
static bool polls_between(const stencil_plan *plan, int64_t before, int64_t step) {
    return step / plan->poll_every > before / plan->poll_every;
}

void stencil_host_loop_end(const stencil_schedule *schedule, const stencil_plan *plan,
                           const stencil_batch *batch, const stencil_pass *pass, double residual,
                           stencil_outcome *outcome) {
    const int64_t before = batch->first + outcome->steps; /* a CUDA graph may have made many steps */
    const int64_t check = stencil_pass_check(schedule, pass), step = pass->first + pass->steps;
    outcome->steps = step - batch->first;
    if (check > 0) {
        outcome->residual[outcome->checks++] = residual;
        outcome->reason = stencil_schedule_decide(schedule, residual);
        if (outcome->reason != STENCIL_REASON_NONE)
            outcome->steps = pass->first + check - batch->first;
    }
    const double last = outcome->checks > 0 ? outcome->residual[outcome->checks - 1] : NAN;
    if (polls_between(plan, before, step) && !stencil_observers_poll(batch->observers, step, last) &&
        outcome->reason == STENCIL_REASON_NONE)
        outcome->reason = STENCIL_REASON_INTERRUPTED;
}

/* Records the same time stamp for all threads of a CPU: the beginning or the end of a parallel loop. */
static void note_all(const stencil_cpu *cpu, stencil_mark mark) {
    for (int thread = 0; thread < cpu->threads; thread++)
        stencil_cpu_note(cpu, thread, mark);
}
static void note_launch(const stencil_cpu *cpu, stencil_launch_mark mark) {
    for (int thread = 0; thread < cpu->threads; thread++)
        stencil_cpu_note_launch(cpu, thread, mark);
}

stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome) {
    const int64_t end = batch->first + batch->count;
    if (cpu->trace.without_barrier) /* the end of a parallel loop is a barrier */
        return stencil_team_cpu(cpu, batch, outcome);
    const int depth = cpu->plan->depth;
    stencil_pass pass = stencil_batch_pass(batch, &cpu->schedule, depth);
    note_launch(cpu, STENCIL_LAUNCH_ENTERED);
    for (; pass.steps > 0 && outcome->reason == STENCIL_REASON_NONE;
         pass = stencil_pass_next(&pass, &cpu->schedule, depth, end)) {
        const int64_t step = pass.first + pass.steps;
        const bool check = stencil_schedule_checks(&cpu->schedule, step);
        double seen = NAN;
        int team = 0;
        for (int thread = 0; thread < cpu->threads; thread++)
            stencil_cpu_begin_pass(cpu, thread);
        note_all(cpu, STENCIL_MARK_LAUNCHED);
#pragma omp parallel num_threads(cpu->threads)
        {
            const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
            if (thread == 0)
                team = threads;
            if (threads == cpu->threads)
                (void)stencil_cpu_advance(cpu, &pass, thread,
                                          threads); /* its barriers have no limit of time */
            if (threads == cpu->threads && check) {
                double value;
                stencil_cpu_sync(cpu, NULL, thread, true);
                stencil_cpu_note(cpu, thread, STENCIL_MARK_LEFT);
                stencil_cpu_residual(cpu, thread, threads, &value);
                if (thread == 0)
                    seen = value;
            }
        }
        TRY(stencil_cpu_check_team(cpu, team));
        if (!check)
            note_all(cpu, STENCIL_MARK_LEFT);
        stencil_host_loop_end(&cpu->schedule, cpu->plan, batch, &pass, seen, outcome);
        note_all(cpu, STENCIL_MARK_END);
    }
    note_launch(cpu, STENCIL_LAUNCH_LOOPED);
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
static stencil_status mark(stencil_gpu_run *run, bool begin) {
    for (int p = 0; p < run->parts; p++) {
        const stencil_gpu_part *gpu = &run->part[p];
        TRY_CUDA(cudaSetDevice(gpu->device));
        TRY_CUDA(cudaEventRecord(begin ? gpu->begin : gpu->end, gpu->stream));
    }
    return STENCIL_OK;
}

static stencil_status wait_for_all(stencil_gpu_run *run) {
    for (int p = 0; p < run->parts; p++)
        TRY(stencil_gpu_wait(&run->part[p]));
    return STENCIL_OK;
}

/* Queues *pass, or several passes, and sets *pass to the last one. */
static stencil_status queue(stencil_gpu_run *run, const stencil_batch *batch, stencil_pass *pass) {
    run->ends = false;
    return run->strategy->queue_gpu(run, batch, pass);
}

/* Finds the residual of a checked pass of a run of one part. Meanwhile the GPU makes the pass after it, where
 * the strategy has queue_ahead: it is queued before the host knows the residual, and makes nothing where the
 * residual ends the run before the end of its pass, which is then made again from the buffer that the next
 * pass would write. */
static stencil_status judge(stencil_gpu_run *run, const stencil_batch *batch, const stencil_pass *pass,
                            stencil_pass *ahead, double *residual) {
    stencil_gpu_part *gpu = &run->part[0];
    run->ends = false;
    TRY(stencil_gpu_start_judge(run));
    TRY_CUDA(cudaEventRecord(gpu->step_done, gpu->stream));
    if (run->strategy->queue_ahead != NULL && !run->leaves) {
        *ahead = stencil_pass_next(pass, &run->schedule, run->plan->depth, batch->first + batch->count);
        if (ahead->steps == 1 && stencil_pass_check(&run->schedule, pass) < pass->steps)
            ahead->steps = 0; /* a launch of a single step does not look at the verdict */
        gpu->args.undecided = &gpu->args.control->reason;
        const stencil_status queued =
            ahead->steps > 0 ? run->strategy->queue_ahead(run, batch, ahead) : STENCIL_OK;
        gpu->args.undecided = NULL;
        TRY(queued);
    }
    TRY_CUDA(cudaEventSynchronize(gpu->step_done));
    *residual = gpu->args.mailbox->residual;
    return STENCIL_OK;
}

/* Finds the residual of a checked pass of a run of several parts. */
static stencil_status judge_parts(stencil_gpu_run *run, double *residual) {
    TRY(stencil_gpu_agree(run, wait_for_all(run))); /* another part's partial sums may be in another stream */
    for (int p = 0; p < run->parts; p++)
        TRY(stencil_gpu_start_combine(&run->part[p]));
    TRY(wait_for_all(run));
    *residual = stencil_gpu_residual(run);
    run->part[0].args.mailbox->residual = *residual;
    return STENCIL_OK;
}

/* Waits for the steps up to the poll before this one: where no residual is checked, the host would queue
 * thousands of passes, and look at its observers only while it does. */
static stencil_status keep_close(stencil_gpu_run *run, const stencil_batch *batch, const stencil_pass *pass,
                                 const stencil_outcome *outcome) {
    const stencil_gpu_part *gpu = &run->part[0];
    if (!polls_between(run->plan, batch->first + outcome->steps, pass->first + pass->steps))
        return STENCIL_OK;
    TRY_CUDA(cudaSetDevice(gpu->device));
    TRY_CUDA(cudaEventSynchronize(gpu->polled));
    TRY_CUDA(cudaEventRecord(gpu->polled, gpu->stream));
    return STENCIL_OK;
}

/* Ends the run as an observer wants it, but after the passes that are queued ahead, which overwrite the cells
 * of the pass before. */
static void leave_behind(stencil_gpu_run *run, const stencil_pass *ahead, stencil_outcome *outcome) {
    if (outcome->reason == STENCIL_REASON_INTERRUPTED)
        run->leaves = true;
    if (run->leaves &&
        (outcome->reason == STENCIL_REASON_NONE || outcome->reason == STENCIL_REASON_INTERRUPTED))
        outcome->reason = ahead->steps > 0 ? STENCIL_REASON_NONE : STENCIL_REASON_INTERRUPTED;
}

/* Ends a queued pass, with the residual of all parts if one is due, and makes it again where the run ends
 * inside. *ahead: the last one of the next passes, if queued. */
static stencil_status end_queued(stencil_gpu_run *run, const stencil_batch *batch, const stencil_pass *pass,
                                 stencil_pass *ahead, stencil_outcome *outcome) {
    double residual = NAN;
    *ahead = (stencil_pass){0};
    if (stencil_pass_check(&run->schedule, pass) > 0)
        TRY(run->plan->cut.parts == 1 ? judge(run, batch, pass, ahead, &residual)
                                      : judge_parts(run, &residual));
    TRY(keep_close(run, batch, pass, outcome));
    stencil_host_loop_end(&run->schedule, run->plan, batch, pass, residual, outcome);
    leave_behind(run, ahead, outcome);
    stencil_pass again = stencil_pass_again(pass, batch, outcome);
    return again.steps > 0 ? queue(run, batch, &again) : STENCIL_OK;
}

stencil_status stencil_host_loop_gpu(stencil_gpu_run *run, const stencil_batch *batch,
                                     stencil_outcome *outcome) {
    const int64_t end = batch->first + batch->count;
    const int depth = run->plan->depth;
    run->leaves = false;
    TRY(mark(run, true));
    stencil_pass pass = stencil_batch_pass(batch, &run->schedule, depth), ahead = {0};
    for (; pass.steps > 0 && outcome->reason == STENCIL_REASON_NONE;
         pass = stencil_pass_next(&pass, &run->schedule, depth, end)) {
        if (ahead.steps > 0)
            pass = ahead;
        else
            TRY(queue(run, batch, &pass));
        TRY(end_queued(run, batch, &pass, &ahead, outcome));
    }
    if (!run->ends)
        TRY(mark(run, false));
    return wait_for_all(run);
}
#endif
