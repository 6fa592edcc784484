/* Numbers below the normal ones, of which CPUs make cells by other code, in test_conformance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance.h"
#include "trial_values.h"

/* Fields of subnormal numbers; of numbers of any size down to them, zeros of either sign and a large one
 * included; and fields that fall off along x, as those of heat do. */
typedef enum kind { DECAYED, MIXED, FRONT, KINDS } kind;

/* The exponents of such numbers: their sums with weights end between normal numbers and zero. */
static int exponent_of(kind k, stencil_precision precision, uint64_t seed, int64_t cell, int64_t x) {
    const int least = precision == STENCIL_FLOAT32 ? -149 : -1074,
              digits = precision == STENCIL_FLOAT32 ? 24 : 53;
    switch (k) {
    case DECAYED:
        return least + digits - 2;
    case MIXED:
        return least - 2 + (int)(2.5 * digits * trial_random(seed, (uint64_t)cell));
    default:
        return least + 2 * digits + 8 - (int)(x % 64 * 3 / 2);
    }
}

/* Scales the cells of an array of a trial that has its values. */
static void scale(trial *t, void *array, kind k, uint64_t seed) {
    const stencil_precision precision = t->spec.precision;
    const int64_t nx = t->reference.extent[STENCIL_X];
    for (int64_t i = 0; i < trial_cells(t); i++) {
        const double value = trial_load(precision, array, i);
        const int exponent = exponent_of(k, precision, seed, i, i % nx);
        trial_store(precision, array, i,
                    k != MIXED     ? ldexp(value, exponent)
                    : i % 11 == 10 ? copysign(0.0, value)
                    : i == 997     ? 1e30
                                   : ldexp(value, exponent));
    }
}

/* Sums a + w b a little below the middle of two numbers, with more digits than double precision has: the last
 * digit of a is odd, and w b is (1 + 2^-23) (1 - 2^-23) times half of it. Cells beside are kept, so that each
 * step makes these sums. */
static void ties(void) {
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED};
    static const double weight[] = {1.0, 1.0 + 0x1p-23, 0.0, 0x1p-10, 0.0};
    const double odd = 0x1p-92 * (1.0 + 0x1p-23), beside[] = {0.0, 0.0, 1e-40, 0x1p-116 * (1.0 - 0x1p-23)};
    const int64_t extent[3] = {1, 19, 203};
    trial t;
    trace trace;
    trial_init(&t, STENCIL_FLOAT32, 2, extent, boundary);
    trial_set_shape(&t, stencil_shape_find("j2d5pt"), weight);
    trial_fill(&t, 1, 1.0, STENCIL_SOURCE_NONE);
    t.fixed = calloc((size_t)trial_cells(&t), 1);
    for (int64_t i = 0; i < trial_cells(&t); i++) {
        const int64_t y = i / extent[2], x = i % extent[2];
        t.fixed[i] = y % 2 == 0 || x % 4 != 0;
        trial_store(STENCIL_FLOAT32, t.initial, i, y % 2 == 0 ? odd : beside[x % 4]);
    }
    t.spec.fixed = true;
    t.reference.fixed = t.fixed;
    trace_make(&trace, &t, ALL_STEPS);
    expect_all(&t, &trace);
    trace_destroy(&trace);
    trial_destroy(&t);
}

/* Each point set with its own weights, and with random ones some of which are small, and a source. */
void subnormal(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC}};
    const subject *s = *state;
    if (s->precision == STENCIL_FLOAT64)
        skip(); /* no other code, and squares of differences that the trace does not hold */
    for (int i = 0; i < KINDS * STENCIL_SHAPE_COUNT; i++) {
        const stencil_shape *shape = &stencil_shapes[i / KINDS];
        const int64_t extent[3] = {shape->rank == 2 ? 1 : 9, 19, 203};
        const bool plain = i % 2 == 0;
        double weight[STENCIL_POINTS_MAX];
        trial t;
        trace trace;
        if (here.backend == STENCIL_BACKEND_GPU && shape->radius > 1)
            continue; /* the same code as for all numbers */
        for (int k = 0; k < shape->point_count; k++)
            weight[k] = (2.0 * trial_random((uint64_t)i, (uint64_t)k) - 1.0) * (k == 2 ? 1e-9 : 1.0);
        trial_init(&t, s->precision, shape->rank, extent, boundary[i / 2 % 2]);
        trial_set_shape(&t, shape, plain ? NULL : weight);
        trial_fill(&t, (uint64_t)i, 1.0, plain ? STENCIL_SOURCE_NONE : STENCIL_SOURCE_B);
        scale(&t, t.initial, i % KINDS, (uint64_t)i);
        if (!plain) {
            scale(&t, t.source, i % KINDS, (uint64_t)i + 100);
            scale(&t, t.b, i % KINDS, (uint64_t)i + 100);
        }
        trace_make(&trace, &t, ALL_STEPS);
        expect_all(&t, &trace);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
    ties();
}
