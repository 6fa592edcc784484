/* The naive sweep: a tile has the cells of its block's threads. */
#include "solver/sweep.h"

static void choose_shape(stencil_sweep_shape *shape, const stencil_problem *problem, const stencil_plan *plan,
                         const int64_t n[3], int64_t slots) {
    (void)problem, (void)n, (void)slots;
    shape->block_x = plan->kernel.block_x;
    shape->block_y = STENCIL_BLOCK_THREADS / shape->block_x;
    shape->tile[STENCIL_Z] = 1;
    shape->tile[STENCIL_Y] = shape->block_y;
    shape->tile[STENCIL_X] = shape->block_x;
}

const stencil_sweep_host stencil_sweep_naive = {.depth = 1, .shape = choose_shape};
