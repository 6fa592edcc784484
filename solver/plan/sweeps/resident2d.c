/* The resident sweep in 2D: layout of tiles, and their predicted cost. */
#include "solver/parts/workers.h"
#include "solver/plan/sweeps/resident.h"

static stencil_resident_shape shape_of(const stencil_problem *problem, int index) {
    return stencil_resident_shape_of(problem->shape->radius, problem->precision == STENCIL_FLOAT64, index);
}

static int warps_most(const stencil_problem *problem, int shape) {
    return shape_of(problem, shape).warps;
}

static void extent(const stencil_problem *problem, const stencil_resident *tiles, int64_t cells[3]) {
    const stencil_resident_shape shape = shape_of(problem, tiles->shape);
    cells[STENCIL_Z] = 1;
    cells[STENCIL_Y] = (int64_t)tiles->warps * shape.rows;
    cells[STENCIL_X] = 32 * shape.cells;
}

/* Describes an axis of a part for tiles of `length` cells; the number of tiles is not set. */
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

/* Span: cells from the begin of the first tile to that of the last, or around a periodic axis. Steps:
 * distances between begins of neighbouring tiles in the span. */
static int64_t span_of(const stencil_resident_axis *a) {
    return a->round ? a->n : a->n + a->outside[0] + a->outside[1] - a->length;
}
static int64_t steps_of(const stencil_resident_axis *a) {
    return a->tiles - !a->round;
}

/* Tells whether the tiles cover their axis, and each tile owns all ghost cells of the next one. */
static bool covers(const stencil_resident_axis *a) {
    const int64_t most = a->length - 2 * a->reach, span = span_of(a), steps = steps_of(a);
    if (steps == 0)
        return span == 0 && most >= a->reach;
    return most >= a->reach && span <= steps * most && span / steps >= a->reach;
}

/* Returns the least number of tiles that cover an axis in every part; 0: no number does. */
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

/* Predicts the seconds of a step from the fma of a scheduler's warps, and of an exchange; overheads are
 * measured constants (machine/tuning.h). */
static void predict(const subject *s, stencil_pass_layout *l, stencil_resident_shape shape, int ghosts) {
    enum { SCHEDULERS = 4 }; /* warp schedulers of a multiprocessor, from compute capability 7.0 on */
    const stencil_tuning *t = s->tuning;
    const int turns = (l->resident.warps + SCHEDULERS - 1) / SCHEDULERS;
    const double fma = (double)turns * shape.rows * shape.cells * s->problem->shape->point_count;
    l->step_s =
        (t->resident_clocks + fma * (s->f64 ? t->resident_fma_f64 : t->resident_fma_f32)) / s->clocks_per_s;
    l->exchange_s = t->resident_exchange_s + s->linked * t->resident_link_s +
                    shape.rows * shape.cells * t->resident_cell_s +
                    ghosts * (s->f64 ? t->resident_ghost_f64_s : t->resident_ghost_f32_s);
}

/* Returns the nodes of the residual of a part, the most of any. */
static int64_t nodes_of(const subject *s) {
    const int64_t *n = s->problem->n,
                  across = (n[STENCIL_X] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS,
                  rows = (n[STENCIL_Y] + s->parts - 1) / s->parts;
    return rows * across * STENCIL_PARTIAL_NODES;
}

/* Lays out tiles of at least two warps, stacked along y (resident_rank.lay). */
static bool lay(const subject *s, stencil_pass_layout *l, int depth) {
    stencil_resident *tiles = &l->resident;
    const stencil_resident_shape shape = shape_of(s->problem, tiles->shape);
    const int reach = stencil_resident_reach(s->radius, depth),
              weights = (s->general ? depth : 1) * (s->problem->shape->point_count + 1);
    const bool in_rows = s->general && s->problem->palette_count > 0;
    if (tiles->warps < 2 || tiles->warps_z > 1 || (s->general && shape.plain) || (in_rows && shape.mixed > 0))
        return false;
    if (s->parts > 1 && reach > s->radius * depth) /* a part has no more ghost cells */
        return false;
    for (int64_t axis = 0, slots = s->slots; axis < 2; slots /= tiles->tiles[axis++]) {
        const int64_t length = axis == 0 ? tiles->warps * shape.rows + 2 * s->radius : 32 * shape.cells,
                      count = tiles_along(s, (int)axis, length, reach);
        if (count == 0 || count > slots)
            return false;
        tiles->tiles[axis] = (int32_t)count;
    }
    const stencil_resident_memory memory = stencil_resident_memory_of(
        shape, s->radius, s->f64, tiles->warps, reach, weights, s->source,
        in_rows ? (s->problem->palette_count + 1) * stencil_resident_of_class(s->problem->shape->point_count)
                : 0);
    const int64_t rows = stencil_resident_rows_of_words(tiles->tiles[0], s->parts > 1),
                  words = 2 * memory.ghosts * stencil_ll_words(s->problem->precision);
    tiles->tiles_z = 1;
    l->node_count = nodes_of(s);
    l->kept_bytes = (int64_t)stencil_resident_tiles(tiles) * tiles->warps * shape.rows * 32 * shape.cells *
                    (s->f64 ? 8 : 4);
    l->shared_bytes =
        memory.bytes + (s->classed ? stencil_resident_kept_bytes(shape, tiles->warps, s->general) : 0);
    l->resident_bytes =
        rows * tiles->tiles[1] * (words * (int64_t)sizeof(uint64_t) + (int64_t)sizeof(uint32_t));
    predict(s, l, shape, memory.ghosts);
    l->check_s = s->tuning->resident_launch_s;
    return true;
}

/* Counts what passes through shared memory: neighbours along x by shuffles, 4 bytes of a lane per wavefront,
 * the outer rows of warps, and the source term. */
static double wavefronts(const stencil_problem *problem, const stencil_resident *tiles) {
    enum { LANE_BYTES = 4 };
    const stencil_resident_shape shape = shape_of(problem, tiles->shape);
    const double radius = problem->shape->radius,
                 words = (double)stencil_precision_bytes(problem->precision) / LANE_BYTES,
                 source = stencil_problem_has_source(problem) ? shape.rows * shape.cells : 0;
    return words * (2 * radius * (shape.rows + 2 * shape.cells) + source);
}

static bool checks(const stencil_problem *problem) {
    (void)problem;
    return true;
}

const resident_rank resident_rank_2d = {.depth = RESIDENT_DEPTH,
                                        .checks = checks,
                                        .warps_most = warps_most,
                                        .extent = extent,
                                        .lay = lay,
                                        .wavefronts = wavefronts};
