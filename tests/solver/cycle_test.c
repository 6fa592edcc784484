/* Cycles of damping: their order, what they leave of an error, and what a problem makes of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "solver/problem/cycle.h"
#include "solver/problem/stop.h"

static stencil_spec spec_of(int64_t ny, int64_t nx, const char *accelerate) {
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = ny;
    spec.extent[1] = nx;
    spec.kind = STENCIL_KIND_POISSON;
    snprintf(spec.accelerate, sizeof spec.accelerate, "%s", accelerate);
    return spec;
}

static void resolve(stencil_problem *problem, const stencil_spec *spec) {
    if (stencil_problem_resolve(problem, spec) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Every root once, the largest damping first and in each pair before the one that smooths. */
static void roots(void **state) {
    (void)state;
    for (int64_t length = 2; length <= STENCIL_CYCLE_MOST; length *= 2) {
        stencil_problem problem;
        char text[24];
        snprintf(text, sizeof text, "chebyshev:%d", (int)length);
        const stencil_spec spec = spec_of(67, 99, text);
        resolve(&problem, &spec);
        const double a = problem.cycle.least, b = problem.cycle.most;
        double *root = malloc((size_t)length * sizeof *root);
        for (int64_t k = 0; k < length; k++) {
            const double omega = stencil_cycle_omega(&problem, k);
            assert_true(omega == stencil_cycle_omega(&problem, k + 3 * length));
            assert_true(k % 2 == 0 || omega < stencil_cycle_omega(&problem, k - 1));
            root[k] = 1.0 / omega;
        }
        for (int64_t k = 1; k < length; k++)
            assert_true(stencil_cycle_omega(&problem, k) < stencil_cycle_omega(&problem, 0));
        qsort(root, (size_t)length, sizeof *root, ascending);
        for (int64_t k = 0; k < length; k++) {
            const double wanted =
                a + (b - a) * pow(sin((2.0 * (double)k + 1.0) * acos(-1.0) / (4.0 * (double)length)), 2);
            assert_true(fabs(root[k] / wanted - 1.0) < 1e-12);
        }
        free(root);
    }
}

/* Over the whole spectrum: what a cycle leaves, what it leaves before its last step, and what it makes of an
 * error, or of a rounding error, on the way. */
static void products(void **state) {
    (void)state;
    for (int length = 2; length <= 1024; length *= 4) {
        stencil_problem problem;
        char text[24];
        snprintf(text, sizeof text, "chebyshev:%d", length);
        const stencil_spec spec = spec_of(length + 2, length + 2, text);
        resolve(&problem, &spec);
        const double a = problem.cycle.least, b = problem.cycle.most,
                     left = stencil_cycle_contraction(&problem);
        double worst = 0, before = 0, forward = 0, backward = 0;
        for (int i = 0; i <= 16 * length; i++) {
            const double lambda = a + (b - a) * (1 - cos(acos(-1.0) * i / (16 * length))) / 2;
            double product = 1, behind = 1;
            for (int k = 0; k < length; k++) {
                if (k == length - 1)
                    before = fmax(before, fabs(product));
                product *= 1 - stencil_cycle_omega(&problem, k) * lambda;
                behind *= 1 - stencil_cycle_omega(&problem, length - 1 - k) * lambda;
                forward = fmax(forward, fabs(product));
                /* That of the step itself is as large as its omega. */
                const double omega = k + 1 < length ? stencil_cycle_omega(&problem, length - 2 - k) : 0;
                backward = fmax(backward, omega * fabs(behind));
            }
            worst = fmax(worst, fabs(product));
        }
        assert_true(worst < left * (1 + 1e-4) && worst > left * (1 - 1e-2));
        assert_true(before <= left * stencil_cycle_excess(&problem) * (1 + 1e-4));
        assert_true(backward < 10.0 * length * length);
        print_message(
            "%d: leaves %.3g, before its last step %.3g; on the way %.3g, of rounding errors %.3g\n", length,
            worst, before, forward, backward);
    }
}

