/* Tests of gains by Amdahl's law: the published ones, and those of rows that were made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "bench/bench.h"

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

typedef struct made {
    const char *name;
    int64_t elements;
    double median, sync;
} made;

enum { ROWS_MAX = 8 };

static stencil_bench_result make(const made *list, int count, stencil_bench_row *row) {
    for (int i = 0; i < count; i++) {
        row[i] = (stencil_bench_row){.kind = "order",
                                     .axis_count = 1,
                                     .axis[0] = {.name = "elements", .number = list[i].elements},
                                     .sample_count = list[i].median > 0,
                                     .sync_measured = list[i].sync,
                                     .statistics = {.median = list[i].median}};
        snprintf(row[i].name, sizeof row[i].name, "%s", list[i].name);
    }
    stencil_bench_result result = {.benchmark = "test", .row_count = count, .row = row};
    stencil_bench_derive(&result);
    return result;
}

/* The shares of synchronisation of Xiao and Feng, 17.8, 49.2 and 59.6 %, and the most that they say computing
 * can gain. */
static void published(void **state) {
    static const double sync[] = {0.178, 0.492, 0.596}, computing[] = {5.61, 2.03, 1.68};
    stencil_bench_row row[1];
    (void)state;
    for (int i = 0; i < 3; i++) {
        make(&(made){"implicit", 1, 1, sync[i]}, 1, row);
        assert_near(row[0].gains.most_by_computing, computing[i], 0.0101);
        assert_near(row[0].gains.most_by_sync, 1 / (1 - sync[i]), 1e-12);
        assert_true(isnan(row[0].gains.by_sync) && isnan(row[0].gains.over_implicit));
    }
}

/* Launches spend 6 s of 10 on synchronisation, the barrier 2 s of 5: it synchronises three times as quickly,
 * and computes 4/3 times as quickly. */
static void beside_implicit(void **state) {
    static const made list[] = {{"barrier", 1, 5, 0.4},   {"implicit", 2, 1, 0.1},
                                {"implicit", 1, 10, 0.6}, {"graph", 1, 4, (double)NAN},
                                {"skipped", 1, 0, 0.5},   {"lonely", 3, 5, 0.4}};
    stencil_bench_row row[ROWS_MAX];
    (void)state;
    make(list, 6, row);
    const stencil_bench_gains *g = &row[0].gains;
    assert_near(g->most_by_sync, 1 / 0.6, 1e-12);
    assert_near(g->most_by_computing, 1 / 0.4, 1e-12);
    assert_near(g->sync_times, 3, 1e-12);
    assert_near(g->computing_times, 4.0 / 3, 1e-12);
    assert_near(g->by_sync, 1 / (0.4 + 0.6 / 3), 1e-12);
    assert_near(g->by_computing, 1 / (0.6 + 0.4 / (4.0 / 3)), 1e-12);
    assert_near(g->over_implicit, 2, 1e-12);
    /* The two parts of the time that is left add up to all of it. */
    assert_near(1 / g->by_sync + 1 / g->by_computing - 1, 1 / g->over_implicit, 1e-12);
    assert_true(isnan(row[2].gains.by_sync) && !isnan(row[2].gains.most_by_sync));
    assert_true(isnan(row[3].gains.most_by_sync) && isnan(row[4].gains.most_by_sync));
    assert_true(isnan(row[5].gains.by_sync) && !isnan(row[5].gains.most_by_sync));
}

/* Without synchronisation quicker barriers gain nothing, and what computing can gain has no bound. */
static void nothing_to_gain(void **state) {
    static const made list[] = {{"implicit", 1, 2, 0.5}, {"free", 1, 1, 0}, {"waits", 1, 1, 1}};
    stencil_bench_row row[ROWS_MAX];
    (void)state;
    make(list, 3, row);
    assert_near(row[1].gains.most_by_sync, 1, 0);
    assert_true(isnan(row[1].gains.most_by_computing) && isnan(row[1].gains.sync_times));
    assert_near(row[1].gains.computing_times, 1, 0);
    assert_near(row[2].gains.most_by_computing, 1, 0);
    assert_true(isnan(row[2].gains.most_by_sync) && isnan(row[2].gains.computing_times));
    assert_near(stencil_bench_gain(0.5, 1), 1, 0);
    assert_near(stencil_bench_gain(0.5, INFINITY), 2, 0);
}

/* 8 GB in 2 ms are 4 of 5 TB/s; a row without bytes, and a result without the parameter, have no part. */
static void of_the_nominal_bandwidth(void **state) {
    stencil_bench_row row[2] = {{.sample_count = 1, .bytes = 8e9, .statistics = {.median = 2e-3}},
                                {.sample_count = 1, .statistics = {.median = 2e-3}}};
    stencil_bench_result result = {.row_count = 2, .row = row};
    (void)state;
    stencil_bench_derive(&result);
    assert_true(isnan(row[0].of_nominal) && isnan(row[1].of_nominal));
    result.parameter[result.parameter_count++] =
        (stencil_bench_parameter){.name = STENCIL_BENCH_NOMINAL, .number = 5000000000000};
    stencil_bench_derive(&result);
    assert_near(row[0].of_nominal, 0.8, 1e-12);
    assert_true(isnan(row[1].of_nominal));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published),
        cmocka_unit_test(beside_implicit),
        cmocka_unit_test(nothing_to_gain),
        cmocka_unit_test(of_the_nominal_bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
