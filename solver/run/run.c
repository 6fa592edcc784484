#include "solver/run/drive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/bounds.h"
#include "solver/problem/cycle.h"
#include "solver/problem/factors.h"
#include "solver/plan/sweep.h"

/* Sets the stopping criteria, which are relative to the residual `first` of step 1, see stencil_stop. */
static void set_criteria(stencil_run *r, double first) {
    const stencil_stop *stop = &r->problem->stop;
    r->report->residual_first = first;
    r->report->threshold = fmax(stop->rtol * first, stop->atol);
    /* kernels compare changes of scaled cells with the criteria, not residuals */
    r->schedule.under_rtol = ldexp(r->last_omega * (stop->rtol * first), r->exponent);
    r->schedule.under_atol = ldexp(r->last_omega * stop->atol, r->exponent);
    r->turn_first = stencil_turn_first(r->problem, first, r->report->threshold);
}

/* Converts a change u' - u, as kernels sum it over cells scaled by a power of two, to a residual; decide()
 * converts a residual back and compares it with the criteria. */
static double residual_of(const stencil_run *r, double change, double omega) {
    return ldexp(change, -r->exponent) / omega;
}
static stencil_reason decide(const stencil_run *r, double residual) {
    return stencil_schedule_decide(&r->schedule, ldexp(r->last_omega * residual, r->exponent));
}

static void start_schedule(stencil_run *r) {
    const stencil_stop *stop = &r->problem->stop;
    r->schedule = (stencil_schedule){.check_every = stop->check_every,
                                     .check_step = stop->steps,
                                     .under_rtol = NAN,
                                     .under_atol = NAN,
                                     .norm = stop->norm,
                                     .updated_cells = stencil_problem_updated_cells(r->problem)};
    r->report->residual_first = r->report->threshold = r->report->resolution = NAN;
    r->report->plain_from = -1;
    r->turn_first = INT64_MAX;
    r->window = stencil_stagnation_window(r->problem);
    r->constant_window = stencil_constant_window(r->problem);
    r->last_omega = stencil_cycle_omega(r->problem, r->problem->cycle.length - 1);
}

/* Tells whether the residuals have stagnated if `step` ends a window of stagnation; never in accelerated
 * problems, which change to plain steps first, see turns_plain(). */
static stencil_reason judge_window(const stencil_run *r, int64_t step) {
    const stencil_history *history = &r->report->history;
    if (!stencil_schedule_has_criterion(&r->schedule) || step <= 0 || r->accelerated)
        return STENCIL_REASON_NONE;
    const bool still = step % r->window == 0 && stencil_stagnated(history, r->window, step),
               repeats =
                   step % r->constant_window == 0 && stencil_is_constant(history, r->constant_window, step);
    return still || repeats ? STENCIL_REASON_STAGNATED : STENCIL_REASON_NONE;
}

/* Continues the step count and the residuals of earlier runs, which may leave no step to this run. */
static stencil_status resume(stencil_run *r) {
    const stencil_origin *origin = &r->problem->origin;
    stencil_report *report = r->report;
    const stencil_history *history = &origin->history;
    int64_t count = history->count;
    report->steps = report->steps_before = origin->steps;
    /* A last step that was checked only because the earlier run ended there is dropped from the history. */
    if (origin->last_is_extra && origin->plain_from < 0 && origin->steps < r->problem->stop.steps)
        count--;
    for (int64_t i = 0; i < count; i++)
        TRY(stencil_history_add(&report->history, history->step[i], history->residual[i]));
    if (origin->steps == 0)
        return STENCIL_OK;
    report->residual_first = origin->residual_first; /* kept for later runs, with or without a criterion */
    if (stencil_stop_has_criterion(&r->problem->stop) && !isnan(origin->residual_first))
        set_criteria(r, origin->residual_first);
    if (origin->residual_first == 0 && stencil_stop_has_criterion(&r->problem->stop))
        report->reason = STENCIL_REASON_FIXED_POINT;
    else if (count > 0)
        report->reason = decide(r, stencil_history_last(&report->history));
    report->plain_from = origin->plain_from;
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = origin->plain_from >= 0 ? STENCIL_REASON_STAGNATED : judge_window(r, origin->steps);
    return STENCIL_OK;
}

/* Returns the next step at which the observer is called: the end of a cycle unless any step will do. */
static int64_t next_of(const stencil_run *r, const stencil_observer *o, int64_t step) {
    const int64_t next = o->next(o->context, step);
    return o->any_step ? next : stencil_cycle_end(r->problem, next);
}

