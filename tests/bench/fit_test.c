/* Tests of the models of barriers, fitted to times that were made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "bench/bench.h"

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

/* The line through 1, 3, 5 and 11 at 0 … 3 is 0.2 + 3.2 n, and leaves 0.8, -0.4, -1.6 and 1.2. */
static void line_and_constant(void **state) {
    const double n[] = {0, 1, 2, 3}, time_s[] = {1, 3, 5, 11};
    stencil_bench_fit fit;
    (void)state;
    stencil_fit_line(n, time_s, 4, false, &fit);
    assert_int_equal(fit.points, 4);
    assert_near(fit.each_s, 3.2, 1e-12);
    assert_near(fit.rest_s, 0.2, 1e-12);
    assert_near(fit.residual_s, sqrt((0.64 + 0.16 + 2.56 + 1.44) / 4), 1e-12);
    assert_near(fit.relative, fit.residual_s / 5, 1e-12);
    stencil_fit_line(n, time_s, 4, true, &fit);
    assert_true(isnan(fit.each_s));
    assert_near(fit.rest_s, 5, 1e-12);
    assert_near(fit.residual_s, sqrt((16 + 4 + 0 + 36) / 4.0), 1e-12);
}

enum { ROWS_MAX = 64 };

static stencil_bench_row *add(stencil_bench_result *result, const char *name, int blocks_per_sm, int threads,
                              double workers, double time_s) {
    stencil_bench_row *row = &result->row[result->row_count++];
    *row = (stencil_bench_row){.kind = "barrier",
                               .unit = "s/pass",
                               .sample_count = 1,
                               .workers = workers,
                               .statistics = {.median = time_s}};
    snprintf(row->name, sizeof row->name, "%s", name);
    if (blocks_per_sm > 0)
        row->axis[row->axis_count++] =
            (stencil_bench_parameter){.name = "blocks_per_sm", .number = blocks_per_sm};
    row->axis[row->axis_count++] = (stencil_bench_parameter){.name = "threads", .number = threads};
    return row;
}

/* On a GPU of 10 multiprocessors an addition of `lock` takes 2 ns and the rest 300; `lock-free` takes 500 ns
 * where a block has a thread for each block, and grows beyond. */
static void models_of_a_gpu(void **state) {
    stencil_bench_row row[ROWS_MAX];
    stencil_bench_result result = {.benchmark = "grid", .row = row};
    stencil_bench_fit fit[STENCIL_BENCH_FITS_MAX];
    (void)state;
    for (int blocks = 1; blocks <= 8; blocks *= 2)
        for (int threads = 32; threads <= 128; threads *= 2) {
            const double n = 10 * blocks;
            add(&result, "lock", blocks, threads, n, 1e-9 * (2 * n + 300));
            add(&result, "lock-free", blocks, threads, n, 1e-9 * (n <= threads ? 500 : 500 + 10 * n));
        }
    add(&result, "central", 1, 32, 10, 1e-6); /* too few */
    add(&result, "central", 2, 32, 20, 1e-6);
    add(&result, "multi-grid", 1, 32, NAN, 1)->axis[0].name = "gpus"; /* several grids */
    add(&result, "skipped", 1, 32, 10, 1)->sample_count = 0;
    add(&result, "same", 1, 32, 10, 1); /* a line needs two numbers of blocks */
    add(&result, "same", 1, 64, 10, 2);
    add(&result, "same", 1, 128, 10, 3);
    const int count = stencil_bench_fits(&result, fit);
    assert_int_equal(count, 4);
    assert_string_equal(fit[0].barrier, "lock");
    assert_string_equal(fit[0].model, "t_GBS");
    assert_string_equal(fit[0].per, "block");
    assert_int_equal(fit[0].points, 12);
    assert_near(fit[0].each_s, 2e-9, 1e-18);
    assert_near(fit[0].rest_s, 300e-9, 1e-16);
    assert_near(fit[0].residual_s, 0, 1e-16);
    assert_string_equal(fit[1].model, "t_GFS");
    assert_int_equal(fit[1].points, 12);
    assert_true(fit[1].relative > 0.1);
    assert_string_equal(fit[2].model, "t_GFS, N <= threads");
    assert_int_equal(fit[2].points, 9);
    assert_near(fit[2].rest_s, 500e-9, 1e-16);
    assert_near(fit[2].residual_s, 0, 1e-16);
    assert_string_equal(fit[3].model, "line");
    assert_int_equal(fit[3].points, 12);
    assert_true(fit[3].each_s > 0 && fit[3].residual_s > 0);
}

/* A team of threads, and a record that does not say how many blocks there were. */
static void what_is_counted(void **state) {
    stencil_bench_row row[ROWS_MAX];
    stencil_bench_result result = {.benchmark = "grid", .row = row};
    stencil_bench_fit fit[STENCIL_BENCH_FITS_MAX];
    (void)state;
    for (int n = 2; n <= 8; n *= 2) {
        add(&result, "grid", 0, n, NAN, 1e-7 * n + 1e-6);
        add(&result, "central", n, 32, NAN, 3e-7 * n + 1e-6);
    }
    assert_int_equal(stencil_bench_fits(&result, fit), 2);
    assert_string_equal(fit[0].per, "thread");
    assert_near(fit[0].each_s, 1e-7, 1e-16);
    assert_string_equal(fit[1].per, "block per multiprocessor");
    assert_near(fit[1].each_s, 3e-7, 1e-16);
    assert_near(fit[1].rest_s, 1e-6, 1e-15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_and_constant),
        cmocka_unit_test(models_of_a_gpu),
        cmocka_unit_test(what_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
