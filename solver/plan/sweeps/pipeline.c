/* The pipeline sweep: as many steps at once as make up for reading and writing the field once. */
#include <math.h>

#include "kernels/cpu.h"
#include "kernels/sweeps/pipeline.h"
#include "solver/plan/sweep.h"

extern const stencil_sweep_host stencil_sweep_pipeline;

static stencil_pipeline_shape shape_of(const stencil_problem *problem, bool checked) {
    return stencil_pipeline_shape_of(problem->shape->rule, problem->shape->radius,
                                     problem->precision == STENCIL_FLOAT64,
                                     stencil_sweep_is_general(problem) ? STENCIL_PIPELINE_GENERAL
                                     : checked                         ? STENCIL_PIPELINE_CHECKED
                                                                       : STENCIL_PIPELINE_PLAIN);
}

static stencil_pipeline_tile_shape tile_of(const stencil_problem *problem) {
    return stencil_pipeline_tile_of(problem->shape->rule, problem->shape->radius,
                                    problem->precision == STENCIL_FLOAT64, stencil_sweep_is_general(problem));
}

/* General passes sum nothing, nor do those of 3D fields. */
static int checked(const stencil_problem *problem) {
    return stencil_sweep_is_general(problem) || problem->rank == 3
               ? 1
               : stencil_pipeline_checked(problem->shape->rule, problem->shape->radius,
                                          problem->precision == STENCIL_FLOAT64);
}

/* General passes in 3D mirror as many planes as the set reaches over. */
static bool can_mirror_planes(const stencil_problem *problem) {
    return problem->boundary[STENCIL_Z] != STENCIL_MIRROR ||
           problem->radius[STENCIL_Z] == problem->shape->radius;
}

/* On a GPU passes of several steps are those of kernels that copy in bulk: launches for every problem, loops
 * for those that the plain kernel can do, and in 3D for all. */
static int most(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    const stencil_shape *shape = problem->shape;
    if (plan->backend == STENCIL_BACKEND_CPU)
        return STENCIL_DEPTH_MAX;
    const bool plain = !stencil_sweep_is_general(problem);
    bool can =
        problem->rank == 3 ? can_mirror_planes(problem) : plain || plan->barrier == STENCIL_BARRIER_none;
    for (int p = 0; p < plan->cut.parts || p == 0; p++)
        can = can && stencil_sweep_has_kernels(STENCIL_SWEEP_pipeline, &stencil_sweep_pipeline, machine,
                                               plan->part[p].gpu) == STENCIL_OK;
    if (!can)
        return 1;
    return problem->rank == 3
               ? tile_of(problem).depth
               : stencil_pipeline_depth(shape->rule, shape->radius, problem->precision == STENCIL_FLOAT64);
}

static int64_t narrowest(const stencil_plan *plan, const stencil_problem *problem) {
    if (plan->backend == STENCIL_BACKEND_CPU || problem->rank == 3)
        return 1;
    return 32 * shape_of(problem, false).cells - 2 * problem->shape->radius;
}

static int64_t lines_of(const stencil_plan *plan, const stencil_problem *problem) {
    return plan->deep_blocks * (STENCIL_PIPELINE_WARPS / shape_of(problem, false).stages);
}

/* Tiles of a part along an axis, in a pass of so many steps. */
static stencil_pipeline_tiles tiles_along(const stencil_plan *plan, const stencil_problem *problem, int part,
                                          int axis, int steps) {
    const stencil_pipeline_tile_shape tile = tile_of(problem);
    const int radius = problem->shape->radius, reach = radius * steps,
              cell = (int)stencil_precision_bytes(problem->precision);
    int beside[2];
    for (int side = 0; side < 2; side++)
        beside[side] = stencil_cut_side(&plan->cut, part, axis, side).ghosts > radius ? reach : radius;
    return axis == STENCIL_X
               ? stencil_pipeline_tiles_of(plan->part[part].box.n[axis], beside, reach, 32 * tile.cells,
                                           STENCIL_PIPELINE_VECTOR_BYTES / cell,
                                           STENCIL_PIPELINE_SECTOR_BYTES / cell)
               : stencil_pipeline_tiles_of(plan->part[part].box.n[axis], beside, reach,
                                           tile.warps * tile.rows, 1, 1);
}

