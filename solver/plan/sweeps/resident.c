/* The resident sweep: tiles that all multiprocessors together keep on chip for a whole launch. */
#include <math.h>

#include "solver/parts/workers.h"
#include "solver/plan/sweeps/resident.h"

/* A way to lay the tiles, and what a step and an exchange take. */
typedef struct layout {
    stencil_resident tiles;
    int depth;
    stencil_resident_memory memory;
    double step_s, exchange_s;
} layout;

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
    const subject s = resident_subject(plan, problem, machine);
    const int most = (int)stencil_smaller(RESIDENT_DEPTH, stencil_sweep_longest(plan, problem));
    layout l;
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

static stencil_pass_layout place(const stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_machine *machine) {
    const subject s = resident_subject(plan, problem, machine);
    layout l = {0};
    if (!find(&s, &l, plan->depth, plan->depth))
        return resident_refused(&s, most_of(&s));
    const int64_t rows = stencil_resident_rows_of_words(l.tiles.tiles[0], s.parts > 1),
                  words = 2 * l.memory.ghosts * stencil_ll_words(problem->precision);
    return (stencil_pass_layout){.kind = STENCIL_PASS_ON_CHIP,
                                 .refusal = "",
                                 .resident = l.tiles,
                                 .resident_bytes =
                                     rows * l.tiles.tiles[1] *
                                     (words * (int64_t)sizeof(uint64_t) + (int64_t)sizeof(uint32_t)),
                                 .shared_bytes = l.memory.bytes,
                                 .step_s = l.step_s,
                                 .exchange_s = l.exchange_s};
}

static stencil_resident_shape shape_of(const stencil_plan *plan, const stencil_problem *problem) {
    return stencil_resident_shape_of(problem->shape->radius, problem->precision == STENCIL_FLOAT64,
                                     plan->layout.resident.shape);
}

static void tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]) {
    const stencil_resident_shape shape = shape_of(plan, problem);
    tile[STENCIL_Z] = 1;
    tile[STENCIL_Y] = (int64_t)plan->layout.resident.warps * shape.rows;
    tile[STENCIL_X] = 32 * shape.cells;
}

/* All cells of all tiles, in each step. Through shared memory go neighbours along x, by shuffles, 4 bytes of
 * a lane in a wavefront, the outer rows of the warps, and the source term. */
static stencil_pass_work work(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked) {
    enum { LANE_BYTES = 4 };
    const stencil_resident *tiles = &plan->layout.resident;
    const stencil_resident_shape shape = shape_of(plan, problem);
    const double radius = problem->shape->radius,
                 words = (double)stencil_precision_bytes(problem->precision) / LANE_BYTES,
                 warps = (double)stencil_resident_tiles(tiles) * tiles->warps * steps,
                 source = stencil_problem_has_source(problem) ? shape.rows * shape.cells : 0,
                 cells = warps * 32 * shape.cells * shape.rows;
    (void)part, (void)checked; /* one that is checked is a step by itself */
    return (stencil_pass_work){.cells = cells,
                               .longest = cells,
                               .wavefronts =
                                   warps * words * (2 * radius * (shape.rows + 2 * shape.cells) + source)};
}

static const stencil_maker passes = {
    STENCIL_SWEEP_resident, false, false, resident_limits, suits, place, tile, resident_enter, work};
static const stencil_sweep_table resident_2d = {
    .variant = {{RESIDENT_CAN | STENCIL_CAN(PARTS), &passes, false},
                {RESIDENT_CAN_GENERAL | STENCIL_CAN(PARTS), &passes, true}},
    .shape = stencil_shape_stream_2d};
const stencil_sweep_host stencil_sweep_resident = {
    .depth = RESIDENT_DEPTH, .guess = 1, .rank = {&resident_2d, &resident_3d}};
