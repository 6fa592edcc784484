/* The registry of sweeps, made of kernels/sweeps.def. */
#include <string.h>

#include "solver/problem/factors.h"
#include "solver/plan/sweep.h"

#define STENCIL_SWEEP(name, exchanges, text) extern const stencil_sweep_host stencil_sweep_##name;
#include "kernels/sweeps.def"

const stencil_sweep_info stencil_sweep_infos[] = {
#define STENCIL_SWEEP(name, exchanges, text) {#name, text, &stencil_sweep_##name},
#include "kernels/sweeps.def"
    {0},
};

static const stencil_variant *variants_of(stencil_sweep_id sweep, const stencil_problem *problem) {
    return stencil_sweep_infos[sweep].host->variant[problem->rank - 2];
}

static bool has_mirror(const stencil_problem *problem) {
    bool mirror = false;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        mirror = mirror || problem->boundary[axis] == STENCIL_MIRROR;
    return mirror;
}

/* General kernels in 3D mirror as many planes as the named point set reaches over. */
static bool has_short_mirror(const stencil_problem *problem) {
    return problem->boundary[STENCIL_Z] == STENCIL_MIRROR &&
           problem->radius[STENCIL_Z] != problem->shape->radius;
}

static bool has_short_points(const stencil_problem *problem) {
    bool reach_less = false;
    for (int axis = STENCIL_Y; axis < STENCIL_AXES; axis++)
        reach_less = reach_less || (problem->boundary[axis] != STENCIL_FIXED &&
                                    problem->radius[axis] != problem->shape->radius);
    return reach_less;
}

static bool has_few_steps(const stencil_plan *plan, const stencil_problem *problem) {
    return plan->depth == 1 && stencil_sweep_longest(plan, problem) == 1;
}

static uint32_t needs_of(const stencil_plan *plan, const stencil_problem *problem) {
    uint32_t needs = 0;
#define STENCIL_NEED(bit, when, why) needs |= (when) ? STENCIL_CAN(bit) : 0;
#include "solver/plan/needs.def"
    return needs;
}

static const char *const why_not[] = {
#define STENCIL_NEED(bit, when, why) why,
#include "solver/plan/needs.def"
};

/* The last variant of a sweep that has an ability. */
static const stencil_variant *last_that_can(stencil_sweep_id sweep, const stencil_problem *problem,
                                            stencil_need need) {
    const stencil_variant *last = NULL;
    for (const stencil_variant *v = variants_of(sweep, problem); v->can != 0; v++)
        last = (v->can >> need & 1) != 0 ? v : last;
    return last;
}

bool stencil_sweep_can(stencil_sweep_id sweep, const stencil_problem *problem, stencil_need need) {
    return last_that_can(sweep, problem, need) != NULL;
}

static stencil_need need_of(stencil_backend backend) {
    return backend == STENCIL_BACKEND_CPU ? STENCIL_NEED_CPU : STENCIL_NEED_GPU;
}

bool stencil_sweep_choose(stencil_plan *plan, const stencil_problem *problem) {
    const stencil_variant *v = variants_of(plan->sweep, problem);
    const uint32_t needs = needs_of(plan, problem);
    int farthest = -1;
    for (; v->can != 0 && (needs & ~v->can) != 0; v++) {
        const int lacked = __builtin_ctz(needs & ~v->can);
        farthest = lacked > farthest ? lacked : farthest;
    }
    plan->why_not = farthest >= 0 ? why_not[farthest] : "";
    plan->variant = v->can != 0 ? v : last_that_can(plan->sweep, problem, need_of(plan->backend));
    return v->can != 0;
}

stencil_sweep_id stencil_sweep_usual(const stencil_plan *plan, const stencil_problem *problem, int depth) {
    stencil_plan by = *plan;
    for (int sweep = 0; sweep < STENCIL_SWEEP_COUNT; sweep++) {
        by.sweep = (stencil_sweep_id)sweep;
        if (stencil_sweep_infos[sweep].host->depth >= depth && stencil_sweep_choose(&by, problem))
            return by.sweep;
    }
    return (stencil_sweep_id)0;
}

void stencil_sweep_suit(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    plan->depth = plan->variant->by->suits(plan, problem, machine);
    if (plan->layout.kind == STENCIL_PASS_STRIPS && plan->depth > 1) {
        plan->layout = plan->variant->by->place(plan, problem, machine);
        memcpy(plan->tile, plan->layout.tile, sizeof plan->tile);
    }
}

double stencil_sweep_traffic(const stencil_plan *plan, const stencil_problem *problem) {
    const double bytes =
        stencil_problem_arrays(problem) * (double)stencil_precision_bytes(problem->precision);
    if (plan->layout.kind == STENCIL_PASS_ON_CHIP)
        /* For a check in 2D the field is written twice around the checked step, and read twice to sum the
         * residual; in 3D halves of partial sums are written and read. Where checks are launches, two of them
         * read and write the field: that of the checked step and that of all others. */
        return (!stencil_plan_checks_inside(plan) ? 2 * bytes
                : plan->layout.each_step          ? 4.0 * sizeof(double) / STENCIL_PARTIAL_CELLS
                                                  : 4 * (double)stencil_precision_bytes(problem->precision)) /
               (double)stencil_sweep_passes(plan, problem).steps;
    return bytes / stencil_sweep_pass_steps(plan, problem);
}

