/* Runs of plans, and what they say of themselves. */
#include "library/inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/plan/sweep.h"

/* A caller's wish to see how a run goes, as an observer. */
typedef struct watching {
    stencil_progress_t progress;
    void *context;
    const volatile int *stop;
} watching;

static bool watch(void *context, int64_t step, double residual) {
    const watching *w = context;
    const bool stops = w->stop != NULL && *w->stop != 0;
    return !stops && (w->progress == NULL || w->progress(w->context, step, residual) == 0);
}

/* The arrays of a call. */
typedef struct call {
    const stencil_run_t *run;
    stencil_array_t out, source; /* source.data NULL: there is none */
    void *fetched;               /* owned: a source of a GPU that goes through the host */
    stencil_device_arrays device;
} call;

/* Tells whether a run on a GPU takes the cells of a source from an array as it is. */
static bool is_taken_as_is(const stencil_problem *problem) {
    const bool divided =
        problem->coefficients != STENCIL_COEFFICIENTS_NONE && problem->spec.kind == STENCIL_KIND_POISSON;
    return problem->kept == 0 && problem->driven == 0 && !problem->walls_in_source && !divided &&
           !stencil_study_reads_source(problem) && stencil_problem_sum_arrays(problem) <= 1;
}

/* Takes an array of a call, and finds out where it is. */
static stencil_status take_array(const stencil_plan_t *plan, const stencil_array_t *from, const char *name,
                                 stencil_array_t *to) {
    const stencil_spec *spec = &plan->problem.spec;
    TRY(stencil_array_take(to, from, name, spec->rank, spec->extent, true));
    return stencil_array_locate(to, name, plan->session);
}

/* Takes the arrays of a call: the initial field, where its result goes, and its source. */
static stencil_status take_arrays(stencil_plan_t *plan, call *c) {
    const stencil_problem *problem = &plan->problem;
    const stencil_run_t *run = c->run;
    const stencil_plan *how = &stencil_plan_chosen(plan)->plan;
    const int type = problem->precision == STENCIL_FLOAT64 ? STENCIL_TYPE_FLOAT64 : STENCIL_TYPE_FLOAT32;
    stencil_array_t *u = &plan->arrays.u;
    CHECK(run->u != NULL, USAGE, "a run needs an array u");
    TRY(take_array(plan, run->u, "u", u));
    TRY(take_array(plan, run->out != NULL ? run->out : run->u, "out", &c->out));
    CHECK(u->type == type && c->out.type == type, USAGE,
          "arrays u and out have to be of the problem's precision, %s",
          stencil_precision_name(problem->precision));
    TRY(stencil_array_check_beside(u, "u", how));
    TRY(stencil_array_check_beside(&c->out, "out", how));
    if (u->memory == STENCIL_MEMORY_DEVICE)
        c->device.u = stencil_array_strided(u, problem);
    if (problem->spec.source == STENCIL_SOURCE_NONE) {
        CHECK(run->source == NULL, USAGE, "a run has a source, and its problem has none: set its b, f or q");
        return STENCIL_OK;
    }
    const stencil_array_t *given = &plan->arrays.given[problem->spec.source - 1];
    TRY(take_array(plan, run->source != NULL ? run->source : given, "source", &c->source));
    if (c->source.memory != STENCIL_MEMORY_DEVICE)
        return STENCIL_OK;
    if (!is_taken_as_is(problem) || !stencil_array_is_beside(&c->source, how))
        return stencil_array_fetch(&c->source, problem->spec.rank, problem->spec.extent, &c->fetched);
    c->device.b = stencil_array_strided(&c->source, problem);
    return STENCIL_OK;
}

/* Loads the cells, into the memory of the last run where there was one. */
static stencil_status load(stencil_plan_t *plan, call *c) {
    const stencil_reader cells = {stencil_arrays_read, &plan->arrays};
    stencil_device_arrays *device = &c->device;
    device->allow_nonfinite = plan->arrays.allow_nonfinite;
    TRY(stencil_plan_study(plan, c->run->source != NULL));
    const stencil_status status = plan->run != NULL
                                      ? stencil_run_reload(plan->run, &cells, device)
                                      : stencil_run_open_arrays(&plan->run, &stencil_plan_chosen(plan)->plan,
                                                                &plan->problem, &cells, device);
    return device->odd ? stencil_arrays_refuse(&plan->arrays, device->odd_array, device->odd_cell) : status;
}

/* Makes the steps, in the first run with the race of plans, and writes the field. */
static stencil_status make(stencil_plan_t *plan, const call *c, stencil_result_t *result) {
    const stencil_run_t *run = c->run;
    const stencil_reader field = {stencil_run_read, plan->run};
    watching watched = {run->progress, run->context, run->stop};
    const stencil_observer all[] = {{&watched, .poll = watch}, stencil_tune_observer(&plan->tune)};
    const bool races = plan->tune.count > 1 && !plan->tune.done;
    plan->tune.run = plan->run;
    if (plan->no_bound)
        stencil_run_skip_bound(plan->run);
    TRY(stencil_run_drive(plan->run, &(stencil_observers){all, races ? 2 : 1}, &result->report));
    if (races)
        stencil_run_settle(plan->run);
    const double begin_s = stencil_clock_s();
    const stencil_plan *how = &stencil_plan_chosen(plan)->plan;
    if (c->out.memory == STENCIL_MEMORY_DEVICE) {
        const stencil_strided to = stencil_array_strided(&c->out, &plan->problem);
        TRY(stencil_array_check_beside(&c->out, "out", how)); /* a race may have chosen another device */
        TRY(stencil_run_give(plan->run, &to));
    } else {
        TRY(stencil_array_write(&c->out, &plan->problem, how, &field));
    }
    result->told.write_s = stencil_clock_s() - begin_s;
    return STENCIL_OK;
}

