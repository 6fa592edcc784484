/* Statistics against values computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/statistics.h"

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

static const double epsilon = 1e-12;

static void odd_count(void **state) {
    (void)state;
    /* Sorted 1 2 3 4 100; deviations from 3: 2 1 0 1 97; the 5 % quantile stands at 0.05 * 4 = 0.2. */
    const double sample[] = {100, 3, 1, 4, 2}, before[] = {100, 3, 1, 4, 2};
    double scratch[5];
    const stencil_statistics s = stencil_statistics_of(sample, 5, scratch);
    assert_int_equal(s.count, 5);
    assert_near(s.median, 3, epsilon);
    assert_near(s.mad, 1, epsilon);
    assert_near(s.p5, 1.2, epsilon);
    assert_near(s.p95, 4 + 0.8 * 96, epsilon);
    assert_near(s.smallest, 1, epsilon);
    assert_near(s.largest, 100, epsilon);
    assert_memory_equal(sample, before, sizeof sample);
}

static void even_count(void **state) {
    (void)state;
    /* Deviations from 2.5: 1.5 1.5 0.5 0.5. */
    const double sample[] = {4, 1, 3, 2};
    double scratch[4];
    const stencil_statistics s = stencil_statistics_of(sample, 4, scratch);
    assert_near(s.median, 2.5, epsilon);
    assert_near(s.mad, 1, epsilon);
    assert_near(s.p5, 1.15, epsilon);
    assert_near(s.p95, 3.85, epsilon);
}

static void one_sample(void **state) {
    (void)state;
    double scratch[1];
    const stencil_statistics s = stencil_statistics_of((const double[]){0.25}, 1, scratch);
    assert_near(s.median, 0.25, 0);
    assert_near(s.mad, 0, 0);
    assert_near(s.p5, 0.25, 0);
    assert_near(s.p95, 0.25, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_count),
        cmocka_unit_test(even_count),
        cmocka_unit_test(one_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
