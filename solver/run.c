#include "solver/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/strategy.h"
#include "solver/sweep.h"

/* Who makes the steps of a plan; it has the cells in arrays of its own, or in those of an earlier side. */
typedef struct side {
    const stencil_plan *plan;
    stencil_cpu *cpu;
    stencil_gpu_run *gpu; /* one of them is NULL */
} side;

struct stencil_run {
    const stencil_problem *problem;
    const stencil_plan *plan;
    const stencil_strategy *strategy;
    stencil_report *report; /* while it is driven */
    stencil_observers observers;
    stencil_outcome outcome; /* of the batch that was last made */
    stencil_schedule schedule;
    double source_norm;
    int64_t window; /* of stagnation, steps */
    int64_t steps;  /* that the cells have behind them */
    int from;       /* the buffer that they are in */
    double read_s, prepare_s;
    stencil_cpu *cpu;
    stencil_gpu_run *gpu; /* the side that makes the steps; the other one is NULL */
    side side[STENCIL_SIDES_MAX];
    int sides; /* that there are, in the order in which they were made */
};

/* From now on `first` is known. */
static void set_criteria(stencil_run *r, double first) {
    const stencil_stop *stop = &r->problem->stop;
    r->report->residual_first = first;
    r->schedule.under_rtol = stop->rtol * first;
    r->schedule.under_atol = stop->atol;
    r->report->threshold = fmax(r->schedule.under_rtol, r->schedule.under_atol);
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
        report->reason = stencil_schedule_decide(&r->schedule, stencil_history_last(&report->history));
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = judge_window(r, origin->steps);
    return STENCIL_OK;
}

/* The next batch ends where the first observer wants to look; where its history would be full; where a test,
 * or a launch that has no room for more weights, wants a launch of its own; where a window of stagnation
 * ends.
 */
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
            count = stencil_smaller(count, o->next(o->context, step) - step);
    }
    return (stencil_batch){step, count, &r->observers, r->from};
}

