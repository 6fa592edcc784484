#include "solver/drive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/cycle.h"
#include "solver/sweep.h"

/* From now on `first` is known. */
static void set_criteria(stencil_run *r, double first) {
    const stencil_stop *stop = &r->problem->stop;
    r->report->residual_first = first;
    r->report->threshold = fmax(stop->rtol * first, stop->atol);
    r->schedule.under_rtol = r->last_omega * (stop->rtol * first); /* time loops know changes only */
    r->schedule.under_atol = r->last_omega * stop->atol;
}

static void start_schedule(stencil_run *r) {
    const stencil_stop *stop = &r->problem->stop;
    r->schedule = (stencil_schedule){.check_every = stop->check_every,
                                     .check_step = stop->steps,
                                     .under_rtol = NAN,
                                     .under_atol = NAN,
                                     .norm = stop->norm,
                                     .updated_cells = stencil_problem_updated_cells(r->problem)};
    r->report->residual_first = r->report->threshold = NAN;
    r->window = stencil_stagnation_window(r->problem);
    r->last_omega = stencil_cycle_omega_last(r->problem);
}

/* What the residuals up to `step` say when it is the end of a window. */
static stencil_reason judge_window(const stencil_run *r, int64_t step) {
    return stencil_schedule_has_criterion(&r->schedule) && step > 0 && step % r->window == 0 &&
                   stencil_stagnated(&r->report->history, r->window, step)
               ? STENCIL_REASON_STAGNATED
               : STENCIL_REASON_NONE;
}

/* Takes up the count of earlier runs. Where those have met a criterion, or stagnated, this run is over before
 * its first step. */
static stencil_status resume(stencil_run *r) {
    const stencil_origin *origin = &r->problem->origin;
    stencil_report *report = r->report;
    const stencil_history *history = &origin->history;
    int64_t count = history->count;
    report->steps = report->steps_before = origin->steps;
    /* A run that goes on would not have checked the step in which an earlier one has ended. */
    if (origin->last_is_extra && origin->steps < r->problem->stop.steps)
        count--;
    for (int64_t i = 0; i < count; i++)
        TRY(stencil_history_add(&report->history, history->step[i], history->residual[i]));
    if (origin->steps == 0)
        return STENCIL_OK;
    report->residual_first = origin->residual_first; /* kept for later runs, whatever this one asks for */
    if (stencil_stop_has_criterion(&r->problem->stop) && !isnan(origin->residual_first))
        set_criteria(r, origin->residual_first);
    if (origin->residual_first == 0 && stencil_stop_has_criterion(&r->problem->stop))
        report->reason = STENCIL_REASON_FIXED_POINT;
    else if (count > 0)
        report->reason =
            stencil_schedule_decide(&r->schedule, r->last_omega * stencil_history_last(&report->history));
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = judge_window(r, origin->steps);
    return STENCIL_OK;
}

/* Where an observer looks next: most see the cells, which in mid-cycle are no approximation of anything. */
static int64_t next_of(const stencil_run *r, const stencil_observer *o, int64_t step) {
    const int64_t next = o->next(o->context, step);
    return o->any_step ? next : stencil_cycle_end(r->problem, next);
}

static bool in_cycle(const stencil_run *r, int64_t step) {
    return stencil_cycle_end(r->problem, step) != step;
}

/* Polls the observers for strategies that make cycles of steps: who wants the end gets it at the end of the
 * cycle, where batches end, or, where cells were kept, within a second. */
static bool poll_between(void *context, int64_t step, double residual) {
    static const double patience_s = 1.0;
    stencil_run *r = context;
    const stencil_batch all = {.observers = &r->observers};
    const bool goes_on = stencil_batch_poll(&all, step, residual / r->last_omega);
    if (!goes_on && r->asked_s == 0)
        r->asked_s = stencil_clock_s();
    return r->asked_s == 0 || r->kept_steps < 0 || stencil_clock_s() - r->asked_s < patience_s;
}