static bool in_cycle(const stencil_run *r, int64_t step) {
    return stencil_cycle_end(r->problem, step) != step;
}

static bool wants_pause(const stencil_observer *o) {
    return o->wants != NULL && o->wants(o->context);
}

static stencil_world *world_of(const stencil_run *r) {
    return r->on.plan->world;
}

/* Wishes at a poll, which all ranks tell each other at the same steps. */
typedef struct wishes {
    bool ends, pauses;
} wishes;

static wishes agree_on(const stencil_run *r, wishes own) {
    const uint64_t ends = UINT64_C(1) << STENCIL_OBSERVER_BITS, pauses = ends << 1;
    if (stencil_world_alone(world_of(r)))
        return own;
    const uint64_t all =
        stencil_world_any(world_of(r), stencil_observers_say(&r->observers) | (own.ends ? ends : 0) |
                                           (own.pauses ? pauses : 0));
    stencil_observers_hear(&r->observers, all & (ends - 1));
    return (wishes){(all & ends) != 0, (all & pauses) != 0};
}

/* Tells whether an accelerated run that was asked to end goes on with its cycle, by the clock of rank 0. */
static bool finishes_cycle(const stencil_run *r) {
    static const double patience_s = 1.0;
    const bool over = stencil_world_leads(world_of(r)) && stencil_clock_s() - r->asked_s >= patience_s;
    return stencil_world_any(world_of(r), over) == 0;
}

/* Polls the observers, passing the residual that belongs to the change which a time loop found; false ends
 * the batch, for the end of the run or a pause. An accelerated run that is asked to end does so with its
 * cycle or, if cells were kept, within a second; its batches end often enough for pauses. */
static bool poll_between(void *context, int64_t step, double residual) {
    stencil_run *r = context;
    const bool goes_on = stencil_observers_poll(&r->observers, step, residual_of(r, residual, r->last_omega)),
               leads = stencil_world_leads(world_of(r));
    bool pauses = false;
    for (int i = 0; i < r->observers.count && !r->accelerated && leads; i++)
        pauses = wants_pause(&r->observers.item[i]) || pauses;
    const wishes all = agree_on(r, (wishes){!goes_on, pauses});
    r->ends = r->ends || all.ends;
    if (!r->accelerated)
        return !r->ends && !all.pauses;
    if (all.ends && r->asked_s == 0)
        r->asked_s = stencil_clock_s();
    return r->asked_s == 0 || r->kept_steps < 0 || finishes_cycle(r);
}

/* Tells whether cycles that were kept so far have taken long enough, by the clock of rank 0. */
static bool keeping_pays(const stencil_run *r, int64_t step) {
    static const double long_s = 0.5;
    const double cycles = (double)(step - r->kept_steps) / r->problem->cycle.length;
    bool pays = stencil_clock_s() - r->kept_s > long_s * cycles;
    stencil_world_tell(world_of(r), 0, &pays, sizeof pays);
    return pays;
}

/* Saves the cells before the first step of a cycle, unless cycles are too short to make that worthwhile. */
static stencil_status keep_cells(stencil_run *r) {
    const int64_t step = r->report->steps;
    if (!r->keeps || in_cycle(r, step))
        return STENCIL_OK;
    if (r->kept_steps >= 0)
        r->keeps = keeping_pays(r, step);
    r->kept_steps = -1;
    if (!r->keeps) {
        stencil_field_destroy(&r->kept);
        return STENCIL_OK;
    }
    TRY(stencil_run_keep(r));
    r->kept_steps = step;
    r->kept_s = stencil_clock_s();
    return STENCIL_OK;
}

/* Restores the cells saved at the beginning of the cycle, for a run that was interrupted in mid-cycle. */
static stencil_status give_back(stencil_run *r) {
    TRY(stencil_run_restore(r));
    r->report->steps = r->kept_steps;
    return STENCIL_OK;
}

int64_t stencil_run_batch_most(const stencil_run *r, const stencil_schedule *schedule, int64_t step) {
    const int64_t launch = r->on.plan->wait.steps_per_launch;
    int64_t count = INT64_MAX, full = 0;
    if (stencil_multiply(schedule->check_every, STENCIL_CHECKS_MAX - 1, &full))
        count = full;
    if (launch > 0)
        count = stencil_smaller(count, launch);
    if (stencil_problem_in_time(r->problem))
        count = stencil_smaller(count, STENCIL_FACTOR_STEPS);
    if (stencil_stop_has_criterion(&r->problem->stop))
        count = stencil_smaller(stencil_smaller(count, r->window - step % r->window),
                                r->constant_window - step % r->constant_window);
    if (r->accelerated)
        count = stencil_smaller(count, stencil_cycle_end(r->problem, step + r->on.plan->poll_every) - step);
    return count;
}

