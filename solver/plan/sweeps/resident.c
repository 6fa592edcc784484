/* The resident sweep: the multiprocessors keep all tiles of the field on chip for a whole launch. */
#include <math.h>

#include "solver/plan/halves.h"
#include "solver/plan/sweeps/resident.h"

static const resident_rank *rank_of(const stencil_problem *problem) {
    static const resident_rank *const ranks[] = {&resident_rank_2d, &resident_rank_3d};
    return ranks[problem->rank - 2];
}

static subject subject_of(const stencil_plan *plan, const stencil_problem *problem,
                          const stencil_machine *machine) {
    const stencil_gpu *gpu = &machine->gpu[plan->part[0].gpu];
    subject s = {.problem = problem,
                 .tuning = &plan->tuning,
                 .clocks_per_s = 1e3 * gpu->clock_khz,
                 .shared_bytes = gpu->shared_per_block_bytes,
                 .radius = problem->shape->radius,
                 .parts = plan->cut.parts,
                 .slots = gpu->sm_count / plan->part[0].sharing,
                 .f64 = problem->precision == STENCIL_FLOAT64,
                 .general = plan->variant->general,
                 .source = stencil_problem_has_source(problem),
                 .classed = stencil_problem_has_classes(problem)};
    for (int p = 1; p < stencil_plan_parts(plan); p++) {
        const stencil_part_plan *part = &plan->part[p];
        s.slots = (int)stencil_smaller(s.slots, machine->gpu[part->gpu].sm_count / part->sharing);
        s.linked = s.linked || !stencil_plan_on_one_gpu(plan, p, 0);
    }
    if (stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_CLUSTERS)
        s.slots = stencil_plan_clusters(plan, gpu) * plan->tuning.cluster_blocks;
    return s;
}

/* Finds the layout that is predicted to be fastest, for passes of `least` to `most` steps. Returns its steps
 * of a pass; 0: no tiles cover the field. */
static int find(const subject *s, stencil_pass_layout *best, int least, int most) {
    const resident_rank *rank = rank_of(s->problem);
    double best_s = INFINITY;
    int best_depth = 0;
    for (int shape = 0; shape < STENCIL_RESIDENT_SHAPES; shape++)
        for (int warps = 1; warps <= rank->warps_most(s->problem, shape); warps++)
            for (int warps_z = 1; warps_z <= warps; warps_z++)
                for (int depth = least; depth <= most && warps % warps_z == 0; depth++) {
                    stencil_pass_layout l = {.kind = STENCIL_PASS_ON_CHIP,
                                             .resident = {.shape = shape, .warps = warps, .warps_z = warps_z},
                                             .each_step = rank->each_step,
                                             .checks = rank->checks(s->problem)};
                    if (!rank->lay(s, &l, depth) || l.shared_bytes > s->shared_bytes)
                        continue;
                    const double step_s = l.step_s + l.exchange_s / (l.each_step ? 1 : depth);
                    if (step_s < best_s) {
                        *best = l;
                        best_s = step_s;
                        best_depth = depth;
                    }
                }
    return best_depth;
}

/* Chooses the steps of a pass; any number is as good where tiles exchange ghost cells after each step. */
static int suits(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    const subject s = subject_of(plan, problem, machine);
    const resident_rank *rank = rank_of(problem);
    const int most = (int)stencil_smaller(rank->depth, stencil_sweep_longest(plan, problem));
    stencil_pass_layout l;
    const int depth = rank->each_step ? most : find(&s, &l, 2, most);
    return depth > 0 ? depth : (int)stencil_smaller(2, most);
}

/* Most cells of a tile that a multiprocessor can hold. */
static double most_of(const stencil_problem *problem) {
    const resident_rank *rank = rank_of(problem);
    double most = 0;
    for (int shape = 0; shape < STENCIL_RESIDENT_SHAPES; shape++) {
        stencil_box tile;
        const stencil_resident tiles = {
            .shape = shape, .warps = rank->warps_most(problem, shape), .warps_z = 1};
        rank->extent(problem, &tiles, tile.n);
        most = fmax(most, (double)stencil_box_cells(&tile));
    }
    return most;
}

