/* The resident sweep in 3D: tiles, and what they take. */
#include <math.h>

#include "solver/parts/workers.h"
#include "solver/plan/sweeps/resident.h"

/* DEPTH: steps of a pass, which is only what is counted, since each step has its exchange. */
enum { LANES = 32, AXES = 3, DEPTH = 8 };

/* A way to lay the tiles, and what a step and the exchange behind it take. */
typedef struct box_layout {
    stencil_resident tiles;
    stencil_box_memory memory;
    double step_s, exchange_s;
} box_layout;

static stencil_box_shape shape_of(const stencil_problem *problem, const stencil_resident *tiles) {
    return stencil_box_shape_of(problem->shape->radius, problem->precision == STENCIL_FLOAT64, tiles->shape);
}

/* Tiles of `length` cells that cover n, each beginning at least a radius behind the one before; 0: none do.
 */
static int64_t tiles_along(int64_t n, int64_t length, int radius, bool open) {
    const int64_t span = open ? n : n - length; /* of where they begin */
    if (span < 0)
        return 0;
    if (span == 0)
        return 1;
    const int64_t steps = (span + length - 1) / length;
    return span / steps >= radius ? steps + !open : 0;
}

/* Reads of a lane from shared memory in a step: neighbours in its own rows, and rows around them. */
static int reads_of(const stencil_shape *set, stencil_box_shape b) {
    const int r = set->radius, cells = STENCIL_BOX_CELLS, own = b.rows * b.planes;
    if (set->rule == STENCIL_STAR)
        return 2 * r * (own + cells * (b.rows + b.planes));
    return (b.rows + 2 * r) * (b.planes + 2 * r) * (cells + 2 * r) - own * cells;
}

/* The fma pipe and shared memory are busy side by side, whatever takes longer; then all cells are published.
 * What is beside that, and what an exchange takes, were measured (machine/tuning.h). */
static void predict(const subject *s, box_layout *l, stencil_box_shape b) {
    enum { SCHEDULERS = 4 }; /* of a multiprocessor, from compute capability 7.0 on */
    const stencil_tuning *t = s->tuning;
    const int turns = (l->tiles.warps + SCHEDULERS - 1) / SCHEDULERS,
              own = b.rows * b.planes * STENCIL_BOX_CELLS, words = s->f64 ? 2 : 1;
    const double fma = (double)turns * own * s->problem->shape->point_count * words,
                 reads = (double)l->tiles.warps * words * reads_of(s->problem->shape, b),
                 writes = (double)l->tiles.warps * words * own;
    l->step_s = (t->box_clocks + t->box_fma * fmax(fma, reads) + writes) / s->clocks_per_s;
    l->exchange_s = t->box_exchange_s + (l->memory.edges > 0 ? t->box_edges_s : 0) +
                    l->memory.slab[STENCIL_BOX_SLABS] * (s->f64 ? t->box_group_f64_s : t->box_group_f32_s);
}

/* With the shape and the warps of `tiles`, in passes of `depth` steps; false: they do not cover the field. */
static bool lay(const subject *s, box_layout *l, const stencil_resident *tiles, int depth) {
    const stencil_problem *problem = s->problem;
    const stencil_box_shape b = shape_of(problem, tiles);
    const stencil_box_extent tile = stencil_box_extent_of(b, tiles->warps, tiles->warps_z);
    const int weights = s->general ? depth * (problem->shape->point_count + 1) : 0;
    int64_t count[AXES], all = 1;
    for (int axis = 0; axis < AXES; axis++) {
        count[axis] = tiles_along(problem->n[axis], tile.cells[axis], s->radius,
                                  problem->boundary[axis] == STENCIL_PERIODIC);
        if (count[axis] == 0 || count[axis] > s->slots)
            return false;
        all *= count[axis];
    }
    *l = (box_layout){.tiles = {.shape = tiles->shape,
                                .warps = tiles->warps,
                                .warps_z = tiles->warps_z,
                                .tiles = {(int32_t)count[1], (int32_t)count[2]},
                                .tiles_z = (int32_t)count[0]},
                      .memory = stencil_box_memory_of(&tile, s->radius, problem->shape->rule == STENCIL_STAR,
                                                      s->f64, weights)};
    if (all > s->slots || l->memory.bytes > s->shared_bytes ||
        l->memory.slab[STENCIL_BOX_SLABS] > STENCIL_BOX_GROUPS)
        return false;
    predict(s, l, b);
    return true;
}

