/* Passes of sweeps, and what GPUs have for them: what files of sweeps/ ask for. */
#include <math.h>

#include "solver/plan/sweep.h"

bool stencil_sweep_is_general(const stencil_problem *problem) {
    bool general = problem->cycle.length > 1 || stencil_problem_has_source(problem);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        general = general || problem->boundary[axis] == STENCIL_MIRROR;
    return general;
}

/* Were `depth` no limit. */
static int checked_most(const stencil_plan *plan, const stencil_problem *problem) {
    if (plan->backend == STENCIL_BACKEND_CPU)
        return 0;
    return plan->host->checked != NULL ? plan->host->checked(problem) : 1;
}

int stencil_sweep_checked_most(const stencil_plan *plan, const stencil_problem *problem) {
    return plan->depth > 1 ? (int)stencil_smaller(checked_most(plan, problem), plan->depth) : 0;
}

/* Steps from one check to the next, or of the whole run; *first: with one that is a pass by itself. */
static int64_t interval(const stencil_problem *problem, bool *first) {
    const stencil_stop *stop = &problem->stop;
    const int64_t left = stop->steps - problem->origin.steps;
    const bool all = left > 0 && left <= stop->check_every;
    *first = all && left > 1 && stencil_stop_has_criterion(stop) && isnan(problem->origin.residual_first);
    return all ? left : stop->check_every;
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
    p.whole = left / plan->depth;
    p.rest = left % plan->depth;
    return p;
}

double stencil_sweep_pass_steps(const stencil_plan *plan, const stencil_problem *problem) {
    const stencil_passes p = stencil_sweep_passes(plan, problem);
    return (double)p.steps / (double)(p.whole + (p.rest > 0) + p.first + (p.checked > 0));
}

bool stencil_sweep_goes_on(const stencil_plan *plan, const stencil_problem *problem) {
    const int64_t ny = problem->n[STENCIL_Y], most = plan->tile[STENCIL_Y], tiles = (ny + most - 1) / most;
    return problem->rank == 3 && ny / tiles >= problem->shape->radius * plan->depth;
}

double stencil_sweep_beside(const stencil_plan *plan, const stencil_problem *problem) {
    if (plan->backend != STENCIL_BACKEND_CPU || plan->depth == 1 || problem->rank == 2)
        return 0;
    const double seams = ceil((double)problem->n[STENCIL_Y] / (double)plan->tile[STENCIL_Y]) - 1,
                 handed_on = stencil_sweep_goes_on(plan, problem) ? seams * 2 * problem->shape->radius : 0;
    const bool cut = plan->tile[STENCIL_X] < problem->n[STENCIL_X];
    return plan->tuning.cpu_handed_on * handed_on / (double)problem->n[STENCIL_Y] +
           (double)(plan->tuning.cpu_row_cells + (cut ? STENCIL_PARTIAL_CELLS / 4 : 0)) /
               (double)plan->tile[STENCIL_X];
}

stencil_status stencil_sweep_has_kernels(stencil_sweep_id sweep, const stencil_sweep_host *host,
                                         const stencil_machine *machine, int gpu) {
    const char *name = stencil_sweep_names[sweep], *plain = stencil_sweep_names[0];
    const stencil_gpu *on = &machine->gpu[gpu];
    const int needs = host->capability, code = stencil_gpu_code(on);
    const int64_t shared = host->shared_bytes, has = on->shared_per_block_bytes;
    char need_text[32], has_text[32];
    CHECK(on->capability >= needs, UNAVAILABLE,
          "--sweep %s needs a GPU of compute capability %d.%d, GPU %d has %d.%d: give --sweep %s", name,
          needs / 10, needs % 10, gpu, on->capability / 10, on->capability % 10, plain);
    CHECK(
        code >= needs, UNAVAILABLE,
        "--sweep %s needs code for compute capability %d.%d, this build has that of %d.%d for GPU %d: build "
        "with -DCMAKE_CUDA_ARCHITECTURES=%d, or give --sweep %s",
        name, needs / 10, needs % 10, code / 10, code % 10, gpu, on->capability, plain);
    CHECK(has == 0 || has >= shared, UNAVAILABLE,
          "--sweep %s needs %s of shared memory for a block, GPU %d has %s: give --sweep %s", name,
          stencil_bytes_text(shared, need_text), gpu, stencil_bytes_text(has, has_text), plain);
    return STENCIL_OK;
}
