/* The stream sweep: blocks as wide as the rows are long, tiles that fill the GPU evenly. */
#include "solver/sweep.h"

/* Rows that a thread streams over along an axis. Rounds of tiles over the resident blocks, times the rows of
 * a tile and what its first row costs extra, is what a step takes: long streams reload less, short ones fill
 * the device evenly. */
static int64_t choose_stream(const stencil_plan *plan, int radius, int axis, const int64_t n[3],
                             int64_t slots) {
    const double overhead = plan->tuning.stream_overhead * (1 + radius);
    int64_t best = 1, tiles[3];
    double best_cost = 0;
    for (int64_t stream = 1; stream <= plan->tuning.stream_max; stream *= 2) {
        int64_t tile[3] = {plan->tile[0], plan->tile[1], plan->tile[2]};
        tile[axis] *= stream;
        const int64_t rounds = (stencil_tiles(n, tile, tiles) + slots - 1) / slots;
        const double cost = (double)rounds * ((double)stream + overhead);
        if (stream == 1 || cost < best_cost) {
            best = stream;
            best_cost = cost;
        }
    }
    return best;
}

static void choose_shape(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                         int64_t slots) {
    const stencil_kernel *kernel = &plan->kernel;
    const int axis = problem->rank == 3 ? STENCIL_Z : STENCIL_Y;
    plan->block_x = kernel->block_x;
    while (plan->block_x > 32 && n[STENCIL_X] <= plan->block_x / 2 * kernel->cells)
        plan->block_x /= 2;
    plan->block_y = STENCIL_BLOCK_THREADS / plan->block_x;
    plan->tile[STENCIL_Z] = 1;
    plan->tile[STENCIL_Y] = plan->block_y;
    plan->tile[STENCIL_X] = (int64_t)plan->block_x * kernel->cells;
    plan->tile[axis] *= choose_stream(plan, problem->shape->radius, axis, n, slots);
}

const stencil_sweep_host stencil_sweep_stream = {.depth = 1, .streams = true, .shape = choose_shape};
