/* The stream sweep: blocks as wide as the rows are long, tiles that fill the GPU evenly. */
#include "kernels/sweeps/stream.h"
#include "solver/sweep.h"

/* How a stream of so many rows is made: rows of a tile along y for a thread. */
static int64_t rows_of(const stencil_stream_sums *sums, int64_t stream) {
    return stream >= STENCIL_STREAM_LONG ? sums->rows : 1;
}

/* Rows that a thread streams over along an axis. Rounds of tiles over the resident blocks, times the rows of
 * a tile and what its first row costs extra, is what a step takes: long streams reload less, short ones fill
 * the device evenly. Rows of partial sums cost less than those of a window. */
static int64_t choose_stream(const stencil_plan *plan, int radius, int axis, const int64_t n[3],
                             int64_t slots, const stencil_stream_sums *sums) {
    const double overhead = plan->tuning.stream_overhead * (1 + radius);
    int64_t best = 1, tiles[3];
    double best_cost = 0;
    for (int64_t stream = 1; stream <= plan->tuning.stream_max || stream <= sums->longest; stream *= 2) {
        if (stream > plan->tuning.stream_max && stream < STENCIL_STREAM_LONG)
            continue;
        const int64_t rows = rows_of(sums, stream);
        int64_t tile[3] = {plan->tile[0], plan->tile[1] * rows, plan->tile[2]};
        tile[axis] *= stream;
        const int64_t rounds = (stencil_tiles(n, tile, tiles) + slots - 1) / slots;
        const bool summed = sums->ahead > 0 && stream >= STENCIL_STREAM_LONG;
        const double row = summed ? plan->tuning.stream_sums_cost : 1,
                     cost = row * (double)(rounds * rows) * ((double)stream + overhead);
        if (stream == 1 || cost < best_cost) {
            best = stream;
            best_cost = cost;
        }
    }
    return best;
}

void stencil_shape_stream(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                          int64_t slots) {
    const stencil_kernel *kernel = &plan->kernel;
    const stencil_shape *shape = problem->shape;
    const int axis = problem->rank == 3 ? STENCIL_Z : STENCIL_Y;
    const stencil_stream_sums sums =
        stencil_stream_sums_of(shape->rank, shape->radius, problem->precision == STENCIL_FLOAT64,
                               kernel->barrier == STENCIL_BARRIER_none);
    plan->block_x = kernel->block_x;
    while (plan->block_x > 32 && n[STENCIL_X] <= plan->block_x / 2 * kernel->cells)
        plan->block_x /= 2;
    plan->block_y = STENCIL_BLOCK_THREADS / plan->block_x;
    plan->tile[STENCIL_Z] = 1;
    plan->tile[STENCIL_Y] = plan->block_y;
    plan->tile[STENCIL_X] = (int64_t)plan->block_x * kernel->cells;
    const int64_t stream = choose_stream(plan, shape->radius, axis, n, slots, &sums);
    plan->tile[STENCIL_Y] *= rows_of(&sums, stream);
    plan->tile[axis] *= stream;
}

const stencil_sweep_host stencil_sweep_stream = {.depth = 1, .streams = true, .shape = stencil_shape_stream};
