/* The resident sweep: tiles that all multiprocessors together keep on chip for a whole launch. */
#include <math.h>

#include "solver/parts/workers.h"
#include "solver/plan/halves.h"
#include "solver/plan/sweeps/resident.h"

enum { DEPTH_MAX = 16 };

/* A way to lay the tiles, and what a step and an exchange take. */
typedef struct layout {
    stencil_resident tiles;
    int depth;
    stencil_resident_memory memory;
    double step_s, exchange_s;
} layout;

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
                 .general = stencil_sweep_is_general(problem),
                 .source = stencil_problem_has_source(problem)};
    for (int p = 1; p < s.parts; p++) {
        const stencil_part_plan *part = &plan->part[p];
        s.slots = (int)stencil_smaller(s.slots, machine->gpu[part->gpu].sm_count / part->sharing);
        s.linked = s.linked || part->gpu != plan->part[0].gpu;
    }
    if (stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_CLUSTERS)
        s.slots = stencil_plan_clusters(plan, gpu) * plan->tuning.cluster_blocks;
    return s;
}

/* An axis of a part, which has no tiles yet. */
static stencil_resident_axis axis_of(const subject *s, int axis, int part, int64_t length, int reach) {
    const stencil_problem *problem = s->problem;
    const int64_t n = problem->n[STENCIL_Y + axis];
    const bool cut = axis == 0 && s->parts > 1,
               fixed = problem->boundary[STENCIL_Y + axis] != STENCIL_PERIODIC,
               closed[2] = {fixed && (!cut || part == 0), fixed && (!cut || part == s->parts - 1)};
    return stencil_resident_axis_of(
        cut ? stencil_share(n, s->parts, part + 1) - stencil_share(n, s->parts, part) : n, length, s->radius,
        reach, closed, cut);
}

/* From the first to the last begin of a tile, and by how many tiles: round the axis, or along it. */
static int64_t span_of(const stencil_resident_axis *a) {
    return a->round ? a->n : a->n + a->outside[0] + a->outside[1] - a->length;
}
static int64_t steps_of(const stencil_resident_axis *a) {
    return a->tiles - !a->round;
}

/* Whether tiles cover their axis, and each has the ghost cells of the one beside it. */
static bool covers(const stencil_resident_axis *a) {
    const int64_t most = a->length - 2 * a->reach, span = span_of(a), steps = steps_of(a);
    if (steps == 0)
        return span == 0 && most >= a->reach;
    return most >= a->reach && span <= steps * most && span / steps >= a->reach;
}

/* How many do so in all parts; 0: there is no such number. */
static int64_t tiles_along(const subject *s, int axis, int64_t length, int reach) {
    const int64_t most = length - 2 * reach;
    const int parts = axis == 0 ? s->parts : 1;
    int64_t tiles = 1;
    for (int p = 0; p < parts && most > 0; p++) {
        const stencil_resident_axis a = axis_of(s, axis, p, length, reach);
        const int64_t steps = (span_of(&a) + most - 1) / most;
        tiles = steps + !a.round > tiles ? steps + !a.round : tiles;
    }
    for (int p = 0; p < parts; p++) {
        stencil_resident_axis a = axis_of(s, axis, p, length, reach);
        a.tiles = (int32_t)stencil_smaller(tiles, INT32_MAX);
        if (!covers(&a))
            return 0;
    }
    return tiles;
}

/* Warps make their rows one after the other, a lane's cells beside each other: what is beside that, and what
 * an exchange takes, were measured (machine/tuning.h). */
static void predict(const subject *s, layout *l, stencil_resident_shape shape) {
    enum { SCHEDULERS = 4 }; /* of a multiprocessor, from compute capability 7.0 on */
    const stencil_tuning *t = s->tuning;
    const int turns = (l->tiles.warps + SCHEDULERS - 1) / SCHEDULERS;
    const double fma = (double)turns * shape.rows * shape.cells * s->problem->shape->point_count;
    l->step_s =
        (t->resident_clocks + fma * (s->f64 ? t->resident_fma_f64 : t->resident_fma_f32)) / s->clocks_per_s;
    l->exchange_s = t->resident_exchange_s + s->linked * t->resident_link_s +
                    shape.rows * shape.cells * t->resident_cell_s +
                    l->memory.ghosts * (s->f64 ? t->resident_ghost_f64_s : t->resident_ghost_f32_s);
}