/* The outcome becomes part of the report. */
static stencil_status keep_outcome(stencil_run *r, const stencil_batch *batch,
                                   const stencil_schedule *schedule) {
    const stencil_outcome *outcome = &r->outcome;
    int64_t step = batch->first;
    for (int64_t i = 0; i < outcome->checks; i++) {
        step = stencil_schedule_next(schedule, step);
        TRY(stencil_history_add(&r->report->history, step, outcome->residual[i]));
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
static stencil_status first_step(stencil_run *r) {
    stencil_report *report = r->report;
    const stencil_batch batch = {report->steps, 1, &r->observers, r->from};
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
        report->reason = stencil_schedule_decide(&r->schedule, residual);
    return STENCIL_OK;
}

/* The one loop around all time loops. */
static stencil_status drive(stencil_run *r) {
    stencil_report *report = r->report;
    while (report->reason == STENCIL_REASON_NONE && report->steps < r->problem->stop.steps) {
        if (stencil_stop_has_criterion(&r->problem->stop) && isnan(report->residual_first)) {
            TRY(first_step(r));
            continue;
        }
        r->schedule.apart = stencil_sweep_checks_apart(r->plan);
        const stencil_batch batch = next_batch(r);
        TRY(make_batch(r, &batch, &r->schedule));
        TRY(observe(r, &batch));
    }
    return STENCIL_OK;
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

bool stencil_plans_share_cells(const stencil_plan *a, const stencil_plan *b) {
    bool same = a->backend == b->backend && a->cut.parts == b->cut.parts &&
                memcmp(a->cut.count, b->cut.count, sizeof a->cut.count) == 0 &&
                memcmp(a->cut.layout.n, b->cut.layout.n, sizeof a->cut.layout.n) == 0 &&
                memcmp(a->cut.layout.ghost, b->cut.layout.ghost, sizeof a->cut.layout.ghost) == 0;
    for (int p = 0; p < a->cut.parts && a->backend == STENCIL_BACKEND_GPU; p++)
        same = same && a->part[p].gpu == b->part[p].gpu;
    return same;
}

static void use_side(stencil_run *r, const side *s) {
    r->plan = s->plan;
    r->strategy = stencil_strategy_at(s->plan->strategy).loop;
    r->cpu = s->cpu;
    r->gpu = s->gpu;
}

static void close_side(side *s) {
#ifdef STENCIL_HAVE_CUDA
    const stencil_strategy *strategy = s->gpu != NULL ? stencil_strategy_at(s->plan->strategy).loop : NULL;
    if (s->gpu != NULL && strategy->close_gpu != NULL)
        strategy->close_gpu(s->gpu);
    stencil_gpu_destroy(s->gpu);
    free(s->gpu);
#endif
    stencil_cpu_destroy(s->cpu);
    free(s->cpu);
    *s = (side){0};
}

/* The side that makes the steps, without cells yet, unless one that is there lends it its own. */
static stencil_status open_side(stencil_run *r, const side *lender) {
#ifdef STENCIL_HAVE_CUDA
    if (r->plan->backend == STENCIL_BACKEND_GPU) {
        r->gpu = calloc(1, sizeof *r->gpu);
        CHECK(r->gpu != NULL, NO_MEMORY, "no memory for a run");
        TRY(stencil_gpu_create(r->gpu, r->plan, r->problem, lender != NULL ? lender->gpu : NULL));
        r->gpu->queue = r->strategy->queue_gpu;
        return r->strategy->open_gpu != NULL ? r->strategy->open_gpu(r->gpu) : STENCIL_OK;
    }
#endif
    CHECK(r->plan->backend == STENCIL_BACKEND_CPU, UNAVAILABLE, "--sync %s on a GPU: built without CUDA",
          stencil_strategy_at(r->plan->strategy).name);
    r->cpu = calloc(1, sizeof *r->cpu);
    CHECK(r->cpu != NULL, NO_MEMORY, "no memory for a run");
    return stencil_cpu_create(r->cpu, r->plan, r->problem, lender != NULL ? &lender->cpu->buffers : NULL);
}

static stencil_status load_box(stencil_run *r, int part, stencil_array array, const stencil_box *box,
                               const stencil_reader *from) {
#ifdef STENCIL_HAVE_CUDA
    if (r->gpu != NULL)
        return stencil_gpu_load(r->gpu, part, array, box, from);
#endif
    return stencil_cpu_load(r->cpu, part, array, box, from);
}

/* All cells to their parts: u, then b. What parts make of cells of others they need the source of, too; that
 * comes from `again`. */
static stencil_status load_all(stencil_run *r, const stencil_reader *from, const stencil_reader *again) {
    const stencil_cut *cut = &r->plan->cut;
    const int arrays = stencil_problem_arrays(r->problem) - 1;
    stencil_box frame[STENCIL_FRAME_BOXES];
    for (int part = 0; part < cut->parts; part++) {
        const stencil_box window = stencil_cut_window(cut, part);
        TRY(load_box(r, part, STENCIL_ARRAY_U, &window, from));
    }
    for (int part = 0; part < cut->parts && arrays > STENCIL_ARRAY_B; part++) {
        const stencil_box own = stencil_cut_box(cut, part);
        const int boxes = stencil_cut_frame(cut, part, frame);
        TRY(load_box(r, part, STENCIL_ARRAY_B, &own, from));
        for (int k = 0; k < boxes; k++)
            TRY(load_box(r, part, STENCIL_ARRAY_B, &frame[k], again));
    }
    return STENCIL_OK;
}

static stencil_status load(stencil_run *r, const stencil_reader *from) {
    stencil_intake intake = {.from = from, .problem = r->problem};
    const stencil_reader through = {stencil_intake_read, &intake};
    stencil_status status = load_all(r, &through, from);
    if (status == STENCIL_OK)
        status = stencil_intake_finish(&intake, &r->source_norm);
    free(intake.partial);
    r->read_s = intake.read_s;
    return status;
}

stencil_status stencil_run_open(stencil_run **run, const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_reader *from) {
    const double start_s = stencil_clock_s();
    stencil_run *r = *run = calloc(1, sizeof *r);
    CHECK(r != NULL, NO_MEMORY, "no memory for a run");
    r->problem = problem;
    r->steps = problem->origin.steps;
    r->from = (int)(r->steps % 2); /* both have them at first */
    use_side(r, &(side){.plan = plan});
    r->outcome.residual = malloc(STENCIL_CHECKS_MAX * sizeof *r->outcome.residual);
    stencil_status status =
        r->outcome.residual != NULL ? open_side(r, NULL) : ERROR(NO_MEMORY, "no memory for a run");
    r->side[r->sides++] = (side){r->plan, r->cpu, r->gpu};
    if (status == STENCIL_OK)
        status = load(r, from);
    r->prepare_s = stencil_clock_s() - start_s - r->read_s;
    if (status != STENCIL_OK) {
        stencil_run_close(r);
        *run = NULL;
    }
    return status;
}

/* Makes a side for the plan, or finds it, and uses it; where that fails, the one before. */
static stencil_status change_side(stencil_run *r, const stencil_plan *plan) {
    const side before = {r->plan, r->cpu, r->gpu}, *lender = NULL;
    for (int i = 0; i < r->sides; i++) {
        if (r->side[i].plan == plan) {
            use_side(r, &r->side[i]);
            return STENCIL_OK;
        }
        if (stencil_plans_share_cells(r->side[i].plan, plan))
            lender = &r->side[i];
    }
    CHECK(r->sides < STENCIL_SIDES_MAX, INTERNAL, "more than %d plans in one run", STENCIL_SIDES_MAX);
    use_side(r, &(side){.plan = plan});
    const stencil_status status = open_side(r, lender);
    side *made = &r->side[r->sides];
    *made = (side){r->plan, r->cpu, r->gpu};
    if (status == STENCIL_OK) {
        r->sides++;
        return STENCIL_OK;
    }
    close_side(made);
    use_side(r, &before);
    return status;
}

stencil_status stencil_run_replan(stencil_run *r, const stencil_plan *plan) {
    const double start_s = stencil_clock_s();
    stencil_run before = *r; /* whose cells are read */
    TRY(change_side(r, plan));
    const stencil_reader cells = {stencil_run_read, &before};
    const stencil_status status =
        stencil_plans_share_cells(before.plan, plan) ? STENCIL_OK : load_all(r, &cells, &cells);
    if (status != STENCIL_OK)
        use_side(r, &(side){before.plan, before.cpu, before.gpu});
    r->prepare_s += stencil_clock_s() - start_s;
    return status;
}

/* Lenders stand in front of those that they lend to, and go after them. */
void stencil_run_settle(stencil_run *r) {
    const double start_s = stencil_clock_s();
    for (int i = r->sides - 1; i >= 0; i--)
        if (!stencil_plans_share_cells(r->side[i].plan, r->plan)) {
            close_side(&r->side[i]);
            memmove(&r->side[i], &r->side[i + 1], (size_t)(--r->sides - i) * sizeof *r->side);
        }
    r->prepare_s += stencil_clock_s() - start_s;
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

static stencil_status read_part(const stencil_run *r, int part, int buffer, const stencil_box *box,
                                const stencil_cells *to) {
#ifdef STENCIL_HAVE_CUDA
    if (r->gpu != NULL)
        return stencil_gpu_move(r->gpu, part, buffer, box, NULL, to);
#endif
    const stencil_cells from = stencil_buffer_cells(&r->cpu->buffers, part, buffer, box->first),
                        there = stencil_cells_from(to, box->first);
    stencil_cells_copy(&there, &from, box->n);
    return STENCIL_OK;
}

stencil_status stencil_run_read(void *run, stencil_array array, const stencil_box *box,
                                const stencil_cells *to) {
    const stencil_run *r = run;
    const stencil_cut *cut = &r->plan->cut;
    for (int part = 0; part < cut->parts; part++) {
        const stencil_box held = stencil_cut_cells(cut, part), cells = stencil_box_common(&held, box);
        if (stencil_box_cells(&cells) > 0)
            TRY(read_part(r, part, stencil_buffer_of(array, r->from), &cells, to));
    }
    return STENCIL_OK;
}

void stencil_run_close(stencil_run *r) {
    if (r == NULL)
        return;
    while (r->sides > 0) /* those that others have their arrays from at the end */
        close_side(&r->side[--r->sides]);
    free(r->outcome.residual);
    free(r);
}

stencil_status stencil_run_fields(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_field *u, const stencil_field *b,
                                  const stencil_observers *observers, stencil_report *report) {
    stencil_fields fields = {u, b};
    const stencil_reader from = {stencil_fields_read, &fields};
    const stencil_box array = stencil_mesh_array(&plan->cut.mesh);
    const stencil_cells all = stencil_field_cells(u), to = stencil_cells_from(&all, array.first);
    stencil_run *run;
    TRY(stencil_run_open(&run, plan, problem, &from));
    stencil_status status = stencil_run_drive(run, observers, report);
    if (status == STENCIL_OK)
        status = stencil_run_read(run, STENCIL_ARRAY_U, &array, &to);
    stencil_run_close(run);
    return status;
}
