/* Factors that change in time, in test_conformance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance.h"

static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                               {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_FIXED},
                                               {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_MIRROR},
                                               {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED},
                                               {STENCIL_PERIODIC, STENCIL_PERIODIC, STENCIL_MIRROR}};
enum { BOUNDARIES = sizeof boundary / sizeof *boundary, STEPS = ALL_STEPS };

/* A trial on a named set of points, or of problem heat where the set is its, with factors in time. */
static void timed_trial(trial *t, const subject *s, int shape, int turn, int sources, int driven) {
    const int rank = stencil_shapes[shape].rank;
    const int64_t extent[3] = {rank == 2 ? 1 : 11 + turn % 4, 27 + turn % 3, turn % 2 == 0 ? 171 : 299};
    const bool heat = turn % 2 == 0 && (shape == STENCIL_SHAPE_j2d5pt || shape == STENCIL_SHAPE_j3d7pt);
    trial_init(t, s->precision, rank, extent, boundary[turn % BOUNDARIES]);
    if (heat) {
        t->spec.kind = STENCIL_KIND_HEAT;
        t->spec.diffusivity[0] = 0.7;
        t->spec.diffusivity_count = 1;
        t->spec.dt = 0.1;
        t->spec.time = 0.3;
    } else {
        trial_set_shape(t, &stencil_shapes[shape], NULL);
    }
    trial_set_sums(t, (uint64_t)turn, sources, driven, STEPS);
    trial_fill(t, (uint64_t)turn, 1.0,
               sources == 0 ? STENCIL_SOURCE_NONE
               : heat       ? STENCIL_SOURCE_Q
                            : STENCIL_SOURCE_B);
}

static void expect_trial(trial *t) {
    trace trace;
    trace_begin(&trace, t, STEPS);
    expect_all(t, &trace);
    trace_destroy(&trace);
    trial_destroy(t);
}

/* One source whose factor follows a table, with each point set, strategy and sweep, and each depth in turn;
 * in one trial of three with fixed cells. */
void in_time(void **state) {
    const subject *s = *state;
    for (int shape = 0, turn = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < 3; k++, turn += turn % 3 == 0 ? 2 : 1) {
            trial t;
            if (!is_made(s, turn))
                continue;
            timed_trial(&t, s, shape, turn, 1, 0);
            assert_true(t.spec.table[0].count > 0);
            if (k == 2)
                trial_fix(&t, (uint64_t)turn, TRIAL_BLOBS);
            trial_sum(&t, (uint64_t)turn);
            expect_trial(&t);
        }
}

/* Sums of up to four source arrays, and driven cells that are sums of up to four, in all combinations in
 * turn: with fixed and insulated cells, too. */
void sums_in_time(void **state) {
    const subject *s = *state;
    for (int shape = 0, turn = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < 5; k++, turn++) {
            const int driven = turn % (STENCIL_SUM_ARRAYS + 1), sources = turn / 3 % (STENCIL_SUM_ARRAYS + 1);
            trial t;
            if (!is_made(s, turn))
                continue;
            timed_trial(&t, s, shape, turn, sources, driven == 0 && sources < 2 ? 1 : driven);
            if (turn % 3 != 1)
                trial_fix(&t, (uint64_t)turn, (trial_pattern)(turn % TRIAL_PATTERNS));
            trial_sum(&t, (uint64_t)turn);
            if (t.spec.driven_count > 0)
                trial_insulate(&t, (uint64_t)turn, TRIAL_BLOBS,
                               turn % 4 == 3 && stencil_shapes[shape].rule == STENCIL_STAR);
            expect_trial(&t);
        }
}