/* Whether tiles of a shape, so many warps and a depth do it. */
static bool lay(const subject *s, layout *l, int index, int warps, int depth) {
    const stencil_problem *problem = s->problem;
    const stencil_resident_shape shape = stencil_resident_shape_of(s->radius, s->f64, index);
    const int reach = s->radius * depth,
              weights = (s->general ? depth : 1) * (problem->shape->point_count + 1);
    int64_t tiles[2];
    if (s->general && shape.plain)
        return false;
    for (int axis = 0; axis < 2; axis++) {
        const int64_t length = axis == 0 ? warps * shape.rows + 2 * s->radius : 32 * shape.cells;
        tiles[axis] = tiles_along(s, axis, length, reach);
        if (tiles[axis] == 0 || tiles[axis] > s->slots)
            return false;
    }
    *l = (layout){.tiles = {.shape = index,
                            .warps = warps,
                            .tiles = {(int32_t)tiles[0], (int32_t)tiles[1]},
                            .tiles_z = 1,
                            .warps_z = 1},
                  .depth = depth,
                  .memory =
                      stencil_resident_memory_of(shape, s->radius, s->f64, warps, reach, weights, s->source)};
    if (tiles[0] * tiles[1] > s->slots || l->memory.bytes > s->shared_bytes)
        return false;
    predict(s, l, shape);
    return true;
}

/* The layout that is predicted to be quickest, of depths from `least` to `most`. */
static bool find(const subject *s, layout *best, int least, int most) {
    double best_s = INFINITY;
    for (int index = 0; index < STENCIL_RESIDENT_SHAPES; index++)
        for (int warps = 2; warps <= stencil_resident_shape_of(s->radius, s->f64, index).warps; warps++)
            for (int depth = least; depth <= most; depth++) {
                layout l;
                if (!lay(s, &l, index, warps, depth) || l.step_s + l.exchange_s / depth >= best_s)
                    continue;
                *best = l;
                best_s = l.step_s + l.exchange_s / depth;
            }
    return best_s < INFINITY;
}

static int suits(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    const subject s = subject_of(plan, problem, machine);
    const int most = (int)stencil_smaller(DEPTH_MAX, stencil_sweep_longest(plan, problem));
    layout l;
    if (problem->rank == 3)
        return (int)stencil_smaller(RESIDENT_BOX_DEPTH, most);
    return find(&s, &l, 2, most) ? l.depth : (int)stencil_smaller(2, most);
}

/* Cells that a multiprocessor holds. */
static int64_t most_of(const subject *s) {
    int64_t most = 0;
    for (int i = 0; i < STENCIL_RESIDENT_SHAPES; i++) {
        const stencil_resident_shape shape = stencil_resident_shape_of(s->radius, s->f64, i);
        most = -stencil_smaller(-most, (int64_t)-32 * shape.cells * shape.rows * shape.warps);
    }
    return most;
}

/* The tiles of a plan whose depth is chosen; false: there are none. */
static bool place_tiles(stencil_plan *plan, const subject *s) {
    layout l;
    if (s->problem->rank == 3) {
        box_layout box;
        if (!resident_box_find(s, &box, plan->depth))
            return false;
        plan->resident = box.tiles;
        plan->resident_bytes = resident_box_bytes(&box, s->f64);
        plan->resident_shared = box.memory.bytes;
        return true;
    }
    if (!find(s, &l, plan->depth, plan->depth))
        return false;
    plan->resident = l.tiles;
    plan->resident_bytes =
        (int64_t)stencil_resident_rows_of_words(l.tiles.tiles[0], s->parts > 1) * l.tiles.tiles[1] *
        (2 * l.memory.ghosts * stencil_ll_words(s->problem->precision) * (int64_t)sizeof(uint64_t) +
         (int64_t)sizeof(uint32_t));
    plan->resident_shared = l.memory.bytes;
    return true;
}

