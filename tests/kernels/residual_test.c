#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/residual.h"

static void assert_same(double a, double b) {
    assert_memory_equal(&a, &b, sizeof a);
}

static void partial_sums_and_levels_are_counted(void **state) {
    (void)state;
    assert_int_equal(stencil_partial_count((int64_t[]){1, 1, 1}), 1);
    assert_int_equal(stencil_partial_count((int64_t[]){1, 5, 64}), 5);
    assert_int_equal(stencil_partial_count((int64_t[]){3, 5, 65}), 30);
    assert_int_equal(stencil_partial_count((int64_t[]){1, 46347, 46349}), INT64_C(46347) * 725);
    assert_int_equal(stencil_level_count(1), 1);
    assert_int_equal(stencil_level_count(1024), 1);
    assert_int_equal(stencil_level_count(1025), 2);
}

/* 1 next to 2^53 is lost, 1 + 1 first is not: the value tells the order of the sum. */
static void a_partial_sum_combines_neighbours_first(void **state) {
    (void)state;
    double term[STENCIL_PARTIAL_CELLS] = {0};
    term[0] = 0x1p53;
    term[1] = 1;
    term[2] = 1;
    term[3] = 1;
    assert_same(stencil_partial_sum(term, STENCIL_NORM_L2), 0x1p53 + 2);
    memset(term, 0, sizeof term);
    term[0] = 0x1p53;
    term[62] = term[63] = 1;
    assert_same(stencil_partial_sum(term, STENCIL_NORM_L2), 0x1p53 + 2);
    for (int i = 0; i < STENCIL_PARTIAL_CELLS; i++)
        term[i] = i + 1;
    assert_same(stencil_partial_sum(term, STENCIL_NORM_L2), 64 * 65 / 2);
}

static void a_group_combines_its_lanes_first(void **state) {
    (void)state;
    double *v = calloc(1500, sizeof *v);
    /* Values 0, 256, 512, 768 are combined from left to right before anything else: two ones are lost one by
     * one. */
    v[0] = 0x1p53;
    v[256] = v[512] = 1;
    assert_same(stencil_combine(v, 1500, 0, STENCIL_NORM_L2), 0x1p53);
    /* Adjacent lanes are combined afterwards: 2^53, then 1 + 1. */
    memset(v, 0, 1500 * sizeof *v);
    v[0] = 0x1p53;
    v[2] = v[3] = 1;
    assert_same(stencil_combine(v, 1500, 0, STENCIL_NORM_L2), 0x1p53 + 2);
    /* The last group is filled up with zeros. */
    for (int i = 0; i < 1500; i++)
        v[i] = i;
    assert_same(stencil_combine(v, 1500, 0, STENCIL_NORM_L2), 1023.0 * 1024 / 2);
    assert_same(stencil_combine(v, 1500, 1, STENCIL_NORM_L2), (1024.0 + 1499) * 476 / 2);
    assert_same(stencil_combine(v, 1500, 1, STENCIL_NORM_MAX), 1499);
    assert_same(stencil_combine(v, 1, 0, STENCIL_NORM_L2), 0);
    free(v);
}

/* Comparisons with NaN are false: it must not get lost on either side of one. */
static void nan_wins(void **state) {
    (void)state;
    for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++)
        for (int at = 0; at < STENCIL_PARTIAL_CELLS; at++) {
            double term[STENCIL_PARTIAL_CELLS], v[STENCIL_COMBINE_VALUES];
            for (int i = 0; i < STENCIL_PARTIAL_CELLS; i++)
                term[i] = i == at ? NAN : i == 7 ? INFINITY : i;
            assert_true(isnan(stencil_partial_sum(term, (stencil_norm)norm)));
            for (int i = 0; i < STENCIL_COMBINE_VALUES; i++)
                v[i] = i == 16 * at ? NAN : i;
            assert_true(isnan(stencil_combine(v, STENCIL_COMBINE_VALUES, 0, (stencil_norm)norm)));
        }
    assert_same(stencil_residual_finish(-NAN, 5, STENCIL_NORM_L2), NAN);
    assert_same(stencil_residual_finish(-NAN, 5, STENCIL_NORM_MAX), NAN);
}

static void norms_are_finished(void **state) {
    (void)state;
    assert_same(stencil_residual_finish(16, 4, STENCIL_NORM_L2), 2);
    assert_same(stencil_residual_finish(16, 4, STENCIL_NORM_MAX), 16);
    assert_same(stencil_residual_finish(0, 4, STENCIL_NORM_L2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partial_sums_and_levels_are_counted),
        cmocka_unit_test(a_partial_sum_combines_neighbours_first),
        cmocka_unit_test(a_group_combines_its_lanes_first),
        cmocka_unit_test(nan_wins),
        cmocka_unit_test(norms_are_finished),
    };
    return cmocka_run_group_tests_name("residual", tests, NULL, NULL);
}
