#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "solver/run/report.h"

static void the_history_grows(void **state) {
    (void)state;
    stencil_report report = {0};
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(stencil_history_add(&report.history, 3 * i, 1.0 / (double)(i + 1)), STENCIL_OK);
    assert_int_equal(report.history.count, 1000);
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(report.history.step[i], 3 * i);
        assert_true(report.history.residual[i] == 1.0 / (double)(i + 1));
    }
    stencil_report_destroy(&report);
    assert_null(report.history.residual);
    assert_null(report.history.step);
    stencil_report_destroy(NULL);
}

static void rates_are_those_of_the_computation(void **state) {
    (void)state;
    stencil_report report = {
        .steps = 10, .cells = 4000, .bytes_per_cell = 16, .prepare_s = 7, .compute_s = 2, .finish_s = 9};
    assert_true(fabs(stencil_report_step_us(&report) - 200000) < 1e-6);
    assert_true(fabs(stencil_report_cells_per_s(&report) - 20000) < 1e-6);
    assert_true(fabs(stencil_report_bytes_per_s(&report) - 320000) < 1e-6);
    report.steps = 0;
    report.compute_s = 0;
    assert_true(stencil_report_step_us(&report) == 0);
    assert_true(stencil_report_cells_per_s(&report) == 0);
    assert_true(stencil_report_bytes_per_s(&report) == 0);
}

static void reasons_have_names(void **state) {
    (void)state;
    assert_string_equal(stencil_reason_names[STENCIL_REASON_STEPS], "steps");
    assert_string_equal(stencil_reason_names[STENCIL_REASON_CONVERGED_RTOL], "converged_rtol");
    assert_string_equal(stencil_reason_names[STENCIL_REASON_CONVERGED_ATOL], "converged_atol");
    assert_string_equal(stencil_reason_names[STENCIL_REASON_FIXED_POINT], "fixed_point");
    assert_string_equal(stencil_reason_names[STENCIL_REASON_STAGNATED], "stagnated");
    assert_string_equal(stencil_reason_names[STENCIL_REASON_NOT_CONVERGED], "not_converged");
    assert_string_equal(stencil_reason_names[STENCIL_REASON_DIVERGED], "diverged");
    assert_string_equal(stencil_reason_names[STENCIL_REASON_INTERRUPTED], "interrupted");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_history_grows),
        cmocka_unit_test(rates_are_those_of_the_computation),
        cmocka_unit_test(reasons_have_names),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