/* Returns the most steps of a batch of a loop across ranks, which look at their observers between batches
 * only: as many as take a quarter of a second, by the batches so far. */
static int64_t patient_steps(const stencil_run *r) {
    static const double patience_s = 0.25;
    const stencil_report *report = r->report;
    if (!r->on.plan->spans_ranks)
        return INT64_MAX;
    if (report->made.steps == 0 || !(report->compute_s > 0))
        return r->on.plan->poll_every;
    const double steps = patience_s * (double)report->made.steps / report->compute_s;
    return steps > 1 ? (int64_t)fmin(steps, 1e15) : 1;
}

/* Returns the next batch. It ends at the first of: the last step of the run; the next call of an observer; a
 * full history; a launch limit of a test or of changing weights; the end of a window of stagnation; the next
 * checked step from turn_first on; the first end of a cycle after poll_every steps; the limit of a loop
 * across ranks. */
static stencil_batch next_batch(const stencil_run *r) {
    const int64_t step = r->report->steps;
    int64_t count =
        stencil_smaller(r->problem->stop.steps - step, stencil_run_batch_most(r, &r->schedule, step));
    if (r->turn_first < INT64_MAX) {
        const int64_t behind = step < r->turn_first ? r->turn_first - 1 : step;
        count = stencil_smaller(count, stencil_schedule_next(&r->schedule, behind) - step);
    }
    for (int i = 0; i < r->observers.count && stencil_world_leads(world_of(r)); i++) {
        const stencil_observer *o = &r->observers.item[i];
        if (o->next != NULL)
            count = stencil_smaller(count, next_of(r, o, step) - step);
    }
    count = stencil_smaller(count, patient_steps(r));
    stencil_world_tell(world_of(r), 0, &count, sizeof count);
    return (stencil_batch){step, count, &r->own, r->from};
}

/* Adds the steps and residuals of the last batch to the report. */
static stencil_status keep_outcome(stencil_run *r, const stencil_batch *batch,
                                   const stencil_schedule *schedule) {
    const stencil_outcome *outcome = &r->outcome;
    int64_t step = batch->first;
    for (int64_t i = 0; i < outcome->checks; i++) {
        step = stencil_schedule_next(schedule, step);
        const double residual =
            residual_of(r, outcome->residual[i], stencil_cycle_omega(r->problem, step - 1));
        TRY(stencil_history_add(&r->report->history, step, residual));
    }
    r->report->steps += outcome->steps;
    const bool pauses = outcome->reason == STENCIL_REASON_INTERRUPTED && !r->ends;
    r->report->reason = pauses ? STENCIL_REASON_NONE : outcome->reason;
    return STENCIL_OK;
}

stencil_status stencil_run_batch(stencil_run *r, const stencil_batch *batch, const stencil_schedule *schedule,
                                 double *time_s) {
    r->outcome = (stencil_outcome){.residual = r->outcome.residual};
    if (r->on.cpu != NULL) {
        const double start_s = stencil_clock_s();
        r->on.cpu->schedule = *schedule;
        r->on.cpu->trace.launch++;
        stencil_cpu_begin_batch(r->on.cpu, r->problem, batch->first, batch->count);
        const bool team = stencil_strategy_at(r->on.plan->strategy).team;
        TRY((team ? stencil_team_cpu : stencil_host_loop_cpu)(r->on.cpu, batch, &r->outcome));
        *time_s = stencil_clock_s() - start_s;
    }
#ifdef STENCIL_HAVE_CUDA
    if (r->on.gpu != NULL) {
        const int64_t illegal = r->on.plan->wait.illegal_step;
        r->on.gpu->part[0].args.mailbox->interrupt = 0; /* a pause may have ended the last batch */
        stencil_gpu_set_schedule(r->on.gpu, schedule);
        TRY(stencil_gpu_begin_batch(r->on.gpu, r->problem, batch->first, batch->count));
        if (illegal > batch->first && illegal <= batch->first + batch->count)
            TRY(stencil_gpu_break(r->on.gpu));
        const stencil_strategy *strategy = r->on.gpu->strategy;
        TRY((strategy->batch_gpu != NULL ? strategy->batch_gpu : stencil_host_loop_gpu)(r->on.gpu, batch,
                                                                                        &r->outcome));
        TRY(stencil_gpu_time_s(r->on.gpu, time_s));
    }
#endif
    return STENCIL_OK;
}