/* Before the first step of a cycle: its cells are kept as long as cycles take long enough for that. */
static stencil_status keep_cells(stencil_run *r) {
    static const double long_s = 0.5;
    const int64_t step = r->report->steps;
    const double now_s = stencil_clock_s();
    if (!r->keeps || in_cycle(r, step))
        return STENCIL_OK;
    if (r->kept_steps >= 0) {
        const double cycles = (double)(step - r->kept_steps) / r->problem->cycle.length;
        r->keeps = now_s - r->kept_s > long_s * cycles;
    }
    r->kept_steps = -1;
    if (!r->keeps) {
        stencil_field_destroy(&r->kept);
        return STENCIL_OK;
    }
    if (r->kept.data == NULL)
        TRY(stencil_field_create(&r->kept, &r->problem->layout, "the field at the last end of a cycle"));
    const stencil_box array = stencil_mesh_array(&r->plan->cut.mesh);
    const stencil_cells all = stencil_field_cells(&r->kept), to = stencil_cells_from(&all, array.first);
    TRY(stencil_run_read(r, STENCIL_ARRAY_U, &array, &to));
    r->kept_steps = step;
    r->kept_s = stencil_clock_s();
    return STENCIL_OK;
}

/* A run that was left in mid-cycle is back where the cycle began. */
static stencil_status give_back(stencil_run *r) {
    stencil_fields fields = {&r->kept, NULL};
    const stencil_reader kept = {stencil_fields_read, &fields};
    TRY(stencil_run_load_u(r, &kept));
    r->report->steps = r->kept_steps;
    return STENCIL_OK;
}

/* The next batch ends where the first observer wants to look; where its history would be full; where a test,
 * or a launch that has no room for more weights, wants a launch of its own; where a window of stagnation
 * ends; at the first end of a cycle behind the steps of a poll. */
static stencil_batch next_batch(const stencil_run *r) {
    const int64_t step = r->report->steps, launch = r->plan->wait.steps_per_launch;
    int64_t count = r->problem->stop.steps - step, full = 0;
    if (stencil_multiply(r->schedule.check_every, STENCIL_CHECKS_MAX - 1, &full))
        count = stencil_smaller(count, full);
    if (launch > 0)
        count = stencil_smaller(count, launch);
    if (stencil_stop_has_criterion(&r->problem->stop))
        count = stencil_smaller(count, r->window - step % r->window);
    for (int i = 0; i < r->observers.count; i++) {
        const stencil_observer *o = &r->observers.item[i];
        if (o->next != NULL)
            count = stencil_smaller(count, next_of(r, o, step) - step);
    }
    if (r->polled == &r->own)
        count = stencil_smaller(count, stencil_cycle_end(r->problem, step + r->plan->poll_every) - step);
    return (stencil_batch){step, count, r->polled, r->from};
}

/* The outcome becomes part of the report. */
static stencil_status keep_outcome(stencil_run *r, const stencil_batch *batch,
                                   const stencil_schedule *schedule) {
    const stencil_outcome *outcome = &r->outcome;
    int64_t step = batch->first;
    for (int64_t i = 0; i < outcome->checks; i++) {
        step = stencil_schedule_next(schedule, step);
        const double residual = outcome->residual[i] / stencil_cycle_omega(r->problem, step - 1);
        TRY(stencil_history_add(&r->report->history, step, residual));
    }
    r->report->steps += outcome->steps;
    r->report->reason = outcome->reason;
    return STENCIL_OK;
}

stencil_status stencil_run_batch(stencil_run *r, const stencil_batch *batch, const stencil_schedule *schedule,
                                 double *time_s) {
    const stencil_strategy *strategy = r->strategy;
    r->outcome = (stencil_outcome){.residual = r->outcome.residual};
    if (r->cpu != NULL) {
        const double start_s = stencil_clock_s();
        r->cpu->schedule = *schedule;
        TRY((strategy->batch_cpu != NULL ? strategy->batch_cpu : stencil_host_loop_cpu)(r->cpu, batch,
                                                                                        &r->outcome));
        *time_s = stencil_clock_s() - start_s;
    }
#ifdef STENCIL_HAVE_CUDA
    if (r->gpu != NULL) {
        stencil_gpu_set_schedule(r->gpu, schedule);
        TRY((strategy->batch_gpu != NULL ? strategy->batch_gpu : stencil_host_loop_gpu)(r->gpu, batch,
                                                                                        &r->outcome));
        TRY(stencil_gpu_time_s(r->gpu, time_s));
    }
#endif
    return STENCIL_OK;
}

