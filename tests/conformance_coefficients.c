/* Problems with /k, in test_conformance. */
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
enum { BOUNDARIES = sizeof boundary / sizeof *boundary };

/* A problem of each kind, random coefficients (fields) or two materials in blobs (rows), with and without
 * source, fixed and insulated cells, walls of all kinds, some with numbers along them; heat with sums of
 * sources that change in time, and driven cells. */
static void coefficient_trial(trial *t, const subject *s, int rank, int turn) {
    static const stencil_source source[] = {[STENCIL_KIND_LAPLACE] = STENCIL_SOURCE_NONE,
                                            [STENCIL_KIND_POISSON] = STENCIL_SOURCE_F,
                                            [STENCIL_KIND_HEAT] = STENCIL_SOURCE_Q};
    const int64_t extent[3] = {rank == 2 ? 1 : 9 + turn % 4, 23 + turn % 3, turn % 2 == 0 ? 170 : 301};
    trial_init(t, s->precision, rank, extent, boundary[turn % BOUNDARIES]);
    t->spec.kind = (stencil_kind)(STENCIL_KIND_LAPLACE + turn % 3);
    t->spec.dt = t->spec.kind == STENCIL_KIND_HEAT ? 0.01 : NAN;
    t->spec.omega = t->spec.kind != STENCIL_KIND_HEAT && turn % 2 == 0 ? 0.75 : NAN;
    trial_set_k(t);
    const bool sums = t->spec.kind == STENCIL_KIND_HEAT && turn > 2;
    if (turn % 4 >= 2)
        trial_set_walls(t, (uint64_t)turn, turn % 8 == 7);
    if (sums)
        trial_set_sums(t, (uint64_t)turn, turn % 4, turn % 4 == 1 ? 2 : 0, ALL_STEPS);
    trial_fill(t, (uint64_t)turn, 1.0,
               sums && turn % 4 > 0 ? source[t->spec.kind]
               : turn % 7 == 3      ? STENCIL_SOURCE_B
               : turn % 5 == 4      ? STENCIL_SOURCE_NONE
                                    : source[t->spec.kind]);
    if (turn % 4 == 1)
        trial_fix(t, (uint64_t)turn + 9, (trial_pattern)(turn / 4 % TRIAL_PATTERNS));
    if (sums)
        trial_sum(t, (uint64_t)turn);
    trial_insulate(t, (uint64_t)turn, TRIAL_BLOBS, turn % 4 == 3);
}

/* /k with each strategy and sweep, and each depth in turn: checks inside passes, pieces. */
void coefficients(void **state) {
    const subject *s = *state;
    int taken[2][2] = {{0}}; /* with and without walls, as rows and as fields */
    for (int turn = 0; turn < 24; turn++) {
        trial t;
        trace trace;
        coefficient_trial(&t, s, 2 + turn / 3 % 2, turn);
        taken[t.reference.own != NULL][trial_takes_fields(&t)]++;
        trace_begin(&trace, &t, ALL_STEPS);
        expect_all(&t, &trace);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
    for (int i = 0; i < 4; i++)
        assert_true(taken[i / 2][i % 2] > 0);
}

/* Accelerated problems with /k: whole cycles, whose bounds come from the least and the largest k. */
void coefficients_accelerated(void **state) {
    const subject *s = *state;
    for (int k = 0; k < 6; k++) {
        const int64_t extent[3] = {k % 3 == 2 ? 9 : 1, 23 + k, 150 + 3 * k}, length = 16, steps = 10 * length;
        trial t;
        trace trace;
        trial_init(&t, s->precision, k % 3 == 2 ? 3 : 2, extent, boundary[k % 2 == 0 ? 0 : 3]);
        t.spec.kind = k % 2 == 0 ? STENCIL_KIND_POISSON : STENCIL_KIND_LAPLACE;
        snprintf(t.spec.accelerate, sizeof t.spec.accelerate, "chebyshev:%d", (int)length);
        trial_set_k(&t);
        trial_fill(&t, (uint64_t)k, 1.0, k % 2 == 0 ? STENCIL_SOURCE_F : STENCIL_SOURCE_NONE);
        if (k % 3 == 1)
            trial_fix(&t, (uint64_t)k, (trial_pattern)(k % TRIAL_PATTERNS));
        trial_insulate(&t, (uint64_t)k, TRIAL_BLOBS, false);
        trace_begin(&trace, &t, steps);
        expect_cycles(&t, &trace, length, steps);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}
