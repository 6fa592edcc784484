/* Tests of the framework of benchmarks: what is kept and in which order it is released, calls of samplers,
 * values by two counts, rows to verify. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/benchmark.h"
#include "options.h"

static char released[8];

static void release(void *thing) {
    strncat(released, thing, 1);
}

/* A result releases what it keeps in the order of keeping, and memory last, since other things may lie in it.
 */
static void kept_until_the_end(void **state) {
    (void)state;
    stencil_bench b = {0};
    char *name;
    released[0] = '\0';
    assert_int_equal(stencil_bench_memory(&b, &name, 3), STENCIL_OK);
    assert_memory_equal(name, "\0\0\0", 3);
    memcpy(name, "ab", 3);
    assert_int_equal(stencil_bench_keep(&b, release, name), STENCIL_OK);
    assert_int_equal(stencil_bench_keep(&b, release, name + 1), STENCIL_OK);
    assert_string_equal(released, "");
    stencil_bench_end(&b);
    assert_string_equal(released, "ab");
}

static void abandoned(void **state) {
    (void)state;
    stencil_bench b = {.abandoned = true};
    released[0] = '\0';
    assert_int_equal(stencil_bench_keep(&b, release, "a"), STENCIL_OK);
    stencil_bench_end(&b);
    assert_string_equal(released, "");
}

/* Case of a row, which records the calls of the sampler. */
typedef struct calls {
    int64_t count[64];
    int called, verified;
} calls;

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *value) {
    calls *c = what;
    assert_ptr_equal(what, stencil_bench_what(b, b->row));
    c->count[c->called++] = count;
    *value = 7 + 2 * (double)count;
    return STENCIL_OK;
}

static stencil_status verify(stencil_bench *b, void *what) {
    assert_ptr_equal(what, stencil_bench_what(b, b->row));
    ((calls *)what)->verified++;
    return STENCIL_OK;
}

static int asked;

static bool is_first(void) {
    return asked++ == 0;
}

static stencil_status find_fault(stencil_bench *b, void *what, int64_t count, double *value) {
    assert_int_equal(sample(b, what, count, value), STENCIL_OK);
    return ERROR(INTERNAL, "found");
}

/* Rows that an interruption left without samples say so, with a planted fault as well. */
static void interrupted(void **state) {
    (void)state;
    for (int planted = 0; planted < 2; planted++) {
        stencil_bench_options options;
        options_init(&options);
        options.go_on = is_first;
        options.samples = 3;
        stencil_bench_result result = {.benchmark = "test"};
        stencil_bench b = {.options = &options, .result = &result};
        const calls none = {.called = 0};
        for (int i = 0; i < 3; i++)
            assert_int_equal(STENCIL_BENCH_ADD(&b, none, "k", "row", "ns", .count = 5,
                                               .sample = planted ? find_fault : sample),
                             STENCIL_OK);
        asked = 0;
        assert_int_equal(planted ? stencil_bench_take_planted(&b) : stencil_bench_take(&b),
                         STENCIL_INTERRUPTED);
        assert_string_equal(stencil_error_last()->message, "test is interrupted");
        assert_string_equal(result.row[0].outcome, planted ? "finds the planted fault" : "");
        for (int i = planted; i < 3; i++) /* other rows had only their warm-up sample */
            assert_string_equal(result.row[i].skipped, "interrupted");
        stencil_bench_end(&b);
        stencil_bench_result_destroy(&result);
    }
}