static void lengths(void **state) {
    (void)state;
    static const struct {
        stencil_boundary y, x;
        int64_t ny, nx;
        int length;
    } rows[] = {
        {STENCIL_FIXED, STENCIL_FIXED, 129, 129, 128},
        {STENCIL_FIXED, STENCIL_FIXED, 131, 130, 256},
        {STENCIL_FIXED, STENCIL_FIXED, 3, 3, 2},
        {STENCIL_FIXED, STENCIL_PERIODIC, 66, 500, 64},
        {STENCIL_PERIODIC, STENCIL_PERIODIC, 66, 500, 512},
        {STENCIL_MIRROR, STENCIL_PERIODIC, 129, 3, 256},
        {STENCIL_FIXED, STENCIL_FIXED, 3, 100000, 65536},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stencil_problem problem;
        stencil_spec spec = spec_of(rows[i].ny, rows[i].nx, "chebyshev");
        spec.boundary_count = 2;
        spec.boundary[0] = rows[i].y;
        spec.boundary[1] = rows[i].x;
        spec.steps = rows[i].length + 1;
        resolve(&problem, &spec);
        assert_int_equal(problem.cycle.length, rows[i].length);
        assert_int_equal(problem.stop.steps, 2 * rows[i].length);
        assert_int_equal(problem.stop.check_every % rows[i].length, 0);
        assert_true(problem.stop.check_every >= 100);
        assert_non_null(strchr(problem.spec.accelerate, ':'));
        assert_int_equal(stencil_cycle_end(&problem, rows[i].length), rows[i].length);
        assert_int_equal(stencil_cycle_end(&problem, rows[i].length + 1), 2 * rows[i].length);
        assert_true(stencil_cycle_end(&problem, INT64_MAX) == INT64_MAX);
        char other[STENCIL_FINGERPRINT_CHARS];
        memcpy(other, problem.fingerprint, sizeof other);
        spec.accelerate[0] = '\0';
        resolve(&problem, &spec);
        assert_string_not_equal(other, problem.fingerprint);
        assert_int_equal(problem.cycle.length, 1);
        assert_true(stencil_cycle_omega(&problem, 7) == 1.0);
        assert_int_equal(stencil_cycle_end(&problem, 7), 7);
    }
}

/* The weights of a step damp those of a plain one. */
static void weights(void **state) {
    (void)state;
    stencil_problem plain, problem;
    stencil_spec spec = spec_of(20, 30, "none");
    spec.spacing_count = 2;
    spec.spacing[0] = 0.3;
    spec.spacing[1] = 0.7;
    resolve(&plain, &spec);
    snprintf(spec.accelerate, sizeof spec.accelerate, "chebyshev:16");
    resolve(&problem, &spec);
    for (int step = 0; step < 16; step++) {
        const stencil_step_weights w = stencil_cycle_step(&problem, step);
        const double omega = stencil_cycle_omega(&problem, step);
        assert_true(w.source_factor == omega && w.weight[2] == 1.0 - omega);
        for (int k = 0; k < 5; k++)
            assert_true(k == 2 || w.weight[k] == omega * plain.weight[k]);
    }
}

static void refused_with(const stencil_spec *spec, const char *word) {
    stencil_problem problem;
    assert_int_equal(stencil_problem_resolve(&problem, spec), STENCIL_BAD_DATA);
    if (strstr(stencil_error_last()->message, word) == NULL)
        fail_msg("%s", stencil_error_last()->message);
}

static void refusals(void **state) {
    (void)state;
    static const char *const bad[] = {"chebyshev:", "chebyshev:0",      "chebyshev:1",  "chebyshev:100",
                                      "jacobi",     "chebyshev:131072", "chebyshev:-8", "chebyshev:8x",
                                      "chebyshev8", "chebyshev: 8",     "CHEBYSHEV:8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const stencil_spec spec = spec_of(20, 30, bad[i]);
        refused_with(&spec, bad[i]);
    }
    stencil_spec spec = spec_of(20, 30, "chebyshev");
    spec.omega = 0.9;
    refused_with(&spec, "omega is 0.9");
    spec.omega = NAN;
    spec.kind = STENCIL_KIND_HEAT;
    refused_with(&spec, "laplace and poisson");
    spec.kind = STENCIL_KIND_NONE;
    snprintf(spec.stencil, sizeof spec.stencil, "j2d5pt");
    refused_with(&spec, "laplace and poisson");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots),   cmocka_unit_test(products), cmocka_unit_test(lengths),
        cmocka_unit_test(weights), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