static stencil_pass_layout place(const stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_machine *machine) {
    const subject s = subject_of(plan, problem, machine);
    const double cells = (double)stencil_problem_cells(problem);
    const bool shallow = problem->rank == 2 && s.parts > 1 && plan->depth <= stencil_resident_late(s.radius);
    stencil_pass_layout l = {
        .refusal = cells > 0.5 * s.parts * s.slots * most_of(problem)
                       ? "the field has more cells than the multiprocessors hold"
                   : shallow ? "in several parts its passes have three steps or more, two where points reach "
                               "farther, so that one can be checked"
                             : "the field is too small or too narrow to be cut into tiles"};
    find(&s, &l, plan->depth, plan->depth);
    return l;
}

static void tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]) {
    rank_of(problem)->extent(problem, &plan->layout.resident, tile);
}

static void enter(stencil_plan *plan) {
    stencil_kernel *kernel = &plan->kernel;
    const stencil_resident *tiles = &plan->layout.resident;
    kernel->deep = stencil_resident_kernel(kernel, plan->variant->general, tiles->shape);
    kernel->depth = RESIDENT_DEPTH;
    kernel->deep_threads = 32 * tiles->warps;
    kernel->deep_bytes = plan->layout.shared_bytes;
}

/* The work of a pass: all cells of all tiles are computed in each step. */
static stencil_pass_work work(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked) {
    const stencil_resident *tiles = &plan->layout.resident;
    const double all = (double)stencil_resident_tiles(tiles) * steps;
    stencil_box of_tile;
    (void)part, (void)checked; /* a check takes no cells more */
    tile(plan, problem, of_tile.n);
    const double cells = all * (double)stencil_box_cells(&of_tile);
    return (stencil_pass_work){.cells = cells,
                               .longest = cells,
                               .wavefronts =
                                   all * tiles->warps * rank_of(problem)->wavefronts(problem, tiles)};
}

/* Abilities of the resident sweep's kernels in 2D and 3D: plain, for fixed cells, general, and general for
 * all classes of cells. */
enum {
    CAN = STENCIL_CAN(GPU) | STENCIL_CAN(WORDS) | STENCIL_CAN(SHORT_MIRROR) | STENCIL_CAN(EVERY_STEP) |
          STENCIL_CAN(LAST_STEP) | STENCIL_CAN(NARROW),
    CAN_FIXED = CAN | STENCIL_CAN(FIXED),
    CAN_GENERAL = CAN | STENCIL_CAN_GENERAL,
    CAN_CLASSED = CAN_GENERAL | STENCIL_CAN(FIXED) | STENCIL_CAN(CLASS)
};
/* Any step of a pass may be checked; where the loop does not check, a checked step is a launch by itself. */
static stencil_pass_limits limits(const stencil_problem *problem, bool general) {
    (void)general;
    const bool checks = rank_of(problem)->checks(problem);
    return (stencil_pass_limits){.depth = RESIDENT_DEPTH, .checked = !checks, .levels = checks};
}
static const stencil_maker passes = {.sweep = STENCIL_SWEEP_resident,
                                     .limits = limits,
                                     .suits = suits,
                                     .place = place,
                                     .tile = tile,
                                     .enter = enter,
                                     .work = work};
const stencil_sweep_host stencil_sweep_resident = {
    .depth = RESIDENT_DEPTH,
    .guess = 1,
    .shape = stencil_stream_shape,
    .variant = {{{CAN | STENCIL_CAN(PARTS), &passes, false},
                 {CAN_FIXED | STENCIL_CAN(PARTS), &passes, false},
                 {CAN_GENERAL | STENCIL_CAN(PARTS), &passes, true},
                 {CAN_CLASSED | STENCIL_CAN(PARTS), &passes, true}},
                {{CAN, &passes, false},
                 {CAN_FIXED, &passes, false},
                 {CAN_GENERAL, &passes, true},
                 {CAN_CLASSED, &passes, true}}}};
