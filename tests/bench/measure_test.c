/* Tests of sampling: when there are enough samples, which rows are marked, what is not sampled. The samplers
 * are made up: only the time-out is measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "bench/benchmark.h"
#include "options.h"

enum { ROWS = 4 };

/* A sampler that plays back values: row r gives base * (1 + width * x) with x from -1 to 1. */
typedef struct script {
    double width[ROWS];
    int64_t taken[ROWS], quiet_after[ROWS]; /* number of samples after which the width is 0; 0: never */
    int skip_at[ROWS];                      /* the sampler gives the row up at this sample; 0: never */
    int sleep_ms;
    char order[256]; /* numbers of the rows in the order of their samples */
    int order_count;
} script;

static stencil_status value(stencil_bench *b, void *what, int64_t iterations, double *value) {
    (void)what, (void)iterations;
    script *s = b->own;
    const int row = b->row;
    const int64_t k = s->taken[row]++;
    if (s->order_count < (int)sizeof s->order - 1)
        s->order[s->order_count++] = (char)('0' + row);
    if (s->skip_at[row] > 0 && k + 1 == s->skip_at[row])
        snprintf(b->result->row[row].skipped, sizeof b->result->row[row].skipped, "gave up at sample %d",
                 s->skip_at[row]);
    if (s->sleep_ms > 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000 * s->sleep_ms}, NULL);
    const bool quiet = s->quiet_after[row] > 0 && k >= s->quiet_after[row];
    *value = 100 * (1 + (quiet ? 0 : s->width[row] * ((double)(k * 7 % 11) / 5 - 1)));
    return STENCIL_OK;
}

static stencil_status seconds(stencil_bench *b, void *what, int64_t iterations, double *time_s) {
    TRY(value(b, what, iterations, time_s));
    *time_s *= (double)iterations;
    return STENCIL_OK;
}

static stencil_bench_options options_of(int64_t samples) {
    stencil_bench_options options;
    options_init(&options);
    options.samples = samples;
    return options;
}

static void start(stencil_bench *b, stencil_bench_result *result, script *s, int rows,
                  stencil_bench_case_sampler sampler, const stencil_bench_options *options) {
    *result = (stencil_bench_result){.benchmark = "test"};
    *b = (stencil_bench){.result = result, .options = options, .own = s, .calibrated = sampler == seconds};
    for (int i = 0; i < rows; i++)
        assert_int_equal(
            STENCIL_BENCH_ADD(b, i, "thing", "x", "s/step", .sample = sampler, .count = sampler != seconds),
            STENCIL_OK);
}

static void end(stencil_bench *b, stencil_bench_result *result) {
    stencil_bench_end(b);
    stencil_bench_result_destroy(result);
}

static void quiet_rows_settle(void **state) {
    (void)state;
    script s = {.width = {0, 0.01, 0.5, 0.5}, .quiet_after = {0, 0, 0, 8}};
    stencil_bench b;
    stencil_bench_result result;
    const stencil_bench_options options = options_of(0);
    start(&b, &result, &s, ROWS, seconds, &options);
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    assert_int_equal(result.row[0].sample_count, STENCIL_BENCH_SETTLE);
    assert_int_equal(result.row[1].sample_count, STENCIL_BENCH_SETTLE);
    assert_false(result.row[0].noisy);
    assert_false(result.row[1].noisy);
    /* A row that stays wide is sampled to the end, and marked. */
    assert_int_equal(result.row[2].sample_count, STENCIL_BENCH_AUTO_MAX);
    assert_true(result.row[2].noisy);
    assert_true(result.row[2].statistics.spread > options.max_noise);
    /* A row that was disturbed at first settles once the disturbed samples are few. */
    assert_true(result.row[3].sample_count >= STENCIL_BENCH_SETTLE + 1 &&
                result.row[3].sample_count <= STENCIL_BENCH_AUTO_MAX);
    assert_true(result.row[3].sample_count < STENCIL_BENCH_AUTO_MAX ||
                result.row[3].statistics.spread > options.max_noise);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(s.taken[i], result.row[i].sample_count);
    end(&b, &result);
}

static void more_noise_allowed(void **state) {
    (void)state;
    script s = {.width = {0.1}};
    stencil_bench b;
    stencil_bench_result result;
    stencil_bench_options options = options_of(0);
    options.max_noise = 0.2;
    start(&b, &result, &s, 1, seconds, &options);
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    assert_int_equal(result.row[0].sample_count, STENCIL_BENCH_SETTLE);
    assert_false(result.row[0].noisy);
    end(&b, &result);
}

