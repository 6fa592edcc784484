#include "solver/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/strategy.h"
#include "solver/sweep.h"

enum { OWN_OBSERVERS = 3, OBSERVERS_MAX = OWN_OBSERVERS + 8 };

/* A run while it goes. */
typedef struct run {
    stencil_problem *problem;
    const stencil_plan *plan;
    const stencil_strategy *strategy;
    stencil_report *report;
    stencil_observers observers; /* those of the driver itself, and the caller's */
    stencil_outcome outcome;     /* of the batch that was last made */
    stencil_schedule schedule;
    double source_norm;
    int64_t window; /* of stagnation, steps */
    stencil_cpu *cpu;
    stencil_gpu_team *team; /* the side that makes the steps; the other one is NULL */
} run;

/* From now on `first` is known. */
static void set_criteria(run *r, double first) {
    const stencil_stop *stop = &r->problem->stop;
    r->report->residual_first = first;
    r->schedule.under_rtol = stop->rtol * first;
    r->schedule.under_atol = stop->atol;
    r->report->threshold = fmax(r->schedule.under_rtol, r->schedule.under_atol);
}

static void start_schedule(run *r) {
    const stencil_stop *stop = &r->problem->stop;
    r->schedule = (stencil_schedule){.check_every = stop->check_every,
                                     .check_step = stop->steps,
                                     .under_rtol = NAN,
                                     .under_atol = NAN,
                                     .norm = stop->norm,
                                     .updated_cells = stencil_problem_updated_cells(r->problem)};
    r->report->residual_first = r->report->threshold = NAN;
    r->window = stencil_stagnation_window(r->problem);
}

/* What the residuals up to `step` say when it is the end of a window. */
static stencil_reason judge_window(const run *r, int64_t step) {
    const stencil_report *report = r->report;
    return stencil_schedule_has_criterion(&r->schedule) && step > 0 && step % r->window == 0 &&
                   stencil_stagnated(report->residual, report->residual_step, report->history_count,
                                     r->window, step)
               ? STENCIL_REASON_STAGNATED
               : STENCIL_REASON_NONE;
}

/* Takes up the count of earlier runs. Where those have met a criterion, or stagnated, this run is over before
 * its first step. */
static stencil_status resume(run *r) {
    const stencil_origin *origin = &r->problem->origin;
    stencil_report *report = r->report;
    int64_t count = origin->history_count;
    report->steps = report->steps_before = origin->steps;
    /* A run that goes on would not have checked the step in which an earlier one has ended. */
    if (origin->last_is_extra && origin->steps < r->problem->stop.steps)
        count--;
    for (int64_t i = 0; i < count; i++)
        TRY(stencil_report_add(report, origin->residual_step[i], origin->residual[i]));
    if (origin->steps == 0)
        return STENCIL_OK;
    report->residual_first = origin->residual_first; /* kept for later runs, whatever this one asks for */
    if (stencil_stop_has_criterion(&r->problem->stop) && !isnan(origin->residual_first))
        set_criteria(r, origin->residual_first);
    if (origin->residual_first == 0 && stencil_stop_has_criterion(&r->problem->stop))
        report->reason = STENCIL_REASON_FIXED_POINT;
    else if (count > 0)
        report->reason = stencil_schedule_decide(&r->schedule, report->residual[count - 1]);
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = judge_window(r, origin->steps);
    return STENCIL_OK;
}

/* Observers of the driver's own. The history that a batch can keep is full: */
static int64_t next_full(void *context, int64_t step) {
    const run *r = context;
    int64_t steps = 0;
    const bool is_near = stencil_multiply(r->schedule.check_every, STENCIL_CHECKS_MAX - 1, &steps);
    return is_near && steps < INT64_MAX - step ? step + steps : INT64_MAX;
}