/* In 3D tiles of columns and rows, some planes of them. In 2D strips follow each other, and each line of a
 * block has as many of their rows. */
static void deep_tile(const stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                      int64_t tile[3]) {
    if (problem->rank == 3) {
        const stencil_pipeline_tiles y = tiles_along(plan, problem, 0, STENCIL_Y, plan->depth),
                                     x = tiles_along(plan, problem, 0, STENCIL_X, plan->depth);
        const int64_t planes = n[STENCIL_Z] * y.count * x.count / plan->deep_blocks;
        tile[STENCIL_Z] = planes < 1 ? 1 : planes < n[STENCIL_Z] ? planes : n[STENCIL_Z];
        tile[STENCIL_Y] = y.step;
        tile[STENCIL_X] = x.step;
        return;
    }
    const int64_t reach = (int64_t)problem->shape->radius * plan->depth,
                  strips = (n[STENCIL_X] + narrowest(plan, problem) - 1) / narrowest(plan, problem),
                  rows = strips * n[STENCIL_Y] / lines_of(plan, problem);
    tile[STENCIL_Z] = 1;
    tile[STENCIL_Y] = rows < 1 ? 1 : rows < n[STENCIL_Y] ? rows : n[STENCIL_Y];
    tile[STENCIL_X] =
        stencil_smaller(narrowest(plan, problem) - 2 * (reach - problem->shape->radius), n[STENCIL_X]);
}

/* Rows that a line computes of its own among the rows of all strips: of each strip also those that a pass
 * reaches, and as many as it takes until the last stage has them. */
static int64_t rows_of(const stencil_pipeline_strips *strips, const int64_t own[2], int64_t lag, int above,
                       int unit) {
    int64_t count = 0;
    int y[2], from;
    for (int strip = (int)(own[0] / (strips->ny + strips->reach));
         stencil_pipeline_strip_rows(strips, own, strip, above, y, &from); strip++)
        count += y[1] > y[0] ? stencil_pipeline_up(y[1] + lag - from, unit) : 0;
    return count;
}

/* In 3D a warp computes all cells of its rows in each level, in turns that are as many more than the planes
 * of a piece as it takes until the last level has them, and as the pass reaches. It gets outer rows of other
 * warps through shared memory, planes are copied in, and a level exchanges columns as in 2D. */
static stencil_pass_work solid_work(const stencil_plan *plan, const stencil_problem *problem, int part,
                                    int steps) {
    enum { WAVEFRONT = 128, LANE_BYTES = 4 }; /* 32 banks of 4 bytes on every GPU */
    const stencil_shape *set = problem->shape;
    const stencil_pipeline_tile_shape tile = tile_of(problem);
    const int more = set->radius * steps + (set->radius + 1) * tile.depth;
    const stencil_pipeline_shares shares =
        stencil_pipeline_share((int)(tiles_along(plan, problem, part, STENCIL_Y, steps).count *
                                     tiles_along(plan, problem, part, STENCIL_X, steps).count),
                               plan->part[part].box.n[STENCIL_Z], more, plan->deep_blocks);
    int64_t turns = 0, longest = 0;
    for (int block = 0; block < shares.blocks; block++) {
        int64_t own = 0;
        stencil_pipeline_piece piece;
        for (int k = 0; stencil_pipeline_piece_of(&shares, block, k, &piece); k++)
            own += piece.planes[0] < piece.planes[1] ? piece.planes[1] - piece.planes[0] + more : 0;
        turns += own;
        longest = own > longest ? own : longest;
    }
    const int64_t cell = (int64_t)stencil_precision_bytes(problem->precision), rows = tile.warps * tile.rows,
                  row_bytes = 32 * tile.cells * cell,
                  beside = set->rule == STENCIL_STAR ? tile.rows : tile.rows + 2 * set->radius;
    const double turn_cells = (double)(rows * 32 * tile.cells * tile.depth),
                 bytes = (double)((4 * set->radius * tile.warps * tile.depth + 2 * rows) * row_bytes),
                 exchanged = (double)(2 * set->radius * beside * tile.warps * tile.depth * cell / LANE_BYTES);
    return (stencil_pass_work){.cells = (double)turns * turn_cells,
                               .longest = (double)(longest * plan->deep_slots) * turn_cells,
                               .wavefronts = (double)turns * (bytes / WAVEFRONT + exchanged)};
}

