/* Cells of several classes, in test_conformance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance.h"
#include "kernels/table.h"
#include "solver/plan/sweep.h"

static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                               {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
                                               {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_MIRROR},
                                               {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED},
                                               {STENCIL_PERIODIC, STENCIL_PERIODIC, STENCIL_MIRROR}};
enum { BOUNDARIES = sizeof boundary / sizeof *boundary };

/* A trial on a named set of points with a pattern of fixed cells. */
static void fixed_trial(trial *t, const subject *s, int shape, const int64_t extent[3], int turn) {
    const int rank = stencil_shapes[shape].rank;
    trial_init(t, s->precision, rank, extent, boundary[turn % BOUNDARIES]);
    trial_set_shape(t, &stencil_shapes[shape], NULL);
    trial_fill(t, (uint64_t)turn, 1.0, turn % 3 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
    trial_fix(t, (uint64_t)turn, (trial_pattern)(turn % TRIAL_PATTERNS));
}

void expect_all(const trial *t, trace *trace) {
    static const int64_t every[] = {1, 7, 100};
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
        for (int sweep = 0; stencil_sweep_infos[sweep].name != NULL && runs_here(strategy); sweep++) {
            trial_run r = run_of(strategy, ALL_STEPS - here.turn % 3, here.turn % 4);
            if (!trial_has_sweep(t, here.backend, sweep))
                continue;
            set_sweep(&r, sweep);
            r.check_every = every[here.turn % 3];
            r.one_of = MATRIX_ONE_OF / 4;
            if (here.turn % 4 == 0)
                memcpy(r.pieces, (const int64_t[]){5, 16}, sizeof r.pieces);
            trial_expect(t, trace, &r);
        }
}

void expect_cycles(const trial *t, trace *trace, int64_t length, int64_t steps) {
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
        trial_run r = run_of(strategy, steps, 0);
        if (!runs_here(strategy))
            continue;
        set_some_sweep(t, &r);
        r.check_every = (1 + here.turn % 3) * length;
        r.one_of = 1;
        if (here.turn % 2 == 0)
            memcpy(r.pieces, (const int64_t[]){length, 3 * length}, sizeof r.pieces);
        trial_expect(t, trace, &r);
    }
}

/* Cells of /fixed, with each point set, strategy and sweep, and each depth in turn: checks inside passes,
 * pieces, several plans in turns. */
void fixed_cells(void **state) {
    const subject *s = *state;
    for (int shape = 0, turn = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < TRIAL_PATTERNS; k++, turn++) {
            const int rank = stencil_shapes[shape].rank;
            const int64_t extent[3] = {rank == 2 ? 1 : 13 + turn % 4, 29 + turn % 3,
                                       turn % 2 == 0 ? 171 : 300};
            trial t;
            trace trace;
            if (!is_made(s, turn))
                continue;
            fixed_trial(&t, s, shape, extent, turn);
            if (turn % 5 == 4)
                trial_set_cycle(&t, 3);
            trace_begin(&trace, &t, ALL_STEPS);
            expect_all(&t, &trace);
            trace_destroy(&trace);
            trial_destroy(&t);
        }
}

/* A trial on a set of points, a named one, or all of its points but one in another order, with cells of
 * several rows of weights, some of them fixed. */
