/* A launch per step: the end of a kernel is the barrier. On a GPU the launches are queued in a stream and the host
 * waits only where it looks at a residual; on a CPU a step is a parallel loop. */
#include <math.h>
#include <omp.h>

#include "solver/strategy.h"

static stencil_status run_cpu(stencil_cpu *cpu, const stencil_watch *watch, stencil_report *report) {
    double residual = NAN;
    for (int64_t step = 0; step < cpu->schedule.last_step && report->reason == STENCIL_REASON_NONE; step++) {
        const bool check = stencil_schedule_checks(&cpu->schedule, step + 1);
        double seen = NAN;
#pragma omp parallel num_threads(cpu->threads)
        {
            const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
            stencil_cpu_step(cpu, step, check, thread, threads);
            if (check) {
                stencil_team_sync();
                const double value = stencil_cpu_residual(cpu, thread, threads);
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
static stencil_status launch(stencil_gpu_run *gpu, int64_t step) {
    const stencil_plan *plan = gpu->plan;
    gpu->sweep.step_first = step;
    gpu->sweep.step_count = 1;
    void *arguments[] = {&gpu->sweep};
    const dim3 grid = {(unsigned)plan->grid_blocks, 1, 1};
    const dim3 block = {(unsigned)plan->block_x, (unsigned)plan->block_y, 1};
    TRY_CUDA(cudaLaunchKernel(gpu->kernel->function, grid, block, arguments, 0, gpu->stream));
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_gpu_run *gpu, const stencil_watch *watch, stencil_report *report) {
    const stencil_schedule *schedule = &gpu->sweep.schedule;
    double residual = NAN;
    TRY_CUDA(cudaEventRecord(gpu->begin, gpu->stream));
    for (int64_t step = 0; step < schedule->last_step && report->reason == STENCIL_REASON_NONE; step++) {
        TRY(launch(gpu, step));
        report->steps = step + 1;
        if (stencil_schedule_checks(schedule, step + 1)) {
            TRY(stencil_gpu_residual(gpu, &residual));
            TRY(stencil_report_add(report, step + 1, residual));
            report->reason = stencil_decide(schedule, step + 1, residual);
        }
        if (watch->tick != NULL)
            watch->tick(watch->context, step + 1, residual);
        if (report->reason == STENCIL_REASON_NONE && watch->interrupt != NULL && *watch->interrupt)
            report->reason = STENCIL_REASON_INTERRUPTED;
    }
    TRY_CUDA(cudaEventRecord(gpu->end, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}
#endif

const stencil_strategy stencil_strategy_relaunch = {
    .barrier = STENCIL_BARRIER_none,
    .run_cpu = run_cpu,
#ifdef STENCIL_HAVE_CUDA
    .run_gpu = run_gpu,
#endif
};
