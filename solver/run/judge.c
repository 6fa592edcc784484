/* The end of a run: why it ended, and how far from the solution. */
#include <math.h>

#include "solver/problem/bounds.h"
#include "solver/problem/cycle.h"
#include "solver/run/drive.h"

bool stencil_run_turns_plain(const stencil_run *r) {
    const stencil_report *report = r->report;
    const stencil_history *history = &report->history;
    return r->accelerated && stencil_stop_has_criterion(&r->problem->stop) && history->count > 0 &&
           history->step[history->count - 1] == report->steps &&
           stencil_turns_plain(r->problem, history, report->residual_first, report->threshold);
}

static bool is_approximation(const stencil_run *r, const stencil_defect *defect) {
    const stencil_error_bound bound = stencil_error_bound_of(r->problem, defect);
    const stencil_report *report = r->report;
    if (stencil_estimate_is_refuted(r->problem, &report->history, report->resolution))
        return false;
    return bound.known && bound.relative <= (bound.estimated ? STENCIL_UNSOLVED_ESTIMATED : STENCIL_UNSOLVED);
}

bool stencil_run_is_resolved(const stencil_run *r, const stencil_defect *defect) {
    const stencil_report *report = r->report;
    return stencil_history_last(&report->history) <= fmax(report->threshold, report->resolution) &&
           is_approximation(r, defect);
}

/* A defect of the run's field that is asked for. */
typedef struct finding {
    stencil_run *run;
    stencil_defect *defect;
} finding;

static stencil_status read_defect(void *context) {
    const finding *f = context;
    const stencil_reader cells = {stencil_run_read, f->run};
    return stencil_defect_of(f->run->problem, &cells, f->defect);
}

stencil_status stencil_run_find_defect(stencil_run *r, stencil_defect *defect) {
    finding f = {r, defect};
    TRY(stencil_run_lead(r, read_defect, &f, defect, sizeof *defect));
    r->report->resolution = stencil_resolution(r->problem, defect->magnitude);
    return STENCIL_OK;
}

/* Tells whether a field with u' = u is the solution: rounding alone can make a step change no cell. */
static bool fixed_point_is_solution(const stencil_run *r, const stencil_defect *defect) {
    const double asked = fmax(r->problem->stop.rtol * r->report->residual_first, r->problem->stop.atol);
    return defect == NULL || defect->norm <= asked / r->problem->spec.omega + defect->rounding ||
           (defect->norm <= r->report->resolution && is_approximation(r, defect));
}

static stencil_status take_largest(void *context, const stencil_box *slab, const stencil_cells *cells) {
    double *largest = context;
    *largest = fmax(*largest, stencil_cells_largest(cells, slab->n));
    return STENCIL_OK;
}

/* Determines the reason and the error bound of the end of the run, from the cells as they are after it. */
static stencil_status judge_end(stencil_run *r) {
    stencil_report *report = r->report;
    if (report->reason == STENCIL_REASON_NONE)
        report->reason = stencil_stop_has_criterion(&r->problem->stop) ? STENCIL_REASON_NOT_CONVERGED
                                                                       : STENCIL_REASON_STEPS;
    const bool plain = report->reason != STENCIL_REASON_STAGNATED &&
                       report->reason != STENCIL_REASON_FIXED_POINT &&
                       !(report->reason == STENCIL_REASON_NOT_CONVERGED && r->accelerated);
    const bool relaxes = stencil_stop_has_criterion(&r->problem->stop) &&
                         stencil_problem_relaxes(r->problem) && !(r->skips_bound && plain);
    const stencil_reader cells = {stencil_run_read, r};
    if (r->on.cpu != NULL && stencil_report_steps_done(report) > 0)
        TRY(stencil_boxes_subnormal(&cells, &r->on.plan->cut.mesh, &report->subnormal));
    stencil_defect values;
    const stencil_defect *defect = relaxes ? &values : NULL;
    if (relaxes) {
        TRY(read_defect(&(finding){r, &values}));
        report->resolution = stencil_resolution(r->problem, values.magnitude);
        report->bound = stencil_error_bound_of(r->problem, &values);
        report->estimate_refuted =
            stencil_estimate_is_refuted(r->problem, &report->history, report->resolution);
        report->bound.known = report->bound.known && !report->estimate_refuted;
    }
    if (report->reason == STENCIL_REASON_NOT_CONVERGED && stencil_run_turns_plain(r))
        report->reason = STENCIL_REASON_STAGNATED; /* no step is left for plain steps */
    if (report->reason == STENCIL_REASON_STAGNATED && relaxes && stencil_run_is_resolved(r, defect))
        report->reason = STENCIL_REASON_CONVERGED_PRECISION;
    if (report->reason == STENCIL_REASON_STAGNATED) {
        const stencil_slabs slabs = {.from = &cells, .mesh = &r->on.plan->cut.mesh, .array = STENCIL_ARRAY_U};
        const stencil_box array = stencil_mesh_array(slabs.mesh);
        double largest = 0;
        TRY(stencil_slabs_visit(&slabs, &array, take_largest, &largest));
        report->stagnation = stencil_stagnation_of(
            r->problem, defect, largest, stencil_history_last(&report->history), report->residual_first);
    }
    if (stencil_history_last(&report->history) == 0 && report->steps > report->steps_before)
        TRY(stencil_lost_of(r->problem, &cells, &report->lost));
    report->reached = report->reason == STENCIL_REASON_STEPS ||
                      report->reason == STENCIL_REASON_CONVERGED_RTOL ||
                      report->reason == STENCIL_REASON_CONVERGED_ATOL ||
                      report->reason == STENCIL_REASON_CONVERGED_PRECISION ||
                      (report->reason == STENCIL_REASON_FIXED_POINT && fixed_point_is_solution(r, defect));
    return STENCIL_OK;
}

/* A run, and what all ranks get to know of its end; the rest of its report has rank 0 alone. */
typedef struct verdict {
    stencil_run *run;
    struct {
        stencil_reason reason;
        bool reached;
    } told;
} verdict;

static stencil_status judge(void *context) {
    verdict *v = context;
    TRY(judge_end(v->run));
    v->told.reason = v->run->report->reason;
    v->told.reached = v->run->report->reached;
    return STENCIL_OK;
}

stencil_status stencil_run_judge(stencil_run *r) {
    verdict v = {.run = r};
    TRY(stencil_run_lead(r, judge, &v, &v.told, sizeof v.told));
    r->report->reason = v.told.reason;
    r->report->reached = v.told.reached;
    return STENCIL_OK;
}
