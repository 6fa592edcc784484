#include "solver/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/strategy.h"

static stencil_status run_cpu(stencil_problem *problem, const stencil_plan *plan,
                              const stencil_strategy *strategy, const stencil_watch *watch,
                              stencil_report *report) {
    snprintf(report->device, sizeof report->device, "%d thread%s, %s", plan->threads,
             plan->threads == 1 ? "" : "s", stencil_cpu_isa());
    stencil_cpu cpu;
    const double start_s = stencil_clock_s();
    TRY(stencil_cpu_create(&cpu, problem, plan));
    const double ready_s = stencil_clock_s();
    const stencil_status status = strategy->run_cpu(&cpu, watch, report);
    const double done_s = stencil_clock_s();
    if (status == STENCIL_OK)
        stencil_cpu_finish(&cpu, problem, report->steps);
    stencil_cpu_destroy(&cpu);
    report->prepare_s = ready_s - start_s;
    report->compute_s = done_s - ready_s;
    report->finish_s = stencil_clock_s() - done_s;
    return status;
}

#ifdef STENCIL_HAVE_CUDA
/* Time between the events around the steps. */
static stencil_status computed(stencil_gpu_run *gpu, stencil_report *report) {
    float ms = 0;
    TRY_CUDA(cudaEventElapsedTime(&ms, gpu->begin, gpu->end));
    report->compute_s = 1e-3 * (double)ms;
    return STENCIL_OK;
}

static stencil_status run_created(stencil_gpu_run *gpu, stencil_problem *problem,
                                  const stencil_strategy *strategy, const stencil_watch *watch,
                                  stencil_report *report) {
    TRY(strategy->run_gpu(gpu, watch, report));
    TRY(computed(gpu, report));
    const double done_s = stencil_clock_s();
    TRY(stencil_gpu_finish(gpu, problem, report->steps));
    report->finish_s = stencil_clock_s() - done_s;
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_problem *problem, const stencil_plan *plan,
                              const stencil_strategy *strategy, const stencil_watch *watch,
                              stencil_report *report) {
    struct cudaDeviceProp properties;
    TRY_CUDA(cudaGetDeviceProperties(&properties, plan->gpu));
    snprintf(report->device, sizeof report->device, "%.140s", properties.name);
    stencil_gpu_run gpu;
    const double start_s = stencil_clock_s();
    TRY(stencil_gpu_create(&gpu, plan, problem));
    report->prepare_s = stencil_clock_s() - start_s;
    gpu.after_step = strategy->after_step;
    const stencil_status status = run_created(&gpu, problem, strategy, watch, report);
    stencil_gpu_destroy(&gpu);
    return status;
}
#else
static stencil_status run_gpu(stencil_problem *problem, const stencil_plan *plan,
                              const stencil_strategy *strategy, const stencil_watch *watch,
                              stencil_report *report) {
    (void)problem, (void)strategy, (void)watch, (void)report;
    FAIL(UNAVAILABLE, "%s: built without CUDA", plan->kernel);
}
#endif

stencil_status stencil_run(stencil_problem *problem, const stencil_plan *plan, const stencil_watch *watch,
                           stencil_report *report) {
    static const stencil_watch nobody;
    const stencil_strategy *strategy = stencil_strategy_row(stencil_strategy_index(plan->strategy));
    const bool on_gpu = plan->backend == STENCIL_BACKEND_GPU;
    watch = watch != NULL ? watch : &nobody;
    snprintf(report->strategy, sizeof report->strategy, "%s", plan->strategy);
    snprintf(report->backend, sizeof report->backend, "%s", on_gpu ? "gpu" : "cpu");
    report->updated_cells = stencil_problem_updated_cells(problem);
    report->bytes_per_cell =
        (problem->b.data != NULL ? 3.0 : 2.0) * (double)stencil_precision_bytes(problem->precision);
    stencil_field_fill_rims(&problem->u, problem->boundary, problem->radius);
    TRY((on_gpu ? run_gpu : run_cpu)(problem, plan, strategy, watch, report));
    if (report->reason == STENCIL_REASON_NONE) /* no step at all */
        report->reason = isnan(problem->stop.tolerance) ? STENCIL_REASON_STEPS : STENCIL_REASON_NOT_CONVERGED;
    return STENCIL_OK;
}
