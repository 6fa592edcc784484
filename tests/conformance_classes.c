/* Cells of several classes, in test_conformance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance.h"
#include "solver/plan/sweep.h"

static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                               {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
                                               {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_MIRROR},
                                               {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED},
                                               {STENCIL_PERIODIC, STENCIL_PERIODIC, STENCIL_MIRROR}};
enum { BOUNDARIES = sizeof boundary / sizeof *boundary, FIXED_STEPS = 40 };

/* A trial on a named set of points with a pattern of fixed cells, of rows of several groups of cells. */
static void fixed_trial(trial *t, const subject *s, int shape, int turn) {
    const int rank = stencil_shapes[shape].rank;
    const int64_t extent[3] = {rank == 2 ? 1 : 13 + turn % 4, 29 + turn % 3, turn % 2 == 0 ? 171 : 300};
    trial_init(t, s->precision, rank, extent, boundary[turn % BOUNDARIES]);
    trial_set_shape(t, &stencil_shapes[shape], NULL);
    trial_fill(t, (uint64_t)turn, 1.0, turn % 3 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
    trial_fix(t, (uint64_t)turn, (trial_pattern)(turn % TRIAL_PATTERNS));
}

/* Runs a trial with each strategy and sweep, and each depth in turn. */
void expect_all(const trial *t, trace *trace) {
    static const int64_t every[] = {1, 7, 100};
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
        for (int sweep = 0; stencil_sweep_infos[sweep].name != NULL && runs_here(strategy); sweep++) {
            trial_run r = run_of(strategy, FIXED_STEPS - here.turn % 3, here.turn % 4);
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

/* Cells of /fixed, with each point set, strategy and sweep, and each depth in turn: checks inside passes,
 * pieces, several plans in turns. */
void fixed_cells(void **state) {
    const subject *s = *state;
    for (int shape = 0, turn = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < TRIAL_PATTERNS; k++, turn++) {
            trial t;
            trace trace;
            fixed_trial(&t, s, shape, turn);
            if (turn % 5 == 4)
                trial_set_cycle(&t, 3);
            trace_begin(&trace, &t, FIXED_STEPS);
            expect_all(&t, &trace);
            trace_destroy(&trace);
            trial_destroy(&t);
        }
}

/* A trial on a set of points, a named one, or all of its points but one in another order, with cells of
 * several rows of weights, some of them fixed. */
static void class_trial(trial *t, const subject *s, int shape, int turn) {
    static const int rows[] = {2, 5, STENCIL_ROWS_MAX};
    const int rank = stencil_shapes[shape].rank, points = stencil_shapes[shape].point_count;
    const int64_t extent[3] = {rank == 2 ? 1 : 12 + turn % 4, 27 + turn % 3, turn % 2 == 0 ? 170 : 301};
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
            trial t;
            trace trace;
            class_trial(&t, s, shape, turn);
            trace_begin(&trace, &t, FIXED_STEPS);
            expect_all(&t, &trace);
            trace_destroy(&trace);
            trial_destroy(&t);
        }
}

/* A trial with walls and insulated cells, on a named set of points or with rows of weights, in part with
 * fixed cells. Fields of radius 2 and 3 have fewer kinds of cells beside walls: there are 252 rows. */
static void wall_trial(trial *t, const subject *s, int shape, int turn) {
    const int rank = stencil_shapes[shape].rank, radius = stencil_shapes[shape].radius;
    const int64_t extent[3] = {rank == 2 ? 1 : 9 + turn % 4, 23 + turn % 3, turn % 2 == 0 ? 170 : 301};
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
            trial t;
            trace trace;
            wall_trial(&t, s, shape, turn);
            trace_begin(&trace, &t, FIXED_STEPS);
            for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
                for (int sweep = 0; stencil_sweep_infos[sweep].name != NULL && runs_here(strategy); sweep++) {
                    trial_run r = run_of(strategy, FIXED_STEPS - here.turn % 3, here.turn % 4);
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
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
            trial_run r = run_of(strategy, steps, 0);
            if (!runs_here(strategy))
                continue;
            set_some_sweep(&t, &r);
            r.check_every = (1 + here.turn % 3) * length;
            if (here.turn % 2 == 0)
                memcpy(r.pieces, (const int64_t[]){length, 3 * length}, sizeof r.pieces);
            trial_expect(&t, &trace, &r);
        }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}
