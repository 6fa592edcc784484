/* The pipeline sweep on a CPU: threads make several steps of strips at once, intermediate ones in cache. */
#include <math.h>
#include <string.h>

#include "kernels/cpu.h"
#include "kernels/sweeps/pipeline.h"
#include "solver/plan/sweeps/pipeline.h"

/* Chooses equal passes between residual checks, near the measured optimum, with few redundant cells. */
static int suits(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    const int axis[] = {STENCIL_Y, STENCIL_Z}, rank = problem->rank - 2,
              measured[] = {plan->tuning.cpu_pass_steps, plan->tuning.cpu_pass_steps_3d};
    const int64_t steps = stencil_sweep_longest(plan, problem),
                  share = problem->n[axis[rank]] / machine->cpu_threads / stencil_plan_ranks(plan),
                  best = stencil_smaller(measured[rank], 1 + share / (4 * problem->shape->radius));
    if (steps <= best)
        return (int)steps;
    const int64_t passes = (steps + best - 1) / best;
    return (int)((steps + passes - 1) / passes);
}

/* Bytes of cache that a thread uses for intermediate steps, where `wanted` bytes are wanted. */
static int64_t kept_bytes(const stencil_machine *machine, int64_t wanted) {
    const int64_t share = machine->cpu_cache_bytes / machine->cpu_threads;
    return machine->cpu_cache_bytes > 0 ? stencil_smaller(share, wanted) : wanted;
}

/* The most cells of a strip along an axis, a multiple of `unit`, whose intermediate steps fit in `bytes`, for
 * the lengths in `tile` along the other axes. */
static int64_t fitting(const stencil_plan *plan, const stencil_problem *problem, const int64_t tile[3],
                       int axis, int64_t unit, int64_t bytes) {
    const int64_t cell = (int64_t)stencil_precision_bytes(problem->precision);
    int64_t some[STENCIL_AXES] = {1, tile[STENCIL_Y], tile[STENCIL_X]}, kept[2];
    for (int k = 0; k < 2; k++) {
        some[axis] = k;
        kept[k] = stencil_pipeline_ring_bytes(problem->rank, plan->depth, problem->shape->radius, some, cell);
    }
    const int64_t count = bytes / (kept[1] - kept[0]) / unit * unit; /* redundant cells do not count */
    return count > unit ? count : unit;
}

static stencil_pass_layout place_2d(const stencil_plan *plan, const stencil_problem *problem,
                                    const stencil_machine *machine) {
    stencil_pass_layout l = stencil_step_place(plan, problem, machine);
    l.kind = STENCIL_PASS_STRIPS;
    l.tile[STENCIL_X] = fitting(plan, problem, l.tile, STENCIL_X, STENCIL_PARTIAL_CELLS,
                                kept_bytes(machine, plan->tuning.cpu_ring_bytes));
    return l;
}

/* Bytes of cache for a thread's intermediate steps in 3D: more than the private cache of most cores; in a
 * larger one some space is left for lines of the field. */
static int64_t kept_bytes_3d(const stencil_plan *plan, const stencil_machine *machine) {
    const stencil_tuning *t = &plan->tuning;
    const int64_t own = machine->cpu_core_bytes;
    return kept_bytes(machine, own >= t->cpu_ring_bytes_3d ? (int64_t)(t->cpu_ring_share * (double)own)
                                                           : t->cpu_ring_bytes_3d);
}