/* A stage computes all columns of a strip in
 * each of its levels, whatever is kept of them. In shared memory it loads and stores them once in its levels,
 * a level exchanges columns between lanes, 4 bytes of each in a wavefront, and rows are copied in and out. In
 * a checked pass the last stage stores them once more as they were, and two rows are loaded to be summed. */
static stencil_pass_work work(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked) {
    enum { WAVEFRONT = 128, LANE_BYTES = 4 }; /* 32 banks of 4 bytes on every GPU */
    if (problem->rank == 3)
        return solid_work(plan, problem, part, steps);
    const stencil_shape *set = problem->shape;
    const bool f64 = problem->precision == STENCIL_FLOAT64;
    const stencil_pipeline_shape shape = shape_of(problem, checked);
    const int64_t *n = plan->part[part].box.n, cell = f64 ? 8 : 4,
                  unit = checked ? (int64_t)STENCIL_PARTIAL_CELLS : 16 / cell, width = 32 * shape.cells,
                  reach = (int64_t)set->radius * steps,
                  stages = stencil_pipeline_up(steps, shape.levels) / shape.levels,
                  levels = stages * shape.levels, lag = set->radius * levels;
    int beside[STENCIL_AXES][2];
    int64_t rows = 0, longest = 0;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int side = 0; side < 2; side++)
            beside[axis][side] = stencil_cut_side(&plan->cut, part, axis, side).ghosts > set->radius
                                     ? (int)reach
                                     : set->radius;
    const stencil_pipeline_strips strips = stencil_pipeline_strips_of(
        (int)n[STENCIL_X], (int)n[STENCIL_Y], beside[STENCIL_X], (int)reach, (int)width, (int)unit);
    const int64_t lines = lines_of(plan, problem);
    for (int64_t i = 0; i < lines; i++) {
        int64_t own[2];
        stencil_pipeline_share_rows(&strips, lines, i, own);
        const int64_t count = rows_of(&strips, own, lag, beside[STENCIL_Y][0], shape.rows);
        rows += count;
        longest = count > longest ? count : longest;
    }
    const double row_cells = (double)(width * levels),
                 row_bytes = (double)(width * cell * (2 * (stages + 1) + 3 * checked)),
                 exchanged = (double)(2 * set->radius * levels * cell / LANE_BYTES);
    return (stencil_pass_work){.cells = (double)rows * row_cells,
                               .longest = (double)(longest * lines) * row_cells * plan->deep_slots /
                                          plan->deep_blocks,
                               .wavefronts = (double)rows * (row_bytes / WAVEFRONT + exchanged)};
}

/* Passes between two checks have equally many steps, about as many as were measured to be best; and what a
 * thread computes beside its rows is little. */
static int suits(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    const int64_t steps = stencil_sweep_longest(plan, problem);
    if (plan->backend == STENCIL_BACKEND_GPU) /* whole passes are fastest */
        return (int)stencil_smaller(most(plan, problem, machine), steps);
    const int axis = problem->rank == 2 ? STENCIL_Y : STENCIL_Z;
    const int64_t share = problem->n[axis] / machine->cpu_threads, radius = problem->shape->radius,
                  best = stencil_smaller(problem->rank == 2 ? plan->tuning.cpu_pass_steps
                                                            : plan->tuning.cpu_pass_steps_3d,
                                         1 + share / (4 * radius));
    if (steps <= best)
        return (int)steps;
    const int64_t passes = (steps + best - 1) / best;
    return (int)((steps + passes - 1) / passes);
}

/* Bytes of cache for what a thread keeps between steps. In 3D that is more than most cores have of their own;
 * where it is not, lines of the field need some room beside it. */