void stencil_sweep_tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]) {
    memcpy(tile, plan->tile, sizeof plan->tile);
    if (plan->backend == STENCIL_BACKEND_GPU && plan->depth > 1)
        plan->variant->by->tile(plan, problem, tile);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        tile[axis] = stencil_smaller(tile[axis], plan->part[0].box.n[axis]);
}

stencil_pass_work stencil_sweep_work(const stencil_plan *plan, const stencil_problem *problem, int steps,
                                     bool checked) {
    stencil_pass_work all = {0};
    const int parts = stencil_plan_parts(plan);
    const double times = plan->cut.parts / parts; /* other ranks have as much work each */
    for (int p = 0; p < parts; p++) {
        const stencil_pass_work work =
            plan->variant->by->work(plan, problem, stencil_plan_first_part(plan) + p, steps, checked);
        all.cells += times * work.cells;
        all.longest += times * work.longest;
        all.wavefronts += times * work.wavefronts;
    }
    return all;
}

/* Adds the work of passes of `steps` steps; a pass of one step has no redundant cells. */
static void add_passes(stencil_pass_work *sum, const stencil_plan *plan, const stencil_problem *problem,
                       int64_t steps, double count, bool checked) {
    const double once = (double)stencil_problem_cells(problem) * (double)steps;
    stencil_pass_work work = {.cells = once, .longest = once};
    if (count <= 0)
        return;
    if (steps > 1)
        work = stencil_sweep_work(plan, problem, (int)steps, checked);
    sum->cells += count * work.cells;
    sum->longest += count * work.longest;
    sum->wavefronts += count * work.wavefronts;
}

stencil_pass_work stencil_sweep_mean(const stencil_plan *plan, const stencil_problem *problem) {
    const stencil_passes p = stencil_sweep_passes(plan, problem);
    const double all = (double)stencil_problem_cells(problem) * (double)p.steps;
    stencil_pass_work sum = {0};
    add_passes(&sum, plan, problem, plan->depth, p.whole, false);
    add_passes(&sum, plan, problem, plan->depth, p.around, true);
    add_passes(&sum, plan, problem, p.rest, p.rest > 0, false);
    add_passes(&sum, plan, problem, p.checked, p.checked > 0, true);
    add_passes(&sum, plan, problem, 1, p.first, true);
    return (stencil_pass_work){
        .cells = sum.cells / all, .longest = sum.longest / all, .wavefronts = sum.wavefronts / all};
}

double stencil_sweep_again(const stencil_plan *plan, const stencil_problem *problem) {
    return stencil_sweep_mean(plan, problem).cells - 1;
}

stencil_status stencil_sweep_has_kernels(stencil_sweep_id sweep, const stencil_machine *machine, int gpu) {
    const stencil_sweep_info *info = &stencil_sweep_infos[sweep];
    const stencil_gpu *on = &machine->gpu[gpu];
    const int needs = info->host->capability, code = stencil_gpu_code(on);
    const int64_t shared = info->host->shared_bytes, has = on->shared_per_block_bytes;
    char need_text[32], has_text[32];
    CHECK(on->capability >= needs, UNAVAILABLE,
          "--sweep %s needs a GPU of compute capability %d.%d, GPU %d has %d.%d: give --sweep %s", info->name,
          needs / 10, needs % 10, gpu, on->capability / 10, on->capability % 10, stencil_sweep_infos[0].name);
    CHECK(
        code >= needs, UNAVAILABLE,
        "--sweep %s needs code for compute capability %d.%d, this build has that of %d.%d for GPU %d: build "
        "with -DCMAKE_CUDA_ARCHITECTURES=%d, or give --sweep %s",
        info->name, needs / 10, needs % 10, code / 10, code % 10, gpu, on->capability,
        stencil_sweep_infos[0].name);
    CHECK(has == 0 || has >= shared, UNAVAILABLE,
          "--sweep %s needs %s of shared memory for a block, GPU %d has %s: give --sweep %s", info->name,
          stencil_bytes_text(shared, need_text), gpu, stencil_bytes_text(has, has_text),
          stencil_sweep_infos[0].name);
    return STENCIL_OK;
}

void stencil_sweep_note_depth(stencil_plan *plan, const stencil_run_options *options) {
    const stencil_sweep_info *sweep = &stencil_sweep_infos[plan->sweep];
    if (options->depth > plan->depth)
        stencil_notes_add(
            &plan->notes, "--depth %d: from one residual check to the next there %s %d step%s at most",
            options->depth, plan->depth == 1 ? "is" : "are", plan->depth, stencil_plural(plan->depth));
    else if (options->depth == 0 && plan->depth == 1 && plan->why_not[0] != '\0')
        stencil_notes_add(&plan->notes, "%s makes one step at a time here: %s", sweep->name, plan->why_not);
}

const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem,
                                      stencil_backend backend) {
    return stencil_sweep_can(sweep, problem, need_of(backend)) ? "" : why_not[need_of(backend)];
}