/* Lays out strips in 3D with the row length that has the least redundant cells and overhead. */
static stencil_pass_layout place_3d(const stencil_plan *plan, const stencil_problem *problem,
                                    const stencil_machine *machine) {
    const int64_t bytes = kept_bytes_3d(plan, machine), *n = problem->n,
                  twice = (int64_t)problem->shape->radius *
                          (plan->depth - 1); /* redundant cells on both sides, mean over the steps */
    stencil_pass_layout l = stencil_step_place(plan, problem, machine);
    stencil_plan tried = *plan;
    int64_t *tile = tried.tile;
    double least = INFINITY;
    l.kind = STENCIL_PASS_STRIPS;
    l.tile[STENCIL_Z] = (n[STENCIL_Z] + plan->threads - 1) / plan->threads;
    for (int64_t strips = 1; strips <= n[STENCIL_X]; strips++) {
        const int64_t across =
            stencil_pipeline_up((n[STENCIL_X] + strips - 1) / strips, STENCIL_PARTIAL_CELLS);
        tile[STENCIL_X] = across;
        tile[STENCIL_Y] = stencil_smaller(fitting(plan, problem, tile, STENCIL_Y, 1, bytes), n[STENCIL_Y]);
        const double columns = strips > 1 ? (double)twice / (double)across : 0,
                     rows =
                         stencil_sweep_goes_on(&tried, problem) ? 0 : (double)twice / (double)tile[STENCIL_Y],
                     made = (1 + columns) * (1 + rows) + stencil_sweep_beside(&tried, problem);
        if (made < least) {
            least = made;
            l.tile[STENCIL_Y] = tile[STENCIL_Y];
            l.tile[STENCIL_X] = across;
        }
        if (across == STENCIL_PARTIAL_CELLS)
            break;
    }
    return l;
}

bool stencil_sweep_goes_on(const stencil_plan *plan, const stencil_problem *problem) {
    const int64_t ny = problem->n[STENCIL_Y], most = plan->tile[STENCIL_Y], tiles = (ny + most - 1) / most;
    return plan->variant->by == &pipeline_cpu_3d && ny / tiles >= problem->shape->radius * plan->depth;
}

double stencil_sweep_beside(const stencil_plan *plan, const stencil_problem *problem) {
    if (plan->variant->by != &pipeline_cpu_3d || plan->depth == 1)
        return 0;
    const double seams = ceil((double)problem->n[STENCIL_Y] / (double)plan->tile[STENCIL_Y]) - 1,
                 handed_on = stencil_sweep_goes_on(plan, problem) ? seams * 2 * problem->shape->radius : 0;
    const bool cut = plan->tile[STENCIL_X] < problem->n[STENCIL_X];
    return plan->tuning.cpu_handed_on * handed_on / (double)problem->n[STENCIL_Y] +
           (double)(plan->tuning.cpu_row_cells + (cut ? STENCIL_PARTIAL_CELLS / 4 : 0)) /
               (double)plan->tile[STENCIL_X];
}

/* Counts the cells of a pass: each step needs a radius more cells than the next step, on the sides where a
 * tile has another tile or part next to it; none where tiles along y continue where the last tile ended. */
static stencil_pass_work work(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked) {
    const int64_t *n = stencil_plan_part(plan, part)->box.n;
    double made = 0;
    (void)checked;
    for (int64_t left = steps - 1; left >= 0; left--) {
        double cells = 1;
        for (int axis = 0; axis < STENCIL_AXES; axis++) {
            const int64_t more = left * problem->shape->radius,
                          tiles = axis == STENCIL_Y && stencil_sweep_goes_on(plan, problem)
                                      ? 1
                                      : (n[axis] + plan->tile[axis] - 1) / plan->tile[axis];
            const int open = (stencil_cut_side(&plan->cut, part, axis, 0).ghosts > problem->shape->radius) +
                             (stencil_cut_side(&plan->cut, part, axis, 1).ghosts > problem->shape->radius);
            cells *= (double)(n[axis] + more * (2 * (tiles - 1) + open));
        }
        made += cells;
    }
    return (stencil_pass_work){.cells = made, .longest = made};
}

const stencil_maker pipeline_cpu_2d = {
    STENCIL_SWEEP_pipeline, true, {.depth = STENCIL_DEPTH_MAX}, NULL, suits, place_2d, .work = work};
const stencil_maker pipeline_cpu_3d = {
    STENCIL_SWEEP_pipeline, true, {.depth = STENCIL_DEPTH_MAX}, NULL, suits, place_3d, .work = work};