static int64_t kept_bytes(const stencil_plan *plan, const stencil_problem *problem,
                          const stencil_machine *machine) {
    const stencil_tuning *t = &plan->tuning;
    const int64_t share = machine->cpu_cache_bytes / machine->cpu_threads, own = machine->cpu_core_bytes,
                  solid = own >= t->cpu_ring_bytes_3d ? (int64_t)(t->cpu_ring_share * (double)own)
                                                      : t->cpu_ring_bytes_3d,
                  wanted = problem->rank == 2 ? t->cpu_ring_bytes : solid;
    return machine->cpu_cache_bytes > 0 ? stencil_smaller(share, wanted) : wanted;
}

/* The most cells of a strip along an axis, in units, of which that many bytes are kept; the others as they
 * are. */
static int64_t fitting(const stencil_plan *plan, const stencil_problem *problem, const int64_t tile[3],
                       int axis, int64_t unit, int64_t bytes) {
    const int64_t cell = (int64_t)stencil_precision_bytes(problem->precision);
    int64_t some[STENCIL_AXES] = {1, tile[STENCIL_Y], tile[STENCIL_X]}, kept[2];
    for (int k = 0; k < 2; k++) {
        some[axis] = k;
        kept[k] = stencil_pipeline_ring_bytes(problem->rank, plan->depth, problem->shape->radius, some, cell);
    }
    const int64_t count = bytes / (kept[1] - kept[0]) / unit * unit; /* beside it there are a few more */
    return count > unit ? count : unit;
}

/* So many that what is between all steps of a pass stays in cache: in 3D rows as long as leave the least to
 * be made twice and beside the cells. */
static void strip(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    const int64_t bytes = kept_bytes(plan, problem, machine), *n = problem->n,
                  twice = (int64_t)problem->shape->radius * (plan->depth - 1); /* beside it, in the mean */
    int64_t *tile = plan->tile, best[2] = {1, STENCIL_PARTIAL_CELLS};
    double least = INFINITY;
    if (problem->rank == 2) {
        tile[STENCIL_X] = fitting(plan, problem, tile, STENCIL_X, STENCIL_PARTIAL_CELLS, bytes);
        return;
    }
    for (int64_t strips = 1; strips <= n[STENCIL_X]; strips++) {
        const int64_t across =
            stencil_pipeline_up((n[STENCIL_X] + strips - 1) / strips, STENCIL_PARTIAL_CELLS);
        tile[STENCIL_X] = across;
        tile[STENCIL_Y] = stencil_smaller(fitting(plan, problem, tile, STENCIL_Y, 1, bytes), n[STENCIL_Y]);
        const double columns = strips > 1 ? (double)twice / (double)across : 0,
                     rows =
                         stencil_sweep_goes_on(plan, problem) ? 0 : (double)twice / (double)tile[STENCIL_Y],
                     made = (1 + columns) * (1 + rows) + stencil_sweep_beside(plan, problem);
        if (made < least) {
            least = made;
            best[0] = tile[STENCIL_Y];
            best[1] = across;
        }
        if (across == STENCIL_PARTIAL_CELLS)
            break;
    }
    tile[STENCIL_Z] = (n[STENCIL_Z] + plan->threads - 1) / plan->threads;
    tile[STENCIL_Y] = best[0];
    tile[STENCIL_X] = best[1];
}

static void deepen(stencil_plan *plan, const stencil_problem *problem) {
    stencil_kernel_deepen(&plan->kernel, stencil_sweep_is_general(problem),
                          plan->barrier != STENCIL_BARRIER_none);
}

const stencil_sweep_host stencil_sweep_pipeline = {.depth = STENCIL_DEPTH_MAX,
                                                   .streams = true,
                                                   .capability = STENCIL_PIPELINE_CAPABILITY,
                                                   .shared_bytes = STENCIL_PIPELINE_SHARED_BYTES,
                                                   .most = most,
                                                   .narrowest = narrowest,
                                                   .deep_tile = deep_tile,
                                                   .checked = checked,
                                                   .work = work,
                                                   .deepen = deepen,
                                                   .shape = stencil_shape_stream,
                                                   .suits = suits,
                                                   .strip = strip};