/* A test wants a launch of its own; so does a launch that has no room for more weights. */
static int64_t next_launch(void *context, int64_t step) {
    const int64_t steps = ((const run *)context)->plan->patience.steps_per_launch;
    return steps > 0 ? step + steps : INT64_MAX;
}

/* A window of stagnation ends. */
static int64_t next_window(void *context, int64_t step) {
    const run *r = context;
    return stencil_stop_has_criterion(&r->problem->stop) ? step + r->window - step % r->window : INT64_MAX;
}

static stencil_status at_window(void *context, stencil_report *report) {
    report->reason = judge_window(context, report->steps);
    return STENCIL_OK;
}

/* The next batch ends where the first observer wants to look. */
static stencil_batch next_batch(const run *r) {
    const int64_t step = r->report->steps;
    int64_t end = r->problem->stop.steps;
    for (int i = 0; i < r->observers.count; i++) {
        const stencil_observer *o = &r->observers.item[i];
        const int64_t next = o->next != NULL ? o->next(o->context, step) : INT64_MAX;
        end = next < end ? next : end;
    }
    return (stencil_batch){step, end - step, &r->observers};
}

/* The outcome becomes part of the report. */
static stencil_status keep_outcome(run *r, const stencil_batch *batch, const stencil_schedule *schedule) {
    const stencil_outcome *outcome = &r->outcome;
    int64_t step = batch->first;
    for (int64_t i = 0; i < outcome->checks; i++) {
        step = stencil_schedule_next(schedule, step);
        TRY(stencil_report_add(r->report, step, outcome->residual[i]));
    }
    r->report->steps += outcome->steps;
    r->report->reason = outcome->reason;
    return STENCIL_OK;
}

static stencil_status make_batch(run *r, const stencil_batch *batch, const stencil_schedule *schedule) {
    r->outcome = (stencil_outcome){.residual = r->outcome.residual};
    if (r->cpu != NULL) {
        r->cpu->schedule = *schedule;
        TRY(r->strategy->batch_cpu(r->cpu, batch, &r->outcome));
    }
#ifdef STENCIL_HAVE_CUDA
    if (r->team != NULL) {
        double time_s = 0;
        stencil_gpu_set_schedule(r->team, schedule);
        TRY(r->strategy->batch_gpu(r->team, batch, &r->outcome));
        TRY(stencil_gpu_time_s(r->team, &time_s));
        r->report->compute_s += time_s;
    }
#endif
    return keep_outcome(r, batch, schedule);
}

/* Calls who wanted to look where the batch has ended, and polls all. */
static stencil_status observe(run *r, const stencil_batch *batch) {
    stencil_report *report = r->report;
    for (int i = 0; i < r->observers.count && report->reason == STENCIL_REASON_NONE; i++) {
        const stencil_observer *o = &r->observers.item[i];
        if (o->at != NULL && o->next(o->context, batch->first) == report->steps)
            TRY(o->at(o->context, report));
    }
    const double last = r->outcome.checks > 0 ? r->outcome.residual[r->outcome.checks - 1] : NAN;
    if (!stencil_batch_poll(batch, report->steps, last) && report->reason == STENCIL_REASON_NONE &&
        report->steps < r->problem->stop.steps)
        report->reason = STENCIL_REASON_INTERRUPTED;
    return STENCIL_OK;
}

/* The first step by itself: its residual is what rtol is relative to. It is an entry of the history only
 * where it would have been checked anyway. */
static stencil_status first_step(run *r) {
    stencil_report *report = r->report;
    const stencil_batch batch = {report->steps, 1, &r->observers};
    const bool checked = stencil_schedule_checks(&r->schedule, batch.first + 1);
    stencil_schedule schedule = r->schedule;
    schedule.check_step = batch.first + 1;
    TRY(make_batch(r, &batch, &schedule));
    const double residual = report->residual[report->history_count - 1];
    report->history_count -= !checked;
    set_criteria(r, residual < r->source_norm ? r->source_norm : residual);
    if (residual == 0)
        report->reason = STENCIL_REASON_FIXED_POINT;
    else if (checked && report->reason == STENCIL_REASON_NONE)
        report->reason = stencil_schedule_decide(&r->schedule, residual);
    return STENCIL_OK;
}

