/* Estimates of eigenvalues that the residuals of a run contradict. The estimates themselves: bounds_test.py.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/problem/bounds.h"

static stencil_problem make(stencil_norm norm) {
    stencil_spec spec;
    stencil_problem p;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = 20;
    spec.extent[1] = 30;
    spec.kind = STENCIL_KIND_LAPLACE;
    spec.norm = norm;
    spec.rtol = 1e-8;
    spec.insulated = true;
    assert_int_equal(stencil_problem_resolve(&p, &spec), STENCIL_OK);
    p.estimate = (stencil_estimate){.known = true, .least = 0.01, .most = 1.5, .bound = 2.0, .stretch = 1.0};
    return p;
}

/* Residuals that are multiplied by `factor` in each step, checked every 100 steps. */
static bool refutes(const stencil_problem *p, double factor, double resolution) {
    enum { COUNT = 5 };
    int64_t step[COUNT];
    double residual[COUNT];
    for (int i = 0; i < COUNT; i++) {
        step[i] = 100 * (i + 1);
        residual[i] = pow(factor, (double)step[i]);
    }
    const stencil_history history = {.count = COUNT, .step = step, .residual = residual};
    return stencil_estimate_is_refuted(p, &history, resolution);
}

static void slow_residuals_refute(void **state) {
    (void)state;
    stencil_problem p = make(STENCIL_NORM_L2);
    assert_true(stencil_bounds_are_estimated(&p));
    assert_false(refutes(&p, 0.98, 0));
    assert_false(refutes(&p, 0.99, 0));
    assert_true(refutes(&p, 0.9901, 0));
    assert_true(refutes(&p, 1.0, 0));
    assert_true(refutes(&p, 1.1, 0)); /* grows */
}

static void rounding_refutes_nothing(void **state) {
    (void)state;
    stencil_problem p = make(STENCIL_NORM_L2);
    assert_false(refutes(&p, 0.995, 1.0));
    assert_true(refutes(&p, 0.995, 1e-6));
    p.estimate.stretch = sqrt(2.0);
    assert_false(refutes(&p, 0.995, 0));
    p.estimate = (stencil_estimate){.known = false};
    assert_false(refutes(&p, 0.995, 0));
    p = make(STENCIL_NORM_MAX);
    assert_false(refutes(&p, 0.995, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_residuals_refute),
        cmocka_unit_test(rounding_refutes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