static stencil_status make_batch(stencil_run *r, const stencil_batch *batch,
                                 const stencil_schedule *schedule) {
    double time_s = 0;
    TRY(stencil_run_batch(r, batch, schedule, &time_s));
    r->report->compute_s += time_s;
    r->report->made.batches++;
    r->report->made.checks += r->outcome.checks;
    r->report->made.steps += r->outcome.steps;
    r->from = stencil_batch_end(r->on.plan, batch, schedule, r->outcome.steps);
    const int64_t flip = r->on.plan->wait.flip_step;
    if (flip > 0 && batch->first + r->outcome.steps >= flip)
        TRY(stencil_run_flip(r));
    return keep_outcome(r, batch, schedule);
}

/* Fills in what a report says of the plan, its device and the time before the steps. */
static void describe(const stencil_run *r, stencil_report *report) {
    snprintf(report->strategy, sizeof report->strategy, "%s", stencil_strategy_at(r->on.plan->strategy).name);
    snprintf(report->backend, sizeof report->backend, "%s", stencil_backend_names[r->on.plan->backend]);
    snprintf(report->device, sizeof report->device, "%s", r->on.plan->device);
    report->cells = stencil_problem_cells(r->problem);
    report->bytes_per_cell = stencil_sweep_traffic(r->on.plan, r->problem);
    report->read_s = r->read_s;
    report->prepare_s = r->prepare_s;
}

/* Tells whether an observer is called after a batch. */
static bool is_called(const stencil_run *r, const stencil_observer *o, const stencil_batch *batch) {
    const bool due = o->next != NULL && next_of(r, o, batch->first) == r->report->steps;
    return o->at != NULL && (due || (!in_cycle(r, r->report->steps) && wants_pause(o)));
}

/* The end of a batch, for its observers. */
typedef struct ended {
    stencil_run *run;
    const stencil_batch *batch;
} ended;

static stencil_status call_observers(void *context) {
    const ended *e = context;
    stencil_run *r = e->run;
    stencil_report *report = r->report;
    for (int i = 0; i < r->observers.count && report->reason == STENCIL_REASON_NONE; i++) {
        const stencil_observer *o = &r->observers.item[i];
        if (!is_called(r, o, e->batch))
            continue;
        describe(r, report);
        TRY(o->at(o->context, report));
    }
    return STENCIL_OK;
}

/* Judges a window of stagnation that ends with the batch, and calls and polls the observers: in rank 0 if any
 * is to be called, since the cells of all ranks are read then. */
static stencil_status observe(stencil_run *r, const stencil_batch *batch) {
    stencil_report *report = r->report;
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = judge_window(r, report->steps);
    ended e = {r, batch};
    bool called = stencil_world_alone(world_of(r));
    for (int i = 0; i < r->observers.count && stencil_world_leads(world_of(r)); i++)
        called = called || is_called(r, &r->observers.item[i], batch);
    stencil_world_tell(world_of(r), 0, &called, sizeof called);
    if (called)
        TRY(stencil_run_lead(r, call_observers, &e, &report->reason, sizeof report->reason));
    const double last = r->outcome.checks > 0 ? r->outcome.residual[r->outcome.checks - 1] : NAN;
    const bool goes_on = stencil_observers_poll(batch->observers, report->steps, last);
    if (((!goes_on && r->ends) || (r->asked_s > 0 && !in_cycle(r, report->steps))) &&
        report->reason == STENCIL_REASON_NONE && report->steps < r->problem->stop.steps)
        report->reason = STENCIL_REASON_INTERRUPTED;
    return STENCIL_OK;
}

/* Makes the first step, whose residual rtol is relative to, but records only a checked residual. */
static stencil_status first_step(stencil_run *r) {
    stencil_report *report = r->report;
    const stencil_batch batch = {report->steps, 1, &r->own, r->from};
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
        report->reason = decide(r, residual);
    return STENCIL_OK;
}