/* Makes a run with the source that it brings, if any, in the place of the problem's. */
static stencil_status run_once(stencil_plan_t *plan, const stencil_run_t *run, stencil_result_t *result) {
    call c = {.run = run};
    stencil_status status = take_arrays(plan, &c);
    if (status != STENCIL_OK) {
        free(c.fetched);
        return status; /* the last run's memory is as it was */
    }
    stencil_array_t *own = c.source.data != NULL ? &plan->arrays.given[plan->problem.spec.source - 1] : NULL;
    const stencil_array_t kept = own != NULL ? *own : c.source;
    if (own != NULL)
        *own = c.source;
    status = load(plan, &c);
    if (status == STENCIL_OK)
        status = make(plan, &c, result);
    plan->tune.done = plan->tune.count > 1; /* whoever has won, or made the last steps, makes further runs */
    if (own != NULL)
        *own = kept;
    free(c.fetched);
    if (status != STENCIL_OK) { /* what a failure has left is no beginning of another run */
        stencil_run_close(plan->run);
        plan->run = NULL;
    }
    return status;
}

/* Fills in what the caller can ask a result for. */
static void tell(stencil_result_t *result, const stencil_plan_t *plan, double begin_s) {
    const stencil_report *r = &result->report;
    const stencil_plan *made = &stencil_plan_chosen(plan)->plan;
    const double write_s = result->told.write_s;
    memcpy(result->device, r->device, sizeof result->device);
    result->told = (stencil_report_t){
        .size = sizeof result->told,
        .reason = stencil_reason_names[r->reason],
        .sync = stencil_strategy_at(made->strategy).name,
        .sweep = stencil_sweep_names[made->sweep],
        .device = result->device,
        .reached = r->reached,
        .depth = made->depth,
        .steps = r->steps,
        .checks = r->history.count,
        .residual = stencil_history_last(&r->history),
        .residual_first = r->residual_first,
        .threshold = r->threshold,
        .error_bound = r->bound.known ? r->bound.absolute : NAN,
        .error_bound_relative = r->bound.known ? r->bound.relative : NAN,
        .time = stencil_problem_time(&plan->problem, r->steps),
        .read_s = r->read_s,
        .prepare_s = r->prepare_s,
        .compute_s = r->compute_s,
        .finish_s = r->finish_s,
        .write_s = write_s,
        .total_s = stencil_clock_s() - begin_s,
        .cells_per_s = stencil_report_cells_per_s(r),
    };
}

/* Runs a plan that no other thread runs. */
static stencil_code_t run_alone(stencil_plan_t *plan, const stencil_run_t *run, stencil_result_t **result) {
    stencil_visit visit;
    const double begin_s = stencil_clock_s();
    stencil_result_t *made = calloc(1, sizeof *made);
    if (made == NULL)
        return stencil_code_fail(STENCIL_OUT_OF_MEMORY, "no memory for a result");
    stencil_status status = stencil_visit_enter(&visit, plan->session);
    if (status == STENCIL_OK) {
        status = run_once(plan, run, made);
        stencil_visit_leave(&visit);
    }
    if (status == STENCIL_OK && result != NULL) {
        tell(made, plan, begin_s);
        *result = made;
    } else {
        stencil_result_free(made);
    }
    return stencil_code_of(status);
}

stencil_code_t stencil_plan_run(stencil_plan_t *plan, const stencil_run_t *run, stencil_result_t **result) {
    stencil_run_t asked;
    if (result != NULL)
        *result = NULL;
    if (plan == NULL || run == NULL)
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "a plan and a run are needed");
    const stencil_code_t taken =
        stencil_code_of(stencil_structure_take(&asked, sizeof asked, run, "stencil_run_t"));
    if (taken != STENCIL_DONE)
        return taken;
    /* Acquire: the thread sees what the last run, by another thread, has left. */
    if (__atomic_exchange_n(&plan->busy, 1, __ATOMIC_ACQUIRE) != 0)
        return stencil_code_fail(STENCIL_BAD_ARGUMENT,
                                 "the plan is being run: a plan makes one run at a time");
    const stencil_code_t code = run_alone(plan, &asked, result);
    __atomic_store_n(&plan->busy, 0, __ATOMIC_RELEASE); /* what the run has left is seen by the next one */
    return code;
}

stencil_code_t stencil_result_report(const stencil_result_t *result, stencil_report_t *report) {
    enum { SIZE_MOST = 4096 }; /* of a report that a program of a newer header has */
    if (result == NULL || report == NULL || report->size < sizeof report->size || report->size > SIZE_MOST)
        return stencil_code_fail(
            STENCIL_BAD_ARGUMENT,
            "a result and a report are needed, whose `size` is set to sizeof(stencil_report_t)");
    const size_t size = report->size, own = sizeof result->told;
    memset(report, 0, size);
    memcpy(report, &result->told, size < own ? size : own);
    report->size = size < own ? size : own;
    return STENCIL_DONE;
}

int64_t stencil_result_history(const stencil_result_t *result, const int64_t **step,
                               const double **residual) {
    if (result == NULL)
        return 0;
    if (step != NULL)
        *step = result->report.history.step;
    if (residual != NULL)
        *residual = result->report.history.residual;
    return result->report.history.count;
}

void stencil_result_free(stencil_result_t *result) {
    if (result == NULL)
        return;
    stencil_report_destroy(&result->report);
    free(result);
}
