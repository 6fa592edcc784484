#include "solver/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/strategy.h"

static stencil_status run_cpu(stencil_problem *problem, const stencil_plan *plan,
                              const stencil_strategy *strategy, const stencil_watch *watch,
                              stencil_report *report) {
    char parts[32] = "";
    if (plan->cut.parts > 1)
        snprintf(parts, sizeof parts, ", %d parts", plan->cut.parts);
    snprintf(report->device, sizeof report->device, "%d thread%s, %s%s", plan->threads,
             plan->threads == 1 ? "" : "s", stencil_cpu_isa(), parts);
    stencil_cpu cpu;
    const double start_s = stencil_clock_s();
    TRY(stencil_cpu_create(&cpu, problem, plan));
    const double ready_s = stencil_clock_s();
    const stencil_status status = strategy->run_cpu(&cpu, watch, report);
    const double done_s = stencil_clock_s();
    if (status == STENCIL_OK)
        stencil_cpu_finish(&cpu, problem, report->steps);
    stencil_cpu_report(&cpu, report);
    stencil_cpu_destroy(&cpu);
    report->prepare_s = ready_s - start_s;
    report->compute_s = done_s - ready_s;
    report->finish_s = stencil_clock_s() - done_s;
    return status;
}

#ifdef STENCIL_HAVE_CUDA
static stencil_status run_created(stencil_gpu_team *team, stencil_problem *problem,
                                  const stencil_strategy *strategy, const stencil_watch *watch,
                                  stencil_report *report) {
    TRY(strategy->run_gpu(team, watch, report));
    TRY(stencil_gpu_time_s(team, &report->compute_s));
    const double done_s = stencil_clock_s();
    TRY(stencil_gpu_finish(team, problem, report->steps));
    report->finish_s = stencil_clock_s() - done_s;
    return STENCIL_OK;
}

/* "NVIDIA H200", "4 x NVIDIA H200", or with how many parts share them. */
static stencil_status name_devices(const stencil_plan *plan, char *text, size_t size) {
    struct cudaDeviceProp properties;
    int devices = 0;
    for (int p = 0; p < plan->cut.parts; p++) {
        bool seen = false;
        for (int q = 0; q < p; q++)
            seen = seen || plan->part[q].gpu == plan->part[p].gpu;
        devices += !seen;
    }
    TRY_CUDA(cudaGetDeviceProperties(&properties, plan->part[0].gpu));
    int at = 0;
    if (devices > 1)
        at = snprintf(text, size, "%d x ", devices);
    at += snprintf(text + at, size - (size_t)at, "%.100s", properties.name);
    if (devices < plan->cut.parts)
        snprintf(text + at, size - (size_t)at, " in %d parts", plan->cut.parts);
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_problem *problem, const stencil_plan *plan,
                              const stencil_strategy *strategy, const stencil_watch *watch,
                              stencil_report *report) {
    TRY(name_devices(plan, report->device, sizeof report->device));
    stencil_gpu_team *team = malloc(sizeof *team);
    CHECK(team != NULL, NO_MEMORY, "no memory for a run");
    const double start_s = stencil_clock_s();
    stencil_status status = stencil_gpu_create(team, plan, problem);
    if (status == STENCIL_OK) {
        report->prepare_s = stencil_clock_s() - start_s;
        team->after_step = strategy->after_step;
        status = run_created(team, problem, strategy, watch, report);
        stencil_gpu_destroy(team);
    }
    free(team);
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
