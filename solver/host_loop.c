/* Loops driven by the host. On a GPU launches are queued in a stream and the host waits where it looks at a
 * residual, and wherever the strategy says; on a CPU a step is a parallel loop. */
#include <math.h>
#include <omp.h>

#include "solver/strategy.h"

bool stencil_batch_poll(const stencil_batch *batch, int64_t step, double residual) {
    bool goes_on = true;
    for (int i = 0; i < batch->observers->count; i++) {
        const stencil_observer *o = &batch->observers->item[i];
        goes_on = (o->poll == NULL || o->poll(o->context, step, residual)) && goes_on;
    }
    return goes_on;
}

void stencil_host_loop_end(const stencil_schedule *schedule, const stencil_plan *plan,
                           const stencil_batch *batch, int64_t step, double residual,
                           stencil_outcome *outcome) {
    const int64_t before = batch->first + outcome->steps; /* a graph makes many steps at once */
    outcome->steps = step - batch->first;
    if (stencil_schedule_checks(schedule, step)) {
        outcome->residual[outcome->checks++] = residual;
        outcome->reason = stencil_schedule_decide(schedule, residual);
    }
    const double last = outcome->checks > 0 ? outcome->residual[outcome->checks - 1] : NAN;
    if (step / plan->poll_every > before / plan->poll_every && !stencil_batch_poll(batch, step, last) &&
        outcome->reason == STENCIL_REASON_NONE)
        outcome->reason = STENCIL_REASON_INTERRUPTED;
}

stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome) {
    const int64_t end = batch->first + batch->count;
    for (int64_t step = batch->first; step < end && outcome->reason == STENCIL_REASON_NONE; step++) {
        const bool check = stencil_schedule_checks(&cpu->schedule, step + 1);
        double seen = NAN;
#pragma omp parallel num_threads(cpu->threads)
        {
            const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
            stencil_cpu_advance(cpu, step, check, thread, threads);
            if (check) {
                double value;
                stencil_cpu_sync(cpu, 0, thread, true);
                stencil_cpu_residual(cpu, thread, threads, &value);
                if (thread == 0)
                    seen = value;
            }
        }
        stencil_host_loop_end(&cpu->schedule, cpu->plan, batch, step + 1, seen, outcome);
    }
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
stencil_status stencil_host_loop_queued(stencil_gpu_run *run, const stencil_batch *batch, int64_t step,
                                        stencil_outcome *outcome) {
    double residual = NAN;
    if (stencil_schedule_checks(&run->schedule, step)) {
        for (int part = 0; part < run->parts && run->parts > 1; part++)
            TRY(stencil_gpu_wait(&run->part[part])); /* its partial sums may be in other parts */
        for (int part = 0; part < run->parts; part++)
            TRY(stencil_gpu_start_combine(&run->part[part]));
        for (int part = 0; part < run->parts; part++)
            TRY(stencil_gpu_wait(&run->part[part]));
        residual = stencil_gpu_residual(run);
    }
    stencil_host_loop_end(&run->schedule, run->plan, batch, step, residual, outcome);
    return STENCIL_OK;
}

stencil_status stencil_host_loop_gpu(stencil_gpu_run *run, const stencil_batch *batch,
                                     stencil_outcome *outcome) {
    stencil_gpu_part *gpu = &run->part[0];
    const int64_t end = batch->first + batch->count;
    TRY_CUDA(cudaEventRecord(gpu->begin, gpu->stream));
    for (int64_t step = batch->first; step < end && outcome->reason == STENCIL_REASON_NONE; step++) {
        TRY(stencil_gpu_launch_step(gpu, step));
        if (run->after_step != NULL)
            TRY(run->after_step(gpu));
        TRY(stencil_host_loop_queued(run, batch, step + 1, outcome));
    }
    TRY_CUDA(cudaEventRecord(gpu->end, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}
#endif