/* Makes plain steps (omega = 1) up to step `end`, and checks the residual of that step only. */
static stencil_status make_plain_steps(stencil_run *r, int64_t end) {
    stencil_report *report = r->report;
    const int64_t launch = r->on.plan->wait.steps_per_launch;
    stencil_schedule schedule = r->schedule;
    schedule.check_step = end;
    schedule.check_every = INT64_MAX;
    stencil_sweep_schedule(r->on.plan, r->problem, &schedule);
    while (report->steps < end && report->reason == STENCIL_REASON_NONE) {
        const int64_t left = end - report->steps;
        const stencil_batch batch = {report->steps, launch > 0 ? stencil_smaller(left, launch) : left,
                                     &r->own, r->from};
        TRY(make_batch(r, &batch, &schedule));
    }
    return STENCIL_OK;
}

/* Ends an accelerated problem whose residual is dominated by rounding: plain steps remove most rounding
 * errors of the cycles, unless the residual is at the resolution of the precision already. */
static stencil_status end_plain(stencil_run *r) {
    stencil_report *report = r->report;
    const stencil_problem *problem = r->problem;
    stencil_defect defect;
    side before;
    TRY(stencil_run_find_defect(r, &defect));
    if (stencil_run_is_resolved(r, &defect) || report->steps >= problem->stop.steps) {
        report->reason = STENCIL_REASON_STAGNATED; /* stencil_run_judge() may change the reason */
        return STENCIL_OK;
    }
    r->plain = *problem;
    for (int i = 0; i < 2; i++) {
        r->plain_step[i].source_factor = 1.0;
        memcpy(r->plain_step[i].weight, problem->weight, sizeof problem->weight);
    }
    /* a cycle of length 2 makes the kernels read their weights from a table, as the plan expects */
    r->plain.cycle = (stencil_cycle){.length = 2, .given = r->plain_step};
    report->plain_from = report->steps;
    TRY(stencil_run_side_open(r, &r->plain, &before));
    r->last_omega = 1.0;
    set_criteria(r, report->residual_first);
    const stencil_status status = make_plain_steps(r, report->steps + problem->cycle.length);
    stencil_run_side_close(r, problem, &before);
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = STENCIL_REASON_STAGNATED;
    if (report->reason == STENCIL_REASON_INTERRUPTED)
        report->plain_from = -1;
    return status;
}

/* The outer loop of a run, which calls the time loop of the strategy for each batch. */
static stencil_status drive(stencil_run *r) {
    stencil_report *report = r->report;
    while (report->reason == STENCIL_REASON_NONE && report->steps < r->problem->stop.steps) {
        TRY(keep_cells(r));
        if (stencil_run_turns_plain(r)) {
            TRY(end_plain(r));
            break;
        }
        if (stencil_stop_has_criterion(&r->problem->stop) && isnan(report->residual_first)) {
            TRY(first_step(r));
            continue;
        }
        stencil_sweep_schedule(r->on.plan, r->problem, &r->schedule);
        const stencil_batch batch = next_batch(r);
        TRY(make_batch(r, &batch, &r->schedule));
        TRY(observe(r, &batch));
    }
    return report->reason == STENCIL_REASON_INTERRUPTED && in_cycle(r, report->steps) ? give_back(r)
                                                                                      : STENCIL_OK;
}

void stencil_run_skip_bound(stencil_run *r) {
    r->skips_bound = true;
}

stencil_status stencil_run_drive(stencil_run *r, const stencil_observers *observers, stencil_report *report) {
    r->report = report;
    r->steps = r->problem->origin.steps; /* loading the cells may have changed `origin` */
    r->from = (int)(r->steps % 2); /* loading fills both buffers, so the parity of the step count chooses */
    r->observers = observers != NULL ? *observers : (stencil_observers){0};
    r->between = (stencil_observer){.context = r, .poll = poll_between};
    r->own = (stencil_observers){&r->between, 1};
    r->accelerated = stencil_cycle_accelerates(&r->problem->cycle);
    r->keeps = r->on.plan->keeps_cycle;
    r->kept_steps = -1;
    r->asked_s = 0;
    r->ends = false;
    start_schedule(r);
    TRY(resume(r));
    const double ready_s = stencil_clock_s(), prepare_s = r->prepare_s;
    TRY(drive(r));
    const double done_s = stencil_clock_s();
    r->steps = report->steps;
    report->replan_s = r->prepare_s - prepare_s;
    report->drive_s = done_s - ready_s - report->replan_s;
    describe(r, report);
    if (r->on.cpu != NULL && report->steps > report->steps_before) {
        report->compute_s = report->drive_s;
        stencil_cpu_report(r->on.cpu, &report->stores);
    }
    TRY(stencil_run_judge(r));
    report->finish_s = stencil_clock_s() - done_s;
    return STENCIL_OK;
}