static void class_trial(trial *t, const subject *s, int shape, const int64_t extent[3], int turn) {
    static const int rows[] = {2, 5, STENCIL_BYTE_ROWS + 1};
    const int rank = stencil_shapes[shape].rank, points = stencil_shapes[shape].point_count;
    double none[STENCIL_POINTS_MAX] = {0};
    int32_t offset[STENCIL_POINTS_MAX][3], some[STENCIL_POINTS_MAX][3];
    trial_init(t, s->precision, rank, extent, boundary[turn % BOUNDARIES]);
    stencil_shape_offsets(&stencil_shapes[shape], offset);
    for (int k = 0; k < points; k++)
        memcpy(some[k], offset[points - 1 - k], sizeof some[k]);
    if (turn % 4 == 3)
        trial_set_points(t, points - 1, (const int32_t(*)[3])some, none);
    else
        trial_set_shape(t, &stencil_shapes[shape], none);
    trial_set_rows(t, rows[turn % 3], (uint64_t)turn);
    trial_fill(t, (uint64_t)turn, 1.0, turn % 3 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
    trial_class(t, (uint64_t)turn, (trial_pattern)(turn % TRIAL_PATTERNS));
    if (turn % 5 == 1)
        trial_fix(t, (uint64_t)turn + 9, TRIAL_BLOBS);
}

/* Cells of /class, with each point set, strategy and sweep, and each depth in turn. */
void class_cells(void **state) {
    const subject *s = *state;
    for (int shape = 0, turn = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < TRIAL_PATTERNS; k++, turn++) {
            const int rank = stencil_shapes[shape].rank;
            const int64_t extent[3] = {rank == 2 ? 1 : 12 + turn % 4, 27 + turn % 3,
                                       turn % 2 == 0 ? 170 : 301};
            trial t;
            trace trace;
            if (!is_made(s, turn))
                continue;
            class_trial(&t, s, shape, extent, turn);
            trace_begin(&trace, &t, ALL_STEPS);
            expect_all(&t, &trace);
            trace_destroy(&trace);
            trial_destroy(&t);
        }
}

/* A trial with walls and insulated cells, on a named set of points or with rows of weights, in part with
 * fixed cells. Fields of radius 2 and 3 have fewer kinds of cells beside walls, so that bytes name all rows.
 */
static void wall_trial(trial *t, const subject *s, int shape, const int64_t extent[3], int turn) {
    const int rank = stencil_shapes[shape].rank, radius = stencil_shapes[shape].radius;
    const double none[STENCIL_POINTS_MAX] = {0};
    trial_init(t, s->precision, rank, extent, boundary[turn % BOUNDARIES]);
    trial_set_shape(t, &stencil_shapes[shape], turn % 3 == 1 && radius == 1 ? none : NULL);
    if (turn % 3 == 1 && radius == 1)
        trial_set_rows(t, 2, (uint64_t)turn);
    trial_set_walls(t, (uint64_t)turn, rank == 2 && radius == 1);
    trial_fill(t, (uint64_t)turn, 1.0, turn % 3 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
    if (turn % 3 == 1 && radius == 1)
        trial_class(t, (uint64_t)turn, TRIAL_BLOBS);
    if (turn % 4 == 1)
        trial_fix(t, (uint64_t)turn + 9, TRIAL_SINGLE);
    const bool few = stencil_shapes[shape].rule == STENCIL_STAR || (rank == 2 && radius == 1);
    trial_insulate(t, (uint64_t)turn, radius == 1 && rank == 2 && turn % 2 == 0 ? TRIAL_SINGLE : TRIAL_BLOBS,
                   turn % 4 != 2 && few);
}

/* Walls of all kinds and insulated cells, with each point set, strategy and sweep, and each depth in turn. */
void walls(void **state) {
    static const int64_t every[] = {1, 7, 100};
    const subject *s = *state;
    for (int shape = 0, turn = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < 6; k++, turn++) {
            const int rank = stencil_shapes[shape].rank;
            const int64_t extent[3] = {rank == 2 ? 1 : 9 + turn % 4, 23 + turn % 3,
                                       turn % 2 == 0 ? 170 : 301};
            trial t;
            trace trace;
            if (!is_made(s, turn))
                continue;
            wall_trial(&t, s, shape, extent, turn);
            trace_begin(&trace, &t, ALL_STEPS);
            for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
                for (int sweep = 0; stencil_sweep_infos[sweep].name != NULL && runs_here(strategy); sweep++) {
                    trial_run r = run_of(strategy, ALL_STEPS - here.turn % 3, here.turn % 4);
                    if (!trial_has_sweep(&t, here.backend, sweep))
                        continue;
                    set_sweep(&r, sweep);
                    r.check_every = every[here.turn % 3];
                    r.one_of = MATRIX_ONE_OF / 4;
                    trial_expect(&t, &trace, &r);
                }
            trace_destroy(&trace);
            trial_destroy(&t);
        }
}

/* The 13 points at most two cells away in 2D, with random weights. */
static void set_diamond(trial *t, int turn) {
    int32_t offset[13][3];
    double weight[13];
    int count = 0;
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++)
            if (abs(y) + abs(x) <= 2) {
                weight[count] = (2.0 * trial_random((uint64_t)turn, (uint64_t)count) - 1.0) / 13;
                memcpy(offset[count++], (const int32_t[]){0, y, x}, sizeof *offset);
            }
    trial_set_points(t, count, (const int32_t(*)[3])offset, weight);
}

/* A trial with more rows of weights than bytes name: given ones, and those of cells around insulated ones, or
 * of walls; with sums in time in part. */
static void wide_trial(trial *t, const subject *s, int shape, const int64_t extent[3], int turn) {
    const int rank = stencil_shapes[shape].rank, radius = stencil_shapes[shape].radius;
    const bool few = radius == 1 || (rank == 2 && stencil_shapes[shape].rule == STENCIL_STAR),
               insulated = turn % 4 != 3, given = few || turn % 2 == 1, sums = turn % 5 == 2,
               walls = turn % 3 == 1 && !sums;
    const double none[STENCIL_POINTS_MAX] = {0};
    trial_init(t, s->precision, rank, extent, boundary[turn % BOUNDARIES]);
    if (shape == STENCIL_SHAPE_j2d25pt && turn % 2 == 0)
        set_diamond(t, turn);
    else
        trial_set_shape(t, &stencil_shapes[shape], given ? none : NULL);
    if (given)
        trial_set_rows(t, STENCIL_ROWS_MAX, (uint64_t)turn);
    if (walls)
        trial_set_walls(t, (uint64_t)turn, false);
    if (sums)
        trial_set_sums(t, (uint64_t)turn, 2, 1, ALL_STEPS);
    trial_fill(t, (uint64_t)turn, 1.0, turn % 3 == 0 || sums ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
    if (given)
        trial_class(t, (uint64_t)turn, turn % 8 == 1 ? TRIAL_OUTSIDE : TRIAL_SINGLE);
    if (turn % 4 == 1 || sums)
        trial_fix(t, (uint64_t)turn + 9, turn % 3 == 0 ? TRIAL_BLOBS : TRIAL_SINGLE);
    if (sums)
        trial_sum(t, (uint64_t)turn);
    trial_insulate(t, (uint64_t)turn, given ? TRIAL_SINGLE : TRIAL_DENSE, insulated);
    assert_true(trial_has_wide_rows(t));
}

/* Cells of hundreds of rows of weights, with each point set, strategy and sweep, and each depth in turn. */
void wide_rows(void **state) {
    const subject *s = *state;
    for (int shape = 0, turn = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < 4; k++, turn++) {
            const int rank = stencil_shapes[shape].rank;
            const int64_t extent[3] = {rank == 2 ? 1 : 9 + turn % 4,
                                       rank == 2 ? 47 + turn % 3 : 19 + turn % 3, turn % 2 == 0 ? 170 : 301};
            trial t;
            trace trace;
            if (!is_made(s, turn))
                continue;
            wide_trial(&t, s, shape, extent, turn);
            trace_begin(&trace, &t, ALL_STEPS);
            expect_all(&t, &trace);
            trace_destroy(&trace);
            trial_destroy(&t);
        }
}

/* Runs a trial with a sweep and each strategy that has it, on all multiprocessors and on few. */
static void expect_sweep(const trial *t, trace *trace, int sweep) {
    static const int depth[] = {0, 2, 64, 3, 8, 5}, multiprocessors[] = {0, 0, 44, 20, 7};
    static const int64_t every[] = {1000, 26, 7};
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
        trial_run r = run_of(strategy, ALL_STEPS - here.turn % 3, here.turn % 4);
        const bool loops = stencil_strategy_at(strategy).barrier != STENCIL_BARRIER_none;
        if (!runs_here(strategy) || (sweep == STENCIL_SWEEP_resident && !loops))
            continue;
        r.sweep = sweep;
        r.depth = depth[here.turn % 6];
        r.depth = (int)stencil_smaller(r.depth, stencil_sweep_infos[sweep].host->depth);
        r.check_every = every[here.turn / 6 % 3];
        r.one_of = PASSES_ONE_OF;
        if (sweep == STENCIL_SWEEP_resident) {
            r.small = false;
            r.multiprocessors =
                (int)stencil_smaller(multiprocessors[here.turn % 5], here.machine.gpu[0].sm_count);
        }
        if (here.turn % 5 == 0)
            memcpy(r.pieces, (const int64_t[]){5, 16}, sizeof r.pieces);
        trial_expect(t, trace, &r);
    }
}

/* Tells whether the build has GPU kernels of a point set. */
static bool has_kernels(const subject *s, int shape) {
    stencil_kernel kernel = {.shape = (stencil_shape_id)shape, .precision = s->precision};
    return stencil_kernel_find(&kernel);
}

/* Cells of all kinds in passes of several steps on GPUs, and on chip: each point set and each kind of cells
 * in fields as wide as one strip of columns, or several, and in fields of several tiles. */
void deep_classes(void **state) {
    static void (*const make[])(trial *, const subject *, int, const int64_t[3],
                                int) = {fixed_trial, class_trial, wall_trial, fixed_trial};
    static const int64_t wide[] = {1290, 803, 905};
    const subject *s = *state;
    for (int k = 0; k < 8 * STENCIL_SHAPE_COUNT && here.backend == STENCIL_BACKEND_GPU; k++) {
        const int shape = k % STENCIL_SHAPE_COUNT, turn = k / STENCIL_SHAPE_COUNT,
                  rank = stencil_shapes[shape].rank,
                  sweep = turn / 4 == 0 ? STENCIL_SWEEP_pipeline : STENCIL_SWEEP_resident;
        /* Fixed cells and nothing else, at sides that are fixed or periodic, in each first turn. */
        const int number = turn % 4 == 0   ? 5 + 15 * shape + 3 * ((shape + turn / 4) % 2)
                           : turn % 4 == 3 ? 2 * k + 1
                                           : k;
        const int64_t flat[2][3] = {{1, 37 + k, wide[k % 3] - k}, {1, 193 + k, 401 - k}},
                      deep[2][3] = {{21 + k % 9, 43 + k % 5, 70 + 5 * (k % 7)},
                                    {13 + k % 9, 29 + k % 7, 41 + 7 * (k % 6)}};
        trial t;
        trace trace;
        if (!has_kernels(s, shape))
            continue;
        make[turn % 4](&t, s, shape, (rank == 3 ? deep : flat)[turn / 4], number);
        if (turn % 4 == 3)
            trial_set_cycle(&t, 3);
        trace_begin(&trace, &t, ALL_STEPS);
        expect_sweep(&t, &trace, sweep);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* Fixed cells in accelerated problems: whole cycles, to a tolerance or not. */
void fixed_accelerated(void **state) {
    const subject *s = *state;
    for (int k = 0; k < 6; k++) {
        const int64_t extent[3] = {k % 3 == 2 ? 9 : 1, 23 + k, 150 + 3 * k}, length = 16, steps = 10 * length;
        trial t;
        trace trace;
        trial_init(&t, s->precision, k % 3 == 2 ? 3 : 2, extent, boundary[k % 2 == 0 ? 0 : 3]);
        t.spec.kind = k % 2 == 0 ? STENCIL_KIND_POISSON : STENCIL_KIND_LAPLACE;
        snprintf(t.spec.accelerate, sizeof t.spec.accelerate, "chebyshev:%d", (int)length);
        if (k % 3 != 0) /* an axis that is fixed on one side, mirrored on the other */
            t.spec.wall[STENCIL_X][k % 2] = k % 2 == 0 ? STENCIL_WALL_MIRROR : STENCIL_WALL_FIXED;
        if (k % 3 != 0 && k % 2 == 1)
            t.spec.wall[STENCIL_X][0] = STENCIL_WALL_MIRROR;
        trial_fill(&t, (uint64_t)k, 1.0, k % 2 == 0 ? STENCIL_SOURCE_F : STENCIL_SOURCE_NONE);
        trial_fix(&t, (uint64_t)k, (trial_pattern)(k % TRIAL_PATTERNS));
        trial_insulate(&t, (uint64_t)k, TRIAL_BLOBS, false);
        trace_begin(&trace, &t, steps);
        expect_cycles(&t, &trace, length, steps);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}
