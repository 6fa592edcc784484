/* The naive sweep: one cell per thread of a block, for every kind of problem. */
#include "solver/plan/sweep.h"

static void shape(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3], int64_t slots) {
    (void)problem, (void)n, (void)slots;
    plan->block_x = plan->kernel.block_x;
    plan->block_y = STENCIL_BLOCK_THREADS / plan->block_x;
    plan->tile[STENCIL_Z] = plan->stream = 1;
    plan->tile[STENCIL_Y] = plan->block_y;
    plan->tile[STENCIL_X] = plan->block_x;
}

static const stencil_maker steps = {.sweep = STENCIL_SWEEP_naive,
                                    .most = {.depth = 1, .checked = 1},
                                    .suits = stencil_sweep_suits,
                                    .place = stencil_step_place};
const stencil_sweep_host stencil_sweep_naive = {
    .depth = 1,
    .guess = 2,
    .shape = shape,
    .variant = {{{STENCIL_CAN_ALL, &steps, false}}, {{STENCIL_CAN_ALL, &steps, false}}}};