static void as_many_as_asked_for(void **state) {
    (void)state;
    script s = {.width = {0, 0.5, 0, 0.5}};
    stencil_bench b;
    stencil_bench_result result;
    const stencil_bench_options options = options_of(4);
    start(&b, &result, &s, ROWS, seconds, &options);
    result.row[0].iterations = 10;
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(result.row[i].sample_count, 4);
    assert_true(result.row[0].statistics.median == 100);
    assert_true(result.row[1].noisy && result.row[3].noisy && !result.row[0].noisy && !result.row[2].noisy);
    /* Rows are sampled in turns, each round beginning with another row. */
    assert_string_equal(s.order, "0123"
                                 "1230"
                                 "2301"
                                 "3012");
    end(&b, &result);
}

static void one_sample_is_unknown_noise(void **state) {
    (void)state;
    script s = {.width = {0}};
    stencil_bench b;
    stencil_bench_result result;
    const stencil_bench_options options = options_of(1);
    start(&b, &result, &s, 1, seconds, &options);
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    assert_int_equal(result.row[0].sample_count, 1);
    assert_true(result.row[0].noisy);
    end(&b, &result);
}

static void time_over(void **state) {
    (void)state;
    script s = {.width = {0.5, 0.5}, .sleep_ms = 10};
    stencil_bench b;
    stencil_bench_result result;
    stencil_bench_options options = options_of(0);
    options.timeout_s = 0.03;
    start(&b, &result, &s, 2, seconds, &options);
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    assert_true(result.row[0].sample_count >= STENCIL_BENCH_LEAST &&
                result.row[0].sample_count <= STENCIL_BENCH_LEAST + 1);
    assert_true(result.row[0].noisy && result.row[1].noisy);
    end(&b, &result);
}

/* Four time-outs, but at least a second, are too much even for the least number of samples. */
static void time_over_by_far(void **state) {
    (void)state;
    script s = {.width = {0, 0, 0}, .sleep_ms = 400};
    stencil_bench b;
    stencil_bench_result result;
    stencil_bench_options options = options_of(0);
    options.timeout_s = 0.001;
    start(&b, &result, &s, 3, seconds, &options);
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(result.row[i].sample_count, 1);
    end(&b, &result);
}

static void values_warm_up(void **state) {
    (void)state;
    script s = {.width = {0, 0}};
    stencil_bench b;
    stencil_bench_result result;
    const stencil_bench_options options = options_of(3);
    start(&b, &result, &s, 2, value, &options);
    result.row[0].iterations = 10; /* samplers of values ignore the iterations */
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(result.row[i].sample_count, 3);
        assert_int_equal(s.taken[i], 4);
        assert_true(result.row[i].statistics.median == 100);
    }
    end(&b, &result);
}

static void not_sampled(void **state) {
    (void)state;
    script s = {.width = {0}, .skip_at = {0, 3, 0, 0}};
    stencil_bench b;
    stencil_bench_result result;
    const stencil_bench_options options = options_of(5);
    start(&b, &result, &s, ROWS, seconds, &options);
    strcpy(result.row[2].skipped, "too old");
    strcpy(result.row[3].outcome, "completes");
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    assert_int_equal(result.row[0].sample_count, 5);
    assert_int_equal(s.taken[1], 3);
    assert_int_equal(result.row[1].sample_count, 0); /* earlier samples are dropped */
    assert_string_equal(result.row[1].skipped, "gave up at sample 3");
    assert_int_equal(s.taken[2] + s.taken[3], 0);
    assert_false(result.row[1].noisy || result.row[2].noisy || result.row[3].noisy);
    end(&b, &result);
}

static stencil_status no_number(stencil_bench *b, void *what, int64_t iterations, double *value) {
    (void)what, (void)iterations;
    *value = b->row == 1 ? NAN : 1;
    return STENCIL_OK;
}

static stencil_status fails(stencil_bench *b, void *what, int64_t iterations, double *value) {
    (void)what, (void)iterations;
    *value = 1;
    CHECK(b->row != 1, INTERNAL, "row 1 is wrong");
    return STENCIL_OK;
}

static void failures_come_back(void **state) {
    (void)state;
    script s = {.width = {0}};
    stencil_bench b;
    stencil_bench_result result;
    const stencil_bench_options options = options_of(2);
    start(&b, &result, &s, 2, no_number, &options);
    assert_int_equal(stencil_bench_take(&b), STENCIL_INTERNAL);
    assert_non_null(strstr(stencil_error_last()->message, "not a number"));
    end(&b, &result);
    start(&b, &result, &s, 2, fails, &options);
    assert_int_equal(stencil_bench_take(&b), STENCIL_INTERNAL);
    assert_string_equal(stencil_error_last()->message, "row 1 is wrong");
    end(&b, &result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_rows_settle),
        cmocka_unit_test(more_noise_allowed),
        cmocka_unit_test(as_many_as_asked_for),
        cmocka_unit_test(one_sample_is_unknown_noise),
        cmocka_unit_test(time_over),
        cmocka_unit_test(time_over_by_far),
        cmocka_unit_test(values_warm_up),
        cmocka_unit_test(not_sampled),
        cmocka_unit_test(failures_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