static void counts(void **state) {
    (void)state;
    stencil_bench_options options;
    options_init(&options);
    options.samples = 2;
    stencil_bench_result result = {.benchmark = "test"};
    stencil_bench b = {.options = &options, .result = &result};
    const calls none = {.called = 0};
    assert_int_equal(STENCIL_BENCH_ADD(&b, none, "k", "one", "ns", .sample = sample, .count = 5), STENCIL_OK);
    assert_int_equal(STENCIL_BENCH_ADD(&b, none, "k", "two", "s/pass", STENCIL_METHOD_TWO_COUNTS,
                                       .sample = sample, .verify = verify, .axis = {{"x", 3}, {"y", 4}},
                                       .count = 10, .more = 30, .pairs = 3),
                     STENCIL_OK);
    assert_int_equal(
        STENCIL_BENCH_ADD(&b, none, "k", "skipped", "bytes/s", .verify = verify, .skipped = "too old"),
        STENCIL_OK);
    assert_int_equal(STENCIL_BENCH_ADD(&b, none, "k", "said", .unit = "s"), STENCIL_OK);
    strcpy(stencil_bench_last(&b)->outcome, "holds 4");
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);

    /* Each row had a warm-up and two samples. */
    const calls *one = stencil_bench_what(&b, 0), *two = stencil_bench_what(&b, 1);
    assert_int_equal(one->called, 3);
    assert_int_equal(one->count[2], 5);
    assert_true(result.row[0].statistics.median == 17 && isnan(result.row[0].method_sd));
    assert_int_equal(two->called, 3 * 3 * 2);
    for (int i = 0; i < two->called; i++)
        assert_int_equal(two->count[i], i % 2 == 0 ? 10 : 40);
    assert_true(result.row[1].statistics.median == 2 && result.row[1].method_sd == 0);
    assert_string_equal(result.row[1].method, STENCIL_METHOD_TWO_COUNTS);
    assert_int_equal(result.row[1].axis_count, 2);
    assert_int_equal(result.row[1].axis[1].number, 4);
    assert_int_equal(two->verified, 1);
    assert_int_equal(((const calls *)stencil_bench_what(&b, 2))->verified, 0);
    assert_string_equal(result.row[3].outcome, "holds 4");
    assert_true(result.row[2].higher_is_better && !result.row[1].higher_is_better);
    stencil_bench_end(&b);
    stencil_bench_result_destroy(&result);
}

static void calibrated(void **state) {
    (void)state;
    stencil_bench_options options;
    options_init(&options);
    options.samples = 1;
    options.iterations = 4;
    stencil_bench_result result = {.benchmark = "test"};
    stencil_bench b = {.options = &options, .result = &result};
    const calls none = {.called = 0};
    assert_int_equal(STENCIL_BENCH_ADD(&b, none, "k", "x", "s/step", .sample = sample), STENCIL_OK);
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    const calls *c = stencil_bench_what(&b, 0);
    assert_int_equal(c->called, 2); /* one call is a warm-up */
    assert_int_equal(c->count[1], 4);
    assert_true(result.row[0].statistics.median == 15.0 / 4);

    /* A row that is added later is calibrated and sampled, without the first row. */
    assert_int_equal(STENCIL_BENCH_ADD(&b, none, "k", "y", "s/step", .sample = sample), STENCIL_OK);
    assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
    assert_int_equal(((const calls *)stencil_bench_what(&b, 0))->called, 2);
    assert_int_equal(((const calls *)stencil_bench_what(&b, 1))->called, 2);
    assert_int_equal(result.row[0].sample_count, 1);
    assert_int_equal(result.row[1].sample_count, 1);

    /* Samples have the least iterations, without calibration, or the number in the options. */
    for (options.iterations = 0; options.iterations <= 2; options.iterations += 2) {
        const int row = result.row_count;
        assert_int_equal(
            STENCIL_BENCH_ADD(&b, none, "k", "z", "s/step", .sample = sample, .sample_s = -1, .least = 7),
            STENCIL_OK);
        assert_int_equal(stencil_bench_take(&b), STENCIL_OK);
        const calls *least = stencil_bench_what(&b, row);
        assert_int_equal(least->called, 2);
        assert_int_equal(least->count[0], 1);
        assert_int_equal(least->count[1], options.iterations > 0 ? 2 : 7);
    }
    stencil_bench_end(&b);
    stencil_bench_result_destroy(&result);
}

/* All shapes that fit on a multiprocessor come, blocks outermost. */
static void shapes(void **state) {
    (void)state;
    int blocks = 0, threads = 0;
    for (int want_blocks = 1; want_blocks <= STENCIL_BLOCKS_MAX; want_blocks *= 2)
        for (int want = 32; want <= 1024; want *= 2) {
            if (want_blocks * want > 2048)
                continue;
            assert_true(stencil_next_shape(&blocks, &threads, STENCIL_BLOCKS_MAX, 32));
            assert_int_equal(blocks, want_blocks);
            assert_int_equal(threads, want);
        }
    assert_false(stencil_next_shape(&blocks, &threads, STENCIL_BLOCKS_MAX, 32));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_until_the_end), cmocka_unit_test(abandoned), cmocka_unit_test(counts),
        cmocka_unit_test(calibrated),         cmocka_unit_test(shapes),    cmocka_unit_test(interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