/* The one loop around all time loops. */
static stencil_status drive(run *r) {
    stencil_report *report = r->report;
    while (report->reason == STENCIL_REASON_NONE && report->steps < r->problem->stop.steps) {
        if (stencil_stop_has_criterion(&r->problem->stop) && isnan(report->residual_first)) {
            TRY(first_step(r));
            continue;
        }
        const stencil_batch batch = next_batch(r);
        TRY(make_batch(r, &batch, &r->schedule));
        TRY(observe(r, &batch));
    }
    return STENCIL_OK;
}

/* Whether a field that no longer changes is what was asked for: rounding alone can make u' = u. */
static bool fixed_point_is_solution(const run *r, const stencil_defect *defect) {
    const double asked = fmax(r->problem->stop.rtol * r->report->residual_first, r->problem->stop.atol);
    return defect == NULL || defect->norm <= asked / r->problem->spec.omega + defect->rounding;
}

/* What the end means, from the field as it is now. */
static stencil_status judge_end(run *r) {
    stencil_report *report = r->report;
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = stencil_stop_has_criterion(&r->problem->stop) ? STENCIL_REASON_NOT_CONVERGED
                                                                       : STENCIL_REASON_STEPS;
    const bool relaxes = stencil_stop_has_criterion(&r->problem->stop) && stencil_problem_relaxes(r->problem);
    stencil_defect values;
    const stencil_defect *defect = relaxes ? &values : NULL;
    if (relaxes) {
        TRY(stencil_defect_of(r->problem, &values));
        report->bound = stencil_error_bound_of(r->problem, &values);
    }
    const double last = report->history_count > 0 ? report->residual[report->history_count - 1] : NAN;
    if (report->reason == STENCIL_REASON_STAGNATED)
        report->stagnation = stencil_stagnation_of(r->problem, defect, last, report->residual_first);
    report->reached = report->reason == STENCIL_REASON_STEPS ||
                      report->reason == STENCIL_REASON_CONVERGED_RTOL ||
                      report->reason == STENCIL_REASON_CONVERGED_ATOL ||
                      (report->reason == STENCIL_REASON_FIXED_POINT && fixed_point_is_solution(r, defect));
    return STENCIL_OK;
}

static stencil_status run_cpu(run *r) {
    stencil_report *report = r->report;
    stencil_cpu cpu;
    const double start_s = stencil_clock_s();
    TRY(stencil_cpu_create(&cpu, r->problem, r->plan));
    r->cpu = &cpu;
    const double ready_s = stencil_clock_s();
    const stencil_status status = drive(r);
    const double done_s = stencil_clock_s();
    if (status == STENCIL_OK)
        stencil_cpu_finish(&cpu, r->problem, report->steps);
    stencil_cpu_report(&cpu, report);
    stencil_cpu_destroy(&cpu);
    report->prepare_s = ready_s - start_s;
    report->compute_s = done_s - ready_s;
    report->finish_s = stencil_clock_s() - done_s;
    return status;
}

#ifdef STENCIL_HAVE_CUDA
static stencil_status run_created(run *r) {
    stencil_gpu_team *team = r->team;
    const double start_s = stencil_clock_s();
    if (r->strategy->open_gpu != NULL)
        TRY(r->strategy->open_gpu(team));
    r->report->prepare_s += stencil_clock_s() - start_s;
    TRY(drive(r));
    const double done_s = stencil_clock_s();
    TRY(stencil_gpu_finish(team, r->problem, r->report->steps));
    r->report->finish_s = stencil_clock_s() - done_s;
    return STENCIL_OK;
}

