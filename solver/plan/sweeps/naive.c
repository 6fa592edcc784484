/* The naive sweep: a tile has the cells of its block's threads. */
#include "solver/plan/sweep.h"

static void choose_shape(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                         int64_t slots) {
    (void)problem, (void)n, (void)slots;
    plan->block_x = plan->kernel.block_x;
    plan->block_y = STENCIL_BLOCK_THREADS / plan->block_x;
    plan->tile[STENCIL_Z] = 1;
    plan->tile[STENCIL_Y] = plan->block_y;
    plan->tile[STENCIL_X] = plan->block_x;
}

/* The guess is one for any device, and no constant of a GPU. */
const stencil_sweep_host stencil_sweep_naive = {.depth = 1, .guess = 2, .shape = choose_shape};