static const char *place(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    const subject s = subject_of(plan, problem, machine);
    if (plan->barrier == STENCIL_BARRIER_none)
        return "it is a persistent loop: give --sync neighbor, or another one with a barrier";
    if (problem->rank == 3 && plan->cut.parts > 1)
        return "in 3D it runs in one part, on one GPU";
    if (plan->cut.count[STENCIL_X] > 1)
        return "its parts lie one above the other: leave --cut out";
    if (plan->depth == 1)
        return stencil_sweep_longest(plan, problem) == 1 ? "too few steps lie between two residual checks"
                                                         : "its passes have two steps or more";
    for (int axis = STENCIL_Y; axis < STENCIL_AXES; axis++)
        if (problem->boundary[axis] != STENCIL_FIXED && problem->radius[axis] != problem->shape->radius)
            return "the points reach less far than their set along an axis that is not fixed";
    if (place_tiles(plan, &s))
        return "";
    const double most = (double)(problem->rank == 3 ? resident_box_most(&s) : most_of(&s));
    return (double)stencil_problem_updated_cells(problem) > 0.5 * s.parts * s.slots * most
               ? "the field has more cells than the multiprocessors hold"
               : "the field is too small or too narrow to be cut into tiles";
}

static void deepen(stencil_plan *plan, const stencil_problem *problem) {
    stencil_kernel *kernel = &plan->kernel;
    const stencil_resident *tiles = &plan->resident;
    kernel->deep = stencil_resident_kernel(kernel->shape, kernel->precision,
                                           stencil_sweep_is_general(problem), tiles->shape);
    kernel->depth = DEPTH_MAX;
    kernel->deep_threads = 32 * tiles->warps;
    kernel->deep_bytes = plan->resident_shared;
}

static void seconds(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine,
                    double *step_s, double *exchange_s) {
    const subject s = subject_of(plan, problem, machine);
    layout l = {.depth = plan->depth};
    if (problem->rank == 3) {
        box_layout box = {0};
        resident_box_lay(&s, &box, &plan->resident, plan->depth);
        *step_s = box.step_s;
        *exchange_s = box.exchange_s * stencil_sweep_pass_steps(plan, problem); /* behind each step */
        return;
    }
    lay(&s, &l, plan->resident.shape, plan->resident.warps, plan->depth);
    *step_s = l.step_s;
    *exchange_s = l.exchange_s;
}

static stencil_resident_shape shape_of(const stencil_plan *plan, const stencil_problem *problem) {
    return stencil_resident_shape_of(problem->shape->radius, problem->precision == STENCIL_FLOAT64,
                                     plan->resident.shape);
}

static void deep_tile(const stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                      int64_t tile[3]) {
    const stencil_resident_shape shape = shape_of(plan, problem);
    (void)n;
    if (problem->rank == 3) {
        const stencil_box_extent box = stencil_box_extent_of(resident_box_shape(problem, &plan->resident),
                                                             plan->resident.warps, plan->resident.warps_z);
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            tile[axis] = box.cells[axis];
        return;
    }
    tile[STENCIL_Z] = 1;
    tile[STENCIL_Y] = (int64_t)plan->resident.warps * shape.rows;
    tile[STENCIL_X] = 32 * shape.cells;
}

/* All cells of all tiles, in each step. Through shared memory go neighbours along x, by shuffles, 4 bytes of
 * a lane in a wavefront, the outer rows of the warps, and the source term. */
static stencil_pass_work work(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked) {
    enum { LANE_BYTES = 4 };
    const stencil_resident_shape shape = shape_of(plan, problem);
    const double radius = problem->shape->radius,
                 words = (double)stencil_precision_bytes(problem->precision) / LANE_BYTES,
                 warps =
                     (double)plan->resident.tiles[0] * plan->resident.tiles[1] * plan->resident.warps * steps,
                 source = stencil_problem_has_source(problem) ? shape.rows * shape.cells : 0,
                 cells = warps * 32 * shape.cells * shape.rows;
    (void)part, (void)checked; /* one that is checked is a step by itself */
    if (problem->rank == 3)
        return resident_box_work(problem, &plan->resident, steps);
    return (stencil_pass_work){.cells = cells,
                               .longest = cells,
                               .wavefronts =
                                   warps * words * (2 * radius * (shape.rows + 2 * shape.cells) + source)};
}

const stencil_sweep_host stencil_sweep_resident = {.depth = DEPTH_MAX,
                                                   .gpu_only = true,
                                                   .resident = true,
                                                   .deep_tile = deep_tile,
                                                   .work = work,
                                                   .shape = stencil_shape_stream,
                                                   .suits = suits,
                                                   .place = place,
                                                   .deepen = deepen,
                                                   .seconds = seconds};