static stencil_status run_gpu(run *r) {
    stencil_report *report = r->report;
    stencil_gpu_team *team = malloc(sizeof *team);
    CHECK(team != NULL, NO_MEMORY, "no memory for a run");
    const double start_s = stencil_clock_s();
    stencil_status status = stencil_gpu_create(team, r->plan, r->problem);
    if (status == STENCIL_OK) {
        report->prepare_s = stencil_clock_s() - start_s;
        team->after_step = r->strategy->after_step;
        r->team = team;
        status = run_created(r);
        if (r->strategy->close_gpu != NULL)
            r->strategy->close_gpu(team);
        stencil_gpu_destroy(team);
    }
    free(team);
    return status;
}
#else
static stencil_status run_gpu(run *r) {
    FAIL(UNAVAILABLE, "--sync %s on a GPU: built without CUDA", stencil_strategy_at(r->plan->strategy).name);
}
#endif

/* Changes are some 1e-20 of the values before a run ends, and the norm l2 squares them. */
static stencil_status check_range(const stencil_problem *problem) {
    if (!stencil_stop_has_criterion(&problem->stop) || problem->stop.norm != STENCIL_NORM_L2)
        return STENCIL_OK;
    double largest = stencil_field_largest(&problem->u);
    if (problem->b.data != NULL)
        largest = fmax(largest, stencil_field_largest(&problem->b));
    CHECK(
        largest == 0 || !isfinite(largest) || (largest > 1e-130 && largest < 1e150), BAD_DATA,
        "the largest value is %g: the norm l2 squares changes, which would leave the range of numbers; give "
        "--norm max, or scale the field",
        largest);
    return STENCIL_OK;
}

/* The field as it is read, up to its stop. */
static stencil_status run_steps(run *r) {
    const bool on_gpu = r->plan->backend == STENCIL_BACKEND_GPU;
    r->outcome.residual = malloc(STENCIL_CHECKS_MAX * sizeof *r->outcome.residual);
    CHECK(r->outcome.residual != NULL, NO_MEMORY, "no memory for a run");
    stencil_field_fill_rims(&r->problem->u, r->problem->boundary, r->problem->radius);
    const stencil_status status = (on_gpu ? run_gpu : run_cpu)(r);
    free(r->outcome.residual);
    return status;
}

stencil_status stencil_run(stencil_problem *problem, const stencil_plan *plan,
                           const stencil_observers *observers, stencil_report *report) {
    run r = {
        .problem = problem, .plan = plan, .strategy = stencil_strategy_row(plan->strategy), .report = report};
    stencil_observer observer[OBSERVERS_MAX] = {
        {&r, .next = next_full}, {&r, .next = next_launch}, {&r, .next = next_window, .at = at_window}};
    r.observers = (stencil_observers){observer, OWN_OBSERVERS};
    for (int i = 0; observers != NULL && i < observers->count; i++) {
        CHECK(r.observers.count < OBSERVERS_MAX, INTERNAL, "too many observers");
        observer[r.observers.count++] = observers->item[i];
    }
    snprintf(report->strategy, sizeof report->strategy, "%s", stencil_strategy_at(plan->strategy).name);
    snprintf(report->backend, sizeof report->backend, "%s",
             plan->backend == STENCIL_BACKEND_GPU ? "gpu" : "cpu");
    snprintf(report->device, sizeof report->device, "%s", plan->device);
    report->updated_cells = stencil_problem_updated_cells(problem);
    report->bytes_per_cell = stencil_sweep_traffic(plan->sweep, problem);
    TRY(check_range(problem));
    start_schedule(&r);
    TRY(resume(&r));
    if (stencil_stop_has_criterion(&problem->stop) && problem->spec.kind == STENCIL_KIND_POISSON)
        TRY(stencil_source_norm(problem, &r.source_norm));
    if (report->reason == STENCIL_REASON_NONE && report->steps < problem->stop.steps)
        TRY(run_steps(&r));
    return judge_end(&r);
}