/* The one that is predicted to be quickest. */
static bool find(const subject *s, box_layout *best, int depth) {
    double best_s = INFINITY;
    for (int shape = 0; shape < STENCIL_BOX_SHAPES; shape++)
        for (int warps = 1; warps <= stencil_box_shape_of(s->radius, s->f64, shape).warps; warps++)
            for (int warps_z = 1; warps_z <= warps; warps_z++) {
                const stencil_resident tiles = {.shape = shape, .warps = warps, .warps_z = warps_z};
                box_layout l;
                if (warps % warps_z != 0 || !lay(s, &l, &tiles, depth) || l.step_s + l.exchange_s >= best_s)
                    continue;
                *best = l;
                best_s = l.step_s + l.exchange_s;
            }
    return best_s < INFINITY;
}

/* Cells that a multiprocessor holds. */
static int64_t most_of(const subject *s) {
    int64_t most = 0;
    for (int shape = 0; shape < STENCIL_BOX_SHAPES; shape++) {
        const stencil_box_shape b = stencil_box_shape_of(s->radius, s->f64, shape);
        most = -stencil_smaller(-most, -(int64_t)b.rows * b.planes * b.warps * STENCIL_BOX_CELLS * LANES);
    }
    return most;
}

static int suits(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    (void)machine;
    return (int)stencil_smaller(DEPTH, stencil_sweep_longest(plan, problem));
}

static stencil_pass_layout place(const stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_machine *machine) {
    const subject s = resident_subject(plan, problem, machine);
    box_layout l = {0};
    if (!find(&s, &l, plan->depth))
        return resident_refused(&s, most_of(&s));
    return (stencil_pass_layout){.kind = STENCIL_PASS_ON_CHIP,
                                 .refusal = "",
                                 .resident = l.tiles,
                                 .resident_bytes =
                                     (int64_t)stencil_resident_tiles(&l.tiles) *
                                     (stencil_box_word_bytes(s.f64) + (int64_t)sizeof(uint32_t)),
                                 .shared_bytes = l.memory.bytes,
                                 .each_step = true,
                                 .step_s = l.step_s,
                                 .exchange_s = l.exchange_s};
}

static void tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]) {
    const stencil_resident *tiles = &plan->layout.resident;
    const stencil_box_extent box =
        stencil_box_extent_of(shape_of(problem, tiles), tiles->warps, tiles->warps_z);
    for (int axis = 0; axis < AXES; axis++)
        tile[axis] = box.cells[axis];
}

static stencil_pass_work work(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked) {
    const stencil_resident *tiles = &plan->layout.resident;
    const stencil_box_shape b = shape_of(problem, tiles);
    const double warps = (double)stencil_resident_tiles(tiles) * tiles->warps * steps,
                 own = b.rows * b.planes * STENCIL_BOX_CELLS,
                 words = problem->precision == STENCIL_FLOAT64 ? 2 : 1;
    (void)part, (void)checked; /* one that is checked is a step by itself */
    return (stencil_pass_work){.cells = warps * LANES * own,
                               .longest = warps * LANES * own,
                               .wavefronts = warps * words * (reads_of(problem->shape, b) + own)};
}

static const stencil_maker passes = {
    STENCIL_SWEEP_resident, false, false, resident_limits, suits, place, tile, resident_enter, work};
const stencil_sweep_table resident_3d = {
    .variant = {{RESIDENT_CAN, &passes, false}, {RESIDENT_CAN_GENERAL, &passes, true}},
    .shape = stencil_shape_stream_3d};