stencil_run_sides stencil_run_sides_of(const stencil_run *r) {
    return (stencil_run_sides){.problem = r->problem,
                               .plan = r->plan,
                               .strategy = r->strategy,
                               .schedule = &r->schedule,
                               .outcome = &r->outcome,
                               .cpu = r->cpu,
                               .gpu = r->gpu,
                               .steps = r->steps};
}

static stencil_status make_batch(stencil_run *r, const stencil_batch *batch,
                                 const stencil_schedule *schedule) {
    double time_s = 0;
    TRY(stencil_run_batch(r, batch, schedule, &time_s));
    r->report->compute_s += time_s;
    r->from = stencil_batch_end(batch, schedule, r->plan->depth, r->outcome.steps);
    return keep_outcome(r, batch, schedule);
}

/* Judges a window that has ended with the batch, calls who wanted to look there, and polls all. */
static stencil_status observe(stencil_run *r, const stencil_batch *batch) {
    stencil_report *report = r->report;
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = judge_window(r, report->steps);
    for (int i = 0; i < r->observers.count && report->reason == STENCIL_REASON_NONE; i++) {
        const stencil_observer *o = &r->observers.item[i];
        if (o->at != NULL && next_of(r, o, batch->first) == report->steps)
            TRY(o->at(o->context, report));
    }
    const double last = r->outcome.checks > 0 ? r->outcome.residual[r->outcome.checks - 1] : NAN;
    const bool goes_on = stencil_batch_poll(batch, report->steps, last);
    if ((!goes_on || (r->asked_s > 0 && !in_cycle(r, report->steps))) &&
        report->reason == STENCIL_REASON_NONE && report->steps < r->problem->stop.steps)
        report->reason = STENCIL_REASON_INTERRUPTED;
    return STENCIL_OK;
}

/* The first step by itself: its residual is what rtol is relative to. It is an entry of the history only
 * where it would have been checked anyway. */
static stencil_status first_step(stencil_run *r) {
    stencil_report *report = r->report;
    const stencil_batch batch = {report->steps, 1, r->polled, r->from};
    const bool checked = stencil_schedule_checks(&r->schedule, batch.first + 1);
    stencil_schedule schedule = r->schedule;
    schedule.check_step = batch.first + 1;
    TRY(make_batch(r, &batch, &schedule));
    const double residual = stencil_history_last(&report->history);
    report->history.count -= !checked;
    set_criteria(r, residual < r->source_norm ? r->source_norm : residual);
    if (residual == 0)
        report->reason = STENCIL_REASON_FIXED_POINT;
    else if (checked && report->reason == STENCIL_REASON_NONE)
        report->reason = stencil_schedule_decide(&r->schedule, r->last_omega * residual);
    return STENCIL_OK;
}

/* The one loop around all time loops. */
static stencil_status drive(stencil_run *r) {
    stencil_report *report = r->report;
    while (report->reason == STENCIL_REASON_NONE && report->steps < r->problem->stop.steps) {
        TRY(keep_cells(r));
        if (stencil_stop_has_criterion(&r->problem->stop) && isnan(report->residual_first)) {
            TRY(first_step(r));
            continue;
        }
        r->schedule.checked_most = stencil_sweep_checked_most(r->plan, r->problem);
        const stencil_batch batch = next_batch(r);
        TRY(make_batch(r, &batch, &r->schedule));
        TRY(observe(r, &batch));
    }
    return report->reason == STENCIL_REASON_INTERRUPTED && in_cycle(r, report->steps) ? give_back(r)
                                                                                      : STENCIL_OK;
}

/* Whether a field that no longer changes is what was asked for: rounding alone can make u' = u. */
static bool fixed_point_is_solution(const stencil_run *r, const stencil_defect *defect) {
    const double asked = fmax(r->problem->stop.rtol * r->report->residual_first, r->problem->stop.atol);
    return defect == NULL || defect->norm <= asked / r->problem->spec.omega + defect->rounding;
}

