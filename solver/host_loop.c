/* Loops driven by the host. On a GPU launches are queued in a stream and the host waits where it looks at a
 * residual, and wherever the strategy says; on a CPU a step is a parallel loop. */
#include <math.h>
#include <omp.h>

#include "solver/strategy.h"

stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_watch *watch, stencil_report *report) {
    double residual = NAN;
    for (int64_t step = 0; step < cpu->schedule.last_step && report->reason == STENCIL_REASON_NONE; step++) {
        const bool check = stencil_schedule_checks(&cpu->schedule, step + 1);
        double seen = NAN;
#pragma omp parallel num_threads(cpu->threads)
        {
            const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
            stencil_cpu_step(cpu, step, check, thread, threads);
            if (check) {
                double value;
                stencil_cpu_sync(cpu, 0, thread, true);
                stencil_cpu_residual(cpu, thread, threads, &value);
                if (thread == 0)
                    seen = value;
            }
        }
        report->steps = step + 1;
        if (check) {
            residual = seen;
            TRY(stencil_report_add(report, step + 1, residual));
            report->reason = stencil_decide(&cpu->schedule, step + 1, residual);
        }
        if (watch->tick != NULL)
            watch->tick(watch->context, step + 1, residual);
        if (report->reason == STENCIL_REASON_NONE && watch->interrupt != NULL && *watch->interrupt)
            report->reason = STENCIL_REASON_INTERRUPTED;
    }
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
stencil_status stencil_host_loop_look(stencil_gpu_run *gpu, const stencil_watch *watch, int64_t step,
                                      stencil_report *report) {
    const stencil_schedule *schedule = &gpu->sweep.schedule;
    report->steps = step;
    if (stencil_schedule_checks(schedule, step)) {
        TRY(stencil_gpu_residual(gpu, &gpu->last_residual));
        TRY(stencil_report_add(report, step, gpu->last_residual));
        report->reason = stencil_decide(schedule, step, gpu->last_residual);
    }
    if (watch->tick != NULL)
        watch->tick(watch->context, step, gpu->last_residual);
    if (report->reason == STENCIL_REASON_NONE && watch->interrupt != NULL && *watch->interrupt)
        report->reason = STENCIL_REASON_INTERRUPTED;
    return STENCIL_OK;
}

stencil_status stencil_host_loop_gpu(stencil_gpu_run *gpu, const stencil_watch *watch,
                                     stencil_report *report) {
    TRY_CUDA(cudaEventRecord(gpu->begin, gpu->stream));
    for (int64_t step = 0; step < gpu->sweep.schedule.last_step && report->reason == STENCIL_REASON_NONE;
         step++) {
        TRY(stencil_gpu_launch_step(gpu, step));
        if (gpu->after_step != NULL)
            TRY(gpu->after_step(gpu));
        TRY(stencil_host_loop_look(gpu, watch, step + 1, report));
    }
    TRY_CUDA(cudaEventRecord(gpu->end, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}
#endif
