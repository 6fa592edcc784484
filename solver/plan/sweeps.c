/* The registry of sweeps, made of kernels/sweeps.def. */
#include "solver/plan/sweep.h"

#include <math.h>
#include <string.h>

#define STENCIL_SWEEP(name, exchanges, text) extern const stencil_sweep_host stencil_sweep_##name;
#include "kernels/sweeps.def"

const stencil_sweep_info stencil_sweep_infos[] = {
#define STENCIL_SWEEP(name, exchanges, text) {#name, text, &stencil_sweep_##name},
#include "kernels/sweeps.def"
    {0},
};

void stencil_sweep_suit(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    const stencil_sweep_host *host = plan->host;
    plan->depth = host->suits(plan, problem, machine);
    if (plan->backend == STENCIL_BACKEND_CPU && plan->depth > 1)
        host->strip(plan, problem, machine);
}

double stencil_sweep_traffic(const stencil_plan *plan, const stencil_problem *problem) {
    const double bytes =
        stencil_problem_arrays(problem) * (double)stencil_precision_bytes(problem->precision);
    if (plan->resident.warps >
        0) /* for each launch: that of a step that is checked, and that of the others */
        return 2 * bytes / (double)stencil_sweep_passes(plan, problem).steps;
    return bytes / stencil_sweep_pass_steps(plan, problem);
}

void stencil_sweep_tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]) {
    memcpy(tile, plan->tile, sizeof plan->tile);
    if (plan->backend == STENCIL_BACKEND_GPU && plan->depth > 1)
        plan->host->deep_tile(plan, problem, plan->part[0].box.n, tile);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        tile[axis] = stencil_smaller(tile[axis], plan->part[0].box.n[axis]);
}

stencil_pass_work stencil_sweep_work(const stencil_plan *plan, const stencil_problem *problem, int steps,
                                     bool checked) {
    stencil_pass_work all = {0};
    for (int p = 0; p < plan->cut.parts; p++) {
        const stencil_pass_work work = plan->host->work(plan, problem, p, steps, checked);
        all.cells += work.cells;
        all.longest += work.longest;
        all.wavefronts += work.wavefronts;
    }
    return all;
}

/* Each step of a pass needs cells around those of the step behind it, of every tile that another one or
 * another part is beside; but for tiles along y in 3D, which go on where others ended. */
static double cells_on_cpu(const stencil_plan *plan, const stencil_problem *problem, int64_t steps) {
    double made = 0;
    for (int p = 0; p < plan->cut.parts; p++) {
        const int64_t *n = plan->part[p].box.n;
        for (int64_t left = steps - 1; left >= 0; left--) {
            double cells = 1;
            for (int axis = 0; axis < STENCIL_AXES; axis++) {
                const int64_t more = axis < STENCIL_AXES - problem->rank ? 0 : left * problem->shape->radius;
                const int64_t tiles = axis == STENCIL_Y && stencil_sweep_goes_on(plan, problem)
                                          ? 1
                                          : (n[axis] + plan->tile[axis] - 1) / plan->tile[axis];
                const int open = (stencil_cut_side(&plan->cut, p, axis, 0).ghosts > problem->shape->radius) +
                                 (stencil_cut_side(&plan->cut, p, axis, 1).ghosts > problem->shape->radius);
                cells *= (double)(n[axis] + more * (2 * (tiles - 1) + open));
            }
            made += cells;
        }
    }
    return made;
}

/* Adds what passes of so many steps make; one of a single step computes nothing twice. */
static void add_passes(stencil_pass_work *sum, const stencil_plan *plan, const stencil_problem *problem,
                       int64_t steps, int64_t count, bool checked) {
    const double once = (double)stencil_problem_updated_cells(problem) * (double)steps;
    stencil_pass_work work = {.cells = once, .longest = once};
    if (count == 0)
        return;
    if (steps > 1 && plan->backend == STENCIL_BACKEND_CPU)
        work.cells = work.longest = cells_on_cpu(plan, problem, steps);
    else if (steps > 1)
        work = stencil_sweep_work(plan, problem, (int)steps, checked);
    sum->cells += (double)count * work.cells;
    sum->longest += (double)count * work.longest;
    sum->wavefronts += (double)count * work.wavefronts;
}

stencil_pass_work stencil_sweep_mean(const stencil_plan *plan, const stencil_problem *problem) {
    const stencil_passes p = stencil_sweep_passes(plan, problem);
    const double all = (double)stencil_problem_updated_cells(problem) * (double)p.steps;
    stencil_pass_work sum = {0};
    add_passes(&sum, plan, problem, plan->depth, p.whole, false);
    add_passes(&sum, plan, problem, p.rest, p.rest > 0, false);
    add_passes(&sum, plan, problem, p.checked, p.checked > 0, true);
    add_passes(&sum, plan, problem, 1, p.first, true);
    return (stencil_pass_work){
        .cells = sum.cells / all, .longest = sum.longest / all, .wavefronts = sum.wavefronts / all};
}

double stencil_sweep_again(const stencil_plan *plan, const stencil_problem *problem) {
    return stencil_sweep_mean(plan, problem).cells - 1;
}

/* Why a sweep that can make several steps at once makes one. */
static const char *why_single(const stencil_plan *plan, const stencil_problem *problem,
                              const stencil_run_options *options, const stencil_machine *machine) {
    const stencil_sweep_host *sweep = plan->host;
    if (options->halo == STENCIL_HALO_LL)
        return "words of --halo ll have the number of one step";
    if (sweep->most != NULL && sweep->most(plan, problem, machine) == 1)
        return problem->rank == 3
                   ? "its points reach less far along z, which is mirrored, than those of its kernel"
                   : "with a source, a mirrored side or changing weights it needs launches (--sync relaunch)";
    if (stencil_sweep_longest(plan, problem) == 1)
        return problem->stop.check_every == 1 ? "every step is checked (--check-every 1)"
               : problem->stop.steps - problem->origin.steps == 1
                   ? "the run has no more"
                   : "too few steps lie between two residual checks";
    return "the field, its parts or the rows of a thread are too small";
}

void stencil_sweep_note_depth(stencil_plan *plan, const stencil_problem *problem,
                              const stencil_run_options *options, const stencil_machine *machine) {
    const stencil_sweep_info *sweep = &stencil_sweep_infos[plan->sweep];
    if (options->depth > plan->depth)
        stencil_notes_add(
            &plan->notes, "--depth %d: from one residual check to the next there %s %d step%s at most",
            options->depth, plan->depth == 1 ? "is" : "are", plan->depth, stencil_plural(plan->depth));
    else if (options->depth == 0 && plan->depth == 1 && sweep->host->depth > 1)
        stencil_notes_add(&plan->notes, "%s makes one step at a time here: %s", sweep->name,
                          why_single(plan, problem, options, machine));
}

const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem,
                                      stencil_backend backend) {
    const stencil_sweep_host *host = stencil_sweep_infos[sweep].host;
    if (backend == STENCIL_BACKEND_GPU &&
        !stencil_kernel_is_compiled(sweep, STENCIL_EXCHANGE_STORE, STENCIL_BARRIER_none))
        return "it has no kernel for GPUs";
    if (backend == STENCIL_BACKEND_CPU && host->gpu_only)
        return "it is for GPUs: the caches of a CPU keep a small field without it";
    return host->unavailable != NULL ? host->unavailable(problem, backend) : "";
}
