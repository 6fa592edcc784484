/* The stream sweep: blocks as wide as the rows are long, tiles that fill the GPU evenly. */
#include "kernels/sweeps/stream.h"
#include "solver/plan/sweep.h"

/* The terms of the cost model that chooses how many rows or planes a thread streams over. */
typedef struct terms {
    stencil_stream_sums sums;
    int axis;            /* the axis along which threads stream */
    const int64_t *n;    /* cells (z, y, x) of the largest part */
    const int64_t *tile; /* cells of a tile that streams over one row */
    int64_t slots;       /* blocks resident at once on the GPU */
    int blocks;          /* blocks resident at once on a multiprocessor */
    double first;        /* extra cost of a stream's first row, in rows */
    double summed;       /* cost of a row with partial sums, in rows of a window */
    double alone;        /* relative cost of a tile whose block has a multiprocessor alone */
    double uneven;       /* factor by which a length that is no power of two must be cheaper */
    int64_t window_most; /* most rows of a stream of windows */
} terms;

static bool is_summed(const terms *t, int64_t stream) {
    return t->sums.ahead > 0 && stream >= STENCIL_STREAM_LONG;
}

/* Rows along y that a thread updates at once. */
static int64_t rows_of(const terms *t, int64_t stream) {
    return is_summed(t, stream) ? t->sums.rows : 1;
}

/* Waves of tiles over the resident blocks; the last one is faster with fewer blocks per multiprocessor. */
static double rounds_of(const terms *t, int64_t tiles, double alone) {
    const int64_t left = tiles % t->slots, sms = t->slots > t->blocks ? t->slots / t->blocks : 1,
                  together = (left + sms - 1) / sms;
    const double last = t->blocks > 1 ? alone + (1 - alone) * (double)(together - 1) / (t->blocks - 1) : 1;
    return (double)(tiles / t->slots) + (left > 0 ? last : 0);
}

/* Cost of a step with streams of `stream` rows, in rows of a window per block. */
static double cost_of(const terms *t, int64_t stream) {
    const int64_t rows = rows_of(t, stream);
    const bool summed = is_summed(t, stream);
    int64_t tile[3] = {t->tile[0], t->tile[1] * rows, t->tile[2]}, tiles[3];
    tile[t->axis] *= stream;
    const double rounds = rounds_of(t, stencil_tiles(t->n, tile, tiles), summed ? t->alone : 1);
    return (summed ? t->summed : 1) * rounds * (double)rows * ((double)stream + t->first);
}

/* Rows that a thread streams over: long streams reload less, short ones fill the device evenly. They are
 * powers of two; planes with partial sums may also be equal pieces of the axis, where that gains enough. */
static int64_t choose_stream(const terms *t) {
    const int64_t most = (t->n[t->axis] + t->tile[t->axis] - 1) / t->tile[t->axis];
    int64_t best = 1;
    double best_cost = cost_of(t, 1);
    for (int64_t stream = 2; stream <= t->window_most || stream <= t->sums.longest; stream++) {
        const int64_t pieces = (most + stream - 1) / stream;
        const bool power = (stream & (stream - 1)) == 0,
                   piece = t->axis == STENCIL_Z && (most + pieces - 1) / pieces == stream;
        if (is_summed(t, stream) ? !piece && !power : !power || stream > t->window_most)
            continue;
        const double cost = cost_of(t, stream) * (power ? 1 : t->uneven);
        if (cost < best_cost) {
            best = stream;
            best_cost = cost;
        }
    }
    return best;
}

void stencil_stream_shape(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                          int64_t slots) {
    const stencil_kernel *kernel = &plan->kernel;
    const stencil_shape *shape = problem->shape;
    const stencil_tuning *tuning = &plan->tuning;
    static const stencil_stream_sums none = {1, 0, 2, 0}; /* as kernels for fields are compiled */
    const int axis[] = {STENCIL_Y, STENCIL_Z}, rank = problem->rank - 2;
    const double summed[] = {tuning->stream_sums_cost, tuning->stream_sums_cost_3d},
                 alone[] = {1, plan->part[0].sharing <= 1 ? tuning->stream_sums_alone : 1};
    plan->block_x = kernel->block_x;
    while (plan->block_x > 32 && n[STENCIL_X] <= plan->block_x / 2 * kernel->cells)
        plan->block_x /= 2;
    plan->block_y = STENCIL_BLOCK_THREADS / plan->block_x;
    plan->tile[STENCIL_Z] = 1;
    plan->tile[STENCIL_Y] = plan->block_y;
    plan->tile[STENCIL_X] = (int64_t)plan->block_x * kernel->cells;
    const terms t = {.sums = kernel->fielded
                                 ? none
                                 : stencil_stream_sums_of(shape->rank, shape->radius,
                                                          problem->precision == STENCIL_FLOAT64,
                                                          kernel->barrier == STENCIL_BARRIER_none),
                     .axis = axis[rank],
                     .n = n,
                     .tile = plan->tile,
                     .slots = slots,
                     .blocks = plan->blocks_per_sm,
                     .first = tuning->stream_overhead * (1 + shape->radius),
                     .summed = summed[rank],
                     .alone = alone[rank],
                     .uneven = tuning->stream_uneven,
                     .window_most = tuning->stream_max};
    plan->stream = choose_stream(&t);
    plan->tile[STENCIL_Y] *= rows_of(&t, plan->stream);
    plan->tile[t.axis] *= plan->stream;
}

const stencil_maker stencil_stream_steps = {.sweep = STENCIL_SWEEP_stream,
                                            .streams = true,
                                            .most = {.depth = 1, .checked = 1},
                                            .suits = stencil_sweep_suits,
                                            .place = stencil_step_place};
const stencil_sweep_host stencil_sweep_stream = {.depth = 1,
                                                 .guess = 1,
                                                 .shape = stencil_stream_shape,
                                                 .variant = {{STENCIL_STREAM_STEPS}, {STENCIL_STREAM_STEPS}}};
