/* Loops driven by the host. On a GPU launches are queued in a stream and the host waits where it looks at a
 * residual, and wherever the strategy says; on a CPU a step is a parallel loop. */
#include <math.h>
#include <omp.h>

#include "solver/strategy.h"

stencil_status stencil_host_loop_note(const stencil_schedule *schedule, const stencil_watch *watch,
                                      int64_t step, double residual, double *last_residual,
                                      stencil_report *report) {
    report->steps = step;
    if (stencil_schedule_checks(schedule, step)) {
        *last_residual = residual;
        TRY(stencil_report_add(report, step, residual));
        report->reason = stencil_schedule_decide(schedule, residual);
    }
    if (watch->tick != NULL)
        watch->tick(watch->context, step, *last_residual);
    if (report->reason == STENCIL_REASON_NONE && watch->interrupt != NULL && *watch->interrupt)
        report->reason = STENCIL_REASON_INTERRUPTED;
    return STENCIL_OK;
}

stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_batch *batch, const stencil_watch *watch,
                                     stencil_report *report) {
    const int64_t end = batch->first + batch->count;
    double last_residual = NAN;
    for (int64_t step = batch->first; step < end && report->reason == STENCIL_REASON_NONE; step++) {
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
        TRY(stencil_host_loop_note(&cpu->schedule, watch, step + 1, seen, &last_residual, report));
    }
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
stencil_status stencil_host_loop_look(stencil_gpu_team *team, const stencil_watch *watch, int64_t step,
                                      stencil_report *report) {
    double residual = NAN;
    if (stencil_schedule_checks(&team->schedule, step)) {
        for (int part = 0; part < team->parts && team->parts > 1; part++)
            TRY(stencil_gpu_wait(&team->part[part])); /* its chunk values may be in other parts */
        for (int part = 0; part < team->parts; part++)
            TRY(stencil_gpu_start_fold(&team->part[part]));
        for (int part = 0; part < team->parts; part++)
            TRY(stencil_gpu_wait(&team->part[part]));
        residual = stencil_gpu_residual(team);
    }
    return stencil_host_loop_note(&team->schedule, watch, step, residual, &team->last_residual, report);
}

stencil_status stencil_host_loop_gpu(stencil_gpu_team *team, const stencil_batch *batch,
                                     const stencil_watch *watch, stencil_report *report) {
    stencil_gpu_run *gpu = &team->part[0];
    const int64_t end = batch->first + batch->count;
    TRY_CUDA(cudaEventRecord(gpu->begin, gpu->stream));
    for (int64_t step = batch->first; step < end && report->reason == STENCIL_REASON_NONE; step++) {
        TRY(stencil_gpu_launch_step(gpu, step));
        if (team->after_step != NULL)
            TRY(team->after_step(gpu));
        TRY(stencil_host_loop_look(team, watch, step + 1, report));
    }
    TRY_CUDA(cudaEventRecord(gpu->end, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}
#endif
