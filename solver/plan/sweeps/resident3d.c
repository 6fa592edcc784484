/* The resident sweep in 3D: layout of tiles, and their predicted cost. */
#include <math.h>

#include "solver/plan/sweeps/resident.h"

enum { AXES = 3 };

static stencil_box_shape shape_of(const stencil_problem *problem, int index) {
    return stencil_box_shape_of(problem->shape->radius, problem->precision == STENCIL_FLOAT64, index);
}

static int warps_most(const stencil_problem *problem, int shape) {
    return shape_of(problem, shape).warps;
}

static void extent(const stencil_problem *problem, const stencil_resident *tiles, int64_t cells[3]) {
    const stencil_box_extent box =
        stencil_box_extent_of(shape_of(problem, tiles->shape), tiles->warps, tiles->warps_z);
    for (int axis = 0; axis < AXES; axis++)
        cells[axis] = box.cells[axis];
}

/* Number of tiles of `length` cells that cover n cells and begin at least a radius apart; 0: impossible. */
static int64_t tiles_along(int64_t n, int64_t length, int radius, bool open) {
    const int64_t span = open ? n : n - length; /* range of the tiles' begins */
    if (span < 0)
        return 0;
    if (span == 0)
        return 1;
    const int64_t steps = (span + length - 1) / length;
    return span / steps >= radius ? steps + !open : 0;
}

/* Cells that a lane reads from shared memory in a step: neighbours in and around its own rows. */
static int reads_of(const stencil_shape *set, stencil_box_shape b) {
    const int r = set->radius, cells = STENCIL_BOX_CELLS, own = b.rows * b.planes;
    if (set->rule == STENCIL_STAR)
        return 2 * r * (own + cells * (b.rows + b.planes));
    return (b.rows + 2 * r) * (b.planes + 2 * r) * (cells + 2 * r) - own * cells;
}

/* Predicts the seconds of a step: the slower of fma pipe and shared memory, then the stores of all cells to
 * shared memory; overheads and the exchange are measured constants (machine/tuning.h). */
static void predict(const subject *s, stencil_pass_layout *l, stencil_box_shape b,
                    const stencil_box_memory *memory) {
    enum { SCHEDULERS = 4 }; /* warp schedulers of a multiprocessor, from compute capability 7.0 on */
    const stencil_tuning *t = s->tuning;
    const int turns = (l->resident.warps + SCHEDULERS - 1) / SCHEDULERS,
              own = b.rows * b.planes * STENCIL_BOX_CELLS, words = s->f64 ? 2 : 1;
    const double fma = (double)turns * own * s->problem->shape->point_count * words,
                 reads = (double)l->resident.warps * words * reads_of(s->problem->shape, b),
                 writes = (double)l->resident.warps * words * own;
    l->step_s = (t->box_clocks + t->box_fma * fmax(fma, reads) + writes) / s->clocks_per_s;
    l->check_s = t->box_check_s;
    l->exchange_s = t->box_exchange_s + (memory->edges > 0 ? t->box_edges_s : 0) +
                    memory->slab[STENCIL_BOX_SLABS] * (s->f64 ? t->box_group_f64_s : t->box_group_f32_s);
}

static bool lay(const subject *s, stencil_pass_layout *l, int depth) {
    const stencil_problem *problem = s->problem;
    stencil_resident *tiles = &l->resident;
    const stencil_box_shape b = shape_of(problem, tiles->shape);
    const stencil_box_extent tile = stencil_box_extent_of(b, tiles->warps, tiles->warps_z);
    const int weights = s->general ? depth * (problem->shape->point_count + 1) : 0;
    int32_t *const along[AXES] = {&tiles->tiles_z, &tiles->tiles[0], &tiles->tiles[1]};
    for (int64_t axis = 0, slots = s->slots; axis < AXES; slots /= *along[axis++]) {
        const int64_t count = tiles_along(problem->n[axis], tile.cells[axis], s->radius,
                                          problem->boundary[axis] == STENCIL_PERIODIC);
        if (count == 0 || count > slots)
            return false;
        *along[axis] = (int32_t)count;
    }
    const stencil_box_memory memory =
        stencil_box_memory_of(&tile, s->radius, problem->shape->rule == STENCIL_STAR, s->f64, weights);
    l->shared_bytes = memory.bytes;
    if (s->classed)
        l->shared_bytes =
            stencil_box_classes_at(&memory) + stencil_box_classes_bytes(b, tiles->warps, s->general);
    l->resident_bytes =
        (int64_t)stencil_resident_tiles(tiles) * (stencil_box_word_bytes(s->f64) + (int64_t)sizeof(uint32_t));
    predict(s, l, b, &memory);
    return memory.slab[STENCIL_BOX_SLABS] <= STENCIL_BOX_GROUPS;
}

static bool checks(const stencil_problem *problem) {
    return stencil_box_aligns(problem->n[STENCIL_X], problem->shape->radius);
}

static double wavefronts(const stencil_problem *problem, const stencil_resident *tiles) {
    const stencil_box_shape b = shape_of(problem, tiles->shape);
    const double words = problem->precision == STENCIL_FLOAT64 ? 2 : 1;
    return words * (reads_of(problem->shape, b) + b.rows * b.planes * STENCIL_BOX_CELLS);
}

/* Tiles in 3D exchange ghost cells in each step, so the depth of a pass costs nothing. */
const resident_rank resident_rank_3d = {.depth = 8,
                                        .each_step = true,
                                        .checks = checks,
                                        .warps_most = warps_most,
                                        .extent = extent,
                                        .lay = lay,
                                        .wavefronts = wavefronts};