static stencil_status take_largest(void *context, const stencil_box *slab, const stencil_cells *cells) {
    double *largest = context;
    *largest = fmax(*largest, stencil_cells_largest(cells, slab->n));
    return STENCIL_OK;
}

/* What the end means, from the cells as they are now. */
static stencil_status judge_end(stencil_run *r) {
    stencil_report *report = r->report;
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = stencil_stop_has_criterion(&r->problem->stop) ? STENCIL_REASON_NOT_CONVERGED
                                                                       : STENCIL_REASON_STEPS;
    const bool relaxes = stencil_stop_has_criterion(&r->problem->stop) && stencil_problem_relaxes(r->problem);
    const stencil_reader cells = {stencil_run_read, r};
    if (r->cpu != NULL && stencil_report_steps_done(report) > 0)
        TRY(stencil_boxes_subnormal(&cells, &r->plan->cut.mesh, &report->subnormal));
    stencil_defect values;
    const stencil_defect *defect = relaxes ? &values : NULL;
    if (relaxes) {
        TRY(stencil_defect_of(r->problem, &cells, &values));
        report->bound = stencil_error_bound_of(r->problem, &values);
    }
    if (report->reason == STENCIL_REASON_STAGNATED) {
        const stencil_slabs slabs = {.from = &cells, .mesh = &r->plan->cut.mesh, .array = STENCIL_ARRAY_U};
        const stencil_box array = stencil_mesh_array(slabs.mesh);
        double largest = 0;
        TRY(stencil_slabs_visit(&slabs, &array, take_largest, &largest));
        report->stagnation = stencil_stagnation_of(
            r->problem, defect, largest, stencil_history_last(&report->history), report->residual_first);
    }
    report->reached = report->reason == STENCIL_REASON_STEPS ||
                      report->reason == STENCIL_REASON_CONVERGED_RTOL ||
                      report->reason == STENCIL_REASON_CONVERGED_ATOL ||
                      (report->reason == STENCIL_REASON_FIXED_POINT && fixed_point_is_solution(r, defect));
    return STENCIL_OK;
}

static void describe(const stencil_run *r, stencil_report *report) {
    snprintf(report->strategy, sizeof report->strategy, "%s", stencil_strategy_at(r->plan->strategy).name);
    snprintf(report->backend, sizeof report->backend, "%s", stencil_backend_names[r->plan->backend]);
    snprintf(report->device, sizeof report->device, "%s", r->plan->device);
    report->updated_cells = stencil_problem_updated_cells(r->problem);
    report->bytes_per_cell = stencil_sweep_traffic(r->plan, r->problem);
    report->read_s = r->read_s;
    report->prepare_s = r->prepare_s;
}

stencil_status stencil_run_drive(stencil_run *r, const stencil_observers *observers, stencil_report *report) {
    r->report = report;
    r->observers = observers != NULL ? *observers : (stencil_observers){0};
    r->between = (stencil_observer){.context = r, .poll = poll_between};
    r->own = (stencil_observers){&r->between, 1};
    r->polled = stencil_cycle_end(r->problem, 1) > 1 ? &r->own : &r->observers;
    r->keeps = r->plan->keeps_cycle;
    r->kept_steps = -1;
    r->asked_s = 0;
    start_schedule(r);
    TRY(resume(r));
    const double ready_s = stencil_clock_s(), prepare_s = r->prepare_s;
    TRY(drive(r));
    const double done_s = stencil_clock_s();
    r->steps = report->steps;
    report->replan_s = r->prepare_s - prepare_s;
    report->drive_s = done_s - ready_s - report->replan_s;
    describe(r, report);
    if (r->cpu != NULL && report->steps > report->steps_before) {
        report->compute_s = report->drive_s;
        stencil_cpu_report(r->cpu, report);
    }
    TRY(judge_end(r));
    report->finish_s = stencil_clock_s() - done_s;
    return STENCIL_OK;
}
