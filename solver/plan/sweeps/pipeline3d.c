/* The pipeline sweep in 3D: tiles of rows and columns, plane after plane. */
#include "solver/plan/sweeps/pipeline.h"

static stencil_pipeline_tile_shape tile_of(const stencil_problem *problem, bool general) {
    return stencil_pipeline_tile_of(problem->shape->rule, problem->shape->radius,
                                    problem->precision == STENCIL_FLOAT64, general);
}

/* Returns the limits of passes in 3D, where a step with a residual check is a pass of its own. */
static stencil_pass_limits limits(const stencil_problem *problem, bool general) {
    return (stencil_pass_limits){.depth = tile_of(problem, general).depth, .checked = 1, .narrowest = 1};
}

/* Calibrated rates are those of plain kernels, in launches and in persistent loops; estimates ignore register
 * spills of loops. General kernels have a fraction of the rate of plain launches, in loops, too. */
static stencil_pass_layout place(const stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_machine *machine) {
    const bool loops = plan->barrier != STENCIL_BARRIER_none, general = plan->variant->general;
    (void)problem, (void)machine;
    return (stencil_pass_layout){.kind = STENCIL_PASS_STREAMED,
                                 .cost = {.fma = plan->tuning.pass_fma_3d,
                                          .beside = plan->tuning.pass_beside_3d,
                                          .cells = general ? plan->tuning.solid_general : 1,
                                          .loop = loops && !general ? plan->tuning.solid_loop : 1,
                                          .launched = general}};
}

/* The tiles of a part along an axis, in a pass of `steps` steps. */
static stencil_pipeline_tiles tiles_along(const stencil_plan *plan, const stencil_problem *problem, int part,
                                          int axis, int steps) {
    const stencil_pipeline_tile_shape tile = tile_of(problem, plan->variant->general);
    const int radius = problem->shape->radius, reach = radius * steps,
              cell = (int)stencil_precision_bytes(problem->precision);
    int beside[2];
    for (int side = 0; side < 2; side++)
        beside[side] = stencil_cut_side(&plan->cut, part, axis, side).ghosts > radius ? reach : radius;
    return axis == STENCIL_X
               ? stencil_pipeline_tiles_of(stencil_plan_part(plan, part)->box.n[axis], beside, reach,
                                           32 * tile.cells, STENCIL_PIPELINE_VECTOR_BYTES / cell,
                                           STENCIL_PIPELINE_SECTOR_BYTES / cell)
               : stencil_pipeline_tiles_of(stencil_plan_part(plan, part)->box.n[axis], beside, reach,
                                           tile.warps * tile.rows, 1, 1);
}

/* Sets the cells of a block's tile, along z the mean number of planes per block. */
static void tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]) {
    const int64_t *n = plan->part[0].box.n;
    const stencil_pipeline_tiles y = tiles_along(plan, problem, 0, STENCIL_Y, plan->depth),
                                 x = tiles_along(plan, problem, 0, STENCIL_X, plan->depth);
    const int64_t planes = n[STENCIL_Z] * y.count * x.count / plan->layout.blocks;
    tile[STENCIL_Z] = planes < 1 ? 1 : planes < n[STENCIL_Z] ? planes : n[STENCIL_Z];
    tile[STENCIL_Y] = y.step;
    tile[STENCIL_X] = x.step;
}

/* A warp computes all cells of its rows in each level, in a turn for each plane of a piece, for each plane
 * that the pass reaches, and until the last level has the first one. It gets rows of other warps through
 * shared memory, planes are copied in, and a level exchanges columns as in 2D. */
static stencil_pass_work work(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked) {
    enum { WAVEFRONT = 128, LANE_BYTES = 4 }; /* 32 banks of 4 bytes on every GPU */
    const stencil_shape *set = problem->shape;
    const stencil_pipeline_tile_shape tile = tile_of(problem, plan->variant->general);
    const int more = set->radius * steps + (set->radius + 1) * tile.depth;
    const stencil_pipeline_shares shares =
        stencil_pipeline_share((int)(tiles_along(plan, problem, part, STENCIL_Y, steps).count *
                                     tiles_along(plan, problem, part, STENCIL_X, steps).count),
                               stencil_plan_part(plan, part)->box.n[STENCIL_Z], more, plan->layout.blocks);
    int64_t turns = 0, longest = 0;
    (void)checked;
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
                               .longest = (double)(longest * plan->layout.slots) * turn_cells,
                               .wavefronts = (double)turns * (bytes / WAVEFRONT + exchanged)};
}

const stencil_maker pipeline_3d = {
    STENCIL_SWEEP_pipeline, false, {0}, limits, stencil_sweep_suits, place, tile, pipeline_enter, work};
