/* The stream sweep: blocks as wide as the rows are long, tiles that fill the GPU evenly. */
#include "solver/sweep.h"

/* Threads of a block along x and y: as the kernel likes it, less wide where the rows are short. */
static void choose_block(stencil_sweep_shape *shape, const int64_t n[3], const stencil_kernel *kernel) {
    shape->block_x = kernel->block_x;
    while (shape->block_x > 32 && n[STENCIL_X] <= shape->block_x / 2 * kernel->cells)
        shape->block_x /= 2;
    shape->block_y = STENCIL_BLOCK_THREADS / shape->block_x;
}

/* Rows that a thread streams over. Rounds of tiles over the resident blocks, times the rows of a tile and
 * what its first row costs extra, is what a step takes: long streams reload less, short ones fill the device
 * evenly. */
static int64_t choose_march(const stencil_sweep_shape *shape, const stencil_problem *problem,
                            const stencil_tuning *tuning, int64_t across, int64_t length, int64_t slots) {
    const double overhead = tuning->stream_overhead * (1 + problem->shape->radius);
    int64_t best = 1;
    double best_cost = 0;
    for (int64_t stream = 1; stream <= tuning->stream_max; stream *= 2) {
        const int64_t per_tile = problem->rank == 3 ? stream : stream * shape->block_y;
        const int64_t tiles = across * ((length + per_tile - 1) / per_tile);
        const double cost = (double)((tiles + slots - 1) / slots) * ((double)stream + overhead);
        if (stream == 1 || cost < best_cost) {
            best = stream;
            best_cost = cost;
        }
    }
    return best;
}

static void choose_shape(stencil_sweep_shape *shape, const stencil_problem *problem, const stencil_plan *plan,
                         const int64_t n[3], int64_t slots) {
    choose_block(shape, n, &plan->kernel);
    const int64_t width = (int64_t)shape->block_x * plan->kernel.cells;
    const int64_t columns = (n[STENCIL_X] + width - 1) / width;
    shape->tile[STENCIL_X] = width;
    if (problem->rank == 3) {
        shape->tile[STENCIL_Y] = shape->block_y;
        const int64_t across = columns * ((n[STENCIL_Y] + shape->block_y - 1) / shape->block_y);
        shape->tile[STENCIL_Z] = choose_march(shape, problem, &plan->tuning, across, n[STENCIL_Z], slots);
    } else {
        shape->tile[STENCIL_Z] = 1;
        shape->tile[STENCIL_Y] =
            shape->block_y * choose_march(shape, problem, &plan->tuning, columns, n[STENCIL_Y], slots);
    }
}

const stencil_sweep_host stencil_sweep_stream = {.depth = 1, .streams = true, .shape = choose_shape};
