/* Tests of statistics against values computed by hand. */
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

static void spread(void **state) {
    (void)state;
    double scratch[5];
    /* The spread follows the tails, p5 1.2 and p95 80.8 of the first test. */
    stencil_statistics s = stencil_statistics_of((const double[]){100, 3, 1, 4, 2}, 5, scratch);
    assert_near(s.spread, (80.8 - 1.2) / 3.2897 / 3, epsilon);
    /* The spread follows the middle: deviations 1 1 1 1 from 2, p5 to p95 only 2. */
    s = stencil_statistics_of((const double[]){1, 1, 3, 3}, 4, scratch);
    assert_near(s.spread, 1.4826 * 1 / 2, epsilon);
    s = stencil_statistics_of((const double[]){7, 7, 7}, 3, scratch);
    assert_near(s.spread, 0, 0);
    s = stencil_statistics_of((const double[]){-1, 0, 1}, 3, scratch);
    assert_true(isnan(s.spread));
    s = stencil_statistics_of((const double[]){7}, 1, scratch);
    assert_true(isnan(s.spread));
}

static stencil_shift shift_of(const double *a, int m, const double *b, int n) {
    stencil_shift shift;
    assert_int_equal(stencil_shift_of(a, m, b, n, &shift), STENCIL_OK);
    return shift;
}

/* 5 against 5: P(U = 0) = 1/252 <= 0.5 % < P(U <= 1) = 2/252, so the smallest and the largest of the 25
 * ratios bound the interval; the estimate is the 13th of them. */
static void shift_exact(void **state) {
    (void)state;
    const double a[] = {10, 11, 12, 13, 14}, b[] = {28, 20, 22, 26, 24};
    const stencil_shift shift = shift_of(a, 5, b, 5);
    assert_near(shift.low, 20.0 / 14, epsilon);
    assert_near(shift.high, 28.0 / 10, epsilon);
    assert_near(shift.ratio, 2, epsilon); /* five of the ratios are 2, eleven smaller, nine larger */
    const stencil_shift back = shift_of(b, 5, a, 5);
    assert_near(back.low * shift.high, 1, epsilon);
    assert_near(back.high * shift.low, 1, epsilon);
    assert_near(back.ratio * shift.ratio, 1, epsilon);
}

static void shift_needs_samples(void **state) {
    (void)state;
    /* 4 against 4: the extreme order has a probability of 1/70. */
    stencil_shift shift = shift_of((const double[]){1, 2, 3, 4}, 4, (const double[]){5, 6, 7, 8}, 4);
    assert_near(shift.low, 0, 0);
    assert_true(isinf(shift.high));
    assert_true(shift.ratio > 2 && shift.ratio < 3);
    shift = shift_of((const double[]){1, 2, 3, 4, 0}, 5, (const double[]){5, 6, 7, 8, 9}, 5);
    assert_true(isnan(shift.ratio) && shift.low == 0 && isinf(shift.high));
}

/* Uniform numbers from a linear congruential generator: the same on every machine. */
static void fill(double *sample, int count, uint64_t seed, double factor) {
    for (int i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sample[i] = factor * (1 + 0.1 * (double)(seed >> 40) / (double)(1 << 24));
    }
}

static void shift_of_many(void **state) {
    (void)state;
    static double a[2000], b[2000];
    const int counts[] = {7, 40, 60, 2000}; /* exact, exact, by the normal law, thinned out */
    for (int k = 0; k < 4; k++) {
        fill(a, counts[k], 1, 1);
        fill(b, counts[k], 2, 1.2);
        const stencil_shift shift = shift_of(a, counts[k], b, counts[k]);
        assert_true(shift.low < 1.2 && 1.2 < shift.high);
        assert_true(shift.low <= shift.ratio && shift.ratio <= shift.high);
        assert_true(shift.high / shift.low < (counts[k] == 7 ? 1.15 : counts[k] == 2000 ? 1.02 : 1.05));
    }
}

/* Without a change the interval misses 1 in about 1 % of all cases, on both sides of the border between the
 * exact and the approximate law. */
static void shift_level(void **state) {
    (void)state;
    double a[60], b[60];
    const int counts[] = {7, 49, 52};
    for (int k = 0; k < 3; k++) {
        int missed = 0;
        for (uint64_t i = 0; i < 400; i++) {
            fill(a, counts[k], 1000 + 2 * i, 1);
            fill(b, counts[k], 500001 + 2 * i, 1);
            const stencil_shift shift = shift_of(a, counts[k], b, counts[k]);
            missed += shift.low > 1 || shift.high < 1;
        }
        assert_true(missed <= 12);
    }
}

/* Three pairs whose medians differ by 7, one pair interrupted for 1000; then the deviations of two samples
 * behind the warm-up: high 16 and 18, low 10 and 12, each with a variance of 2. */
static void pairs_of_launches(void **state) {
    (void)state;
    const double high[] = {17, 16, 1015}, low[] = {10, 10, 11}, more[] = {18, 18, 18}, less[] = {12, 12, 12};
    stencil_two_counts two = {.difference = 3};
    assert_near(stencil_two_counts_add_pairs(&two, more, low, 3), 8.0 / 3, epsilon);
    assert_near(stencil_two_counts_add_pairs(&two, high + 1, low, 1), 2, epsilon);
    assert_true(isnan(stencil_two_counts_sd(&two)));
    assert_near(stencil_two_counts_add_pairs(&two, more, less, 3), 2, epsilon);
    assert_near(stencil_two_counts_sd(&two), sqrt(2 + 2) / 3, epsilon);
    assert_near(stencil_two_counts_add_pairs(&two, high, low, 3), 7.0 / 3, epsilon);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_count),     cmocka_unit_test(even_count),  cmocka_unit_test(one_sample),
        cmocka_unit_test(spread),        cmocka_unit_test(shift_exact), cmocka_unit_test(shift_needs_samples),
        cmocka_unit_test(shift_of_many), cmocka_unit_test(shift_level), cmocka_unit_test(pairs_of_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
