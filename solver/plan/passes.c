/* Numbers and lengths of the passes of a sweep, for the files of sweeps/. */
#include <math.h>

#include "solver/plan/sweep.h"

stencil_pass_limits stencil_sweep_limits(const stencil_plan *plan, const stencil_problem *problem) {
    const stencil_maker *by = plan->variant->by;
    return by->limits != NULL ? by->limits(problem, plan->variant->general) : by->most;
}

int stencil_sweep_suits(const stencil_plan *plan, const stencil_problem *problem,
                        const stencil_machine *machine) {
    (void)machine;
    return (int)stencil_smaller(stencil_sweep_limits(plan, problem).depth,
                                stencil_sweep_longest(plan, problem));
}

stencil_pass_layout stencil_step_place(const stencil_plan *plan, const stencil_problem *problem,
                                       const stencil_machine *machine) {
    (void)machine;
    return (stencil_pass_layout){.kind = STENCIL_PASS_STEP,
                                 .tile = {1, plan->share_rows, problem->n[STENCIL_X]},
                                 .cost = {.fma = 1, .cells = 1, .loop = 1}};
}

/* Most steps of a pass that ends with a residual check, if `depth` were no limit; 0: as many as any pass. */
static int checked_most(const stencil_plan *plan, const stencil_problem *problem) {
    return plan->backend == STENCIL_BACKEND_CPU ? 0 : stencil_sweep_limits(plan, problem).checked;
}

int stencil_sweep_checked_most(const stencil_plan *plan, const stencil_problem *problem) {
    return plan->depth > 1 ? (int)stencil_smaller(checked_most(plan, problem), plan->depth) : 0;
}

/* Steps between residual checks, or of the whole run; *first: the run begins with a pass of one step. */
static int64_t interval(const stencil_problem *problem, bool *first) {
    const stencil_stop *stop = &problem->stop;
    const int64_t left = stop->steps - problem->origin.steps;
    const bool all = left > 0 && left <= stop->check_every;
    *first = all && left > 1 && stencil_stop_has_criterion(stop) && isnan(problem->origin.residual_first);
    return all ? left : stop->check_every;
}

/* Tells whether the kernel of the plan's passes of several steps can check any step. */
static bool checks_any_step(const stencil_plan *plan, const stencil_problem *problem) {
    return plan->backend == STENCIL_BACKEND_GPU && stencil_sweep_limits(plan, problem).levels > 0;
}

void stencil_sweep_schedule(const stencil_plan *plan, const stencil_problem *problem,
                            stencil_schedule *schedule) {
    const stencil_pass_limits limits = stencil_sweep_limits(plan, problem);
    schedule->checked_most = stencil_sweep_checked_most(plan, problem);
    schedule->check_levels = plan->depth > 1 && checks_any_step(plan, problem) ? limits.levels : 0;
    schedule->check_depth = limits.depth;
}

int64_t stencil_sweep_longest(const stencil_plan *plan, const stencil_problem *problem) {
    bool first;
    const int64_t steps = interval(problem, &first), all = steps - first,
                  most = stencil_smaller(checked_most(plan, problem), all);
    return all - most > most ? all - most : most > 0 ? most : 1;
}

stencil_passes stencil_sweep_passes(const stencil_plan *plan, const stencil_problem *problem) {
    stencil_passes p = {0};
    p.steps = interval(problem, &p.first);
    p.checked = stencil_smaller(stencil_sweep_checked_most(plan, problem), p.steps - p.first);
    const int64_t left = p.steps - p.checked - p.first;
    p.whole = (double)(left / plan->depth);
    p.rest = left % plan->depth;
    if (plan->depth == 1 || !checks_any_step(plan, problem))
        return p;
    if (p.steps == problem->stop.check_every) { /* one check after the other: passes go on over them */
        p.whole = (double)left / plan->depth;
        p.rest = 0;
    }
    p.around = p.rest == 0;
    p.whole -= p.around;
    return p;
}

double stencil_sweep_pass_steps(const stencil_plan *plan, const stencil_problem *problem) {
    const stencil_passes p = stencil_sweep_passes(plan, problem);
    return (double)p.steps / (p.whole + p.around + (p.rest > 0) + p.first + (p.checked > 0));
}
