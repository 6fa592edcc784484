/* The stream sweep: blocks as wide as the rows are long, tiles that fill the GPU evenly. */
#include "kernels/sweeps/stream.h"
#include "solver/sweep.h"

/* How a stream of so many rows is made: rows of a tile along y for a thread. */
static int64_t rows_of(const stencil_stream_sums *sums, int64_t stream) {
    return stream >= STENCIL_STREAM_LONG ? sums->rows : 1;
}

static bool rows_are_summed(const stencil_stream_sums *sums, int64_t stream) {
    return sums->ahead > 0 && stream >= STENCIL_STREAM_LONG;
}

/* Rounds of tiles over resident blocks, of which a multiprocessor holds `blocks`. In the last round some
 * multiprocessors hold fewer: a block alone takes `alone` of a round's time. */
static double rounds_of(int64_t tiles, int64_t slots, int blocks, double alone) {
    const int64_t left = tiles % slots, sms = slots / blocks > 0 ? slots / blocks : 1,
                  together = left / sms + (left % sms > 0);
    const double last = blocks > 1 ? alone + (1 - alone) * (double)(together - 1) / (blocks - 1) : 1;
    return (double)(tiles / slots) + (left > 0 ? last : 0);
}

/* What a step takes with streams of so many rows: rounds of tiles times the rows of a tile and what its first
 * row costs extra. Rows of partial sums cost less than those of a window. */
static double cost_of(const stencil_plan *plan, int radius, int axis, const int64_t n[3], int64_t slots,
                      const stencil_stream_sums *sums, int64_t stream) {
    const stencil_tuning *tuning = &plan->tuning;
    const int64_t rows = rows_of(sums, stream);
    const bool summed = rows_are_summed(sums, stream);
    int64_t tile[3] = {plan->tile[0], plan->tile[1] * rows, plan->tile[2]}, tiles[3];
    tile[axis] *= stream;
    const double rounds =
        rounds_of(stencil_tiles(n, tile, tiles), slots, sums->blocks, summed ? tuning->stream_sums_alone : 1);
    return (summed ? tuning->stream_sums_cost : 1) * rounds * (double)rows *
           ((double)stream + tuning->stream_overhead * (1 + radius));
}

/* Rows that a thread streams over along an axis: long streams reload less, short ones fill the device evenly.
 * Those of partial sums may be equal pieces of the axis. */
static int64_t choose_stream(const stencil_plan *plan, int radius, int axis, const int64_t n[3],
                             int64_t slots, const stencil_stream_sums *sums) {
    int64_t best = 1;
    double best_cost = cost_of(plan, radius, axis, n, slots, sums, 1);
    const int64_t most = (n[axis] + plan->tile[axis] - 1) / plan->tile[axis]; /* rows for each thread */
    for (int64_t stream = 2; stream <= plan->tuning.stream_max || stream <= sums->longest; stream++) {
        const int64_t pieces = (most + stream - 1) / stream;
        const bool summed = rows_are_summed(sums, stream), power = (stream & (stream - 1)) == 0,
                   piece = (most + pieces - 1) / pieces == stream;
        if (summed ? !piece && !power : !power || stream > plan->tuning.stream_max)
            continue;
        const double cost =
            cost_of(plan, radius, axis, n, slots, sums, stream) * (power ? 1 : plan->tuning.stream_uneven);
        if (cost < best_cost) {
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
