/* Tests of results written as JSON and read back, and of the verdicts on two results. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/benchmark.h"

/* Adds a row with `count` samples, no multiple of 7, around `median`, `width` to either side. */
static int add_row(stencil_bench_result *result, const char *name, int64_t threads, double median,
                   double width, int count) {
    const int index = result->row_count;
    double scratch[64];
    stencil_bench b = {.result = result};
    assert_int_equal(STENCIL_BENCH_ADD(&b, width, "barrier", name, "s/pass",
                                       .axis = {{threads > 0 ? "threads" : NULL, threads}}),
                     STENCIL_OK);
    stencil_bench_end(&b);
    stencil_bench_row *row = &result->row[index];
    row->sample = calloc((size_t)count + 1, sizeof *row->sample);
    assert_non_null(row->sample);
    for (int i = 0; i < count; i++)
        row->sample[i] = median * (1 + width * ((double)(i * 7 % count) / (count - 1) * 2 - 1));
    row->sample_count = count;
    if (count > 0)
        row->statistics = stencil_statistics_of(row->sample, count, scratch);
    return index;
}

/* Adds a row with an outcome instead of samples. */
static void add_statement(stencil_bench_result *result, const char *name, int64_t threads,
                          const char *outcome) {
    const int index = add_row(result, name, threads, 1, 0, 0);
    strcpy(result->row[index].outcome, outcome);
}

static void start(stencil_bench_result *result) {
    *result = (stencil_bench_result){.benchmark = "grid",
                                     .backend = STENCIL_BACKEND_CPU,
                                     .device = "2 threads",
                                     .clock_hz = {2e9, NAN},
                                     .seconds = 0.1};
}

static void fill(stencil_bench_result *result) {
    start(result);
    stencil_bench_add_number(result, "nx", 8192);
    stencil_bench_add_text(result, "precision", "float64");
    stencil_bench_note(&(stencil_bench){.result = result}, "Verified: %d passes.", 7);
    const int row = add_row(result, "central", 4, 1.0 / 3e6, 0.1, 11);
    stencil_bench_row *r = &result->row[row];
    r->axis[r->axis_count++] = (stencil_bench_parameter){.name = "blocks_per_sm", .number = 2};
    r->method = "two repeat counts, CPU clock (000 Eq. 7, 8)";
    r->method_sd = 1.0 / 7e9;
    r->noisy = true;
    r->higher_is_better = true;
    r->iterations = 1234567890123;
    r->bytes = 16;
    strcpy(r->formula, "read 8 + write 8");
    r->cells = 3;
    r->ratio = 0.75;
    const int skipped = add_row(result, "cluster", 4, 1, 0, 0);
    strcpy(result->row[skipped].skipped, "needs \"clusters\"");
    add_statement(result, "part", 0, "deadlocks");
    result->bar = calloc(2, sizeof *result->bar);
    assert_non_null(result->bar);
    result->bar_count = 2;
    result->bar[0] = (stencil_bench_bar){.name = "j2d5pt fp64 8192²",
                                         .unit = STENCIL_US_PER_STEP,
                                         .best_by = "somebody",
                                         .best_other = 7,
                                         .reach = 4,
                                         .aim = 2,
                                         .measured = 3,
                                         .plain = 20.4,
                                         .loop = 3.5,
                                         .sweep = "pipeline",
                                         .strategy = "graph",
                                         .depth = 12,
                                         .steps = 1009,
                                         .samples = 7,
                                         .bound = {"arithmetic", {0.25, 0.5, 0.75}}};
    result->bar[1] = (stencil_bench_bar){.name = "other",
                                         .measured = NAN,
                                         .plain = NAN,
                                         .loop = NAN,
                                         .bound.used = {NAN, NAN, NAN},
                                         .skipped = "no GPU"};
    stencil_bench_derive(result);
}

/* Tells whether a member follows from others, so that reading does not look at it. */
static bool is_derived(const char *member) {
    static const char *const derived[] = {
        "fits",         "statistics",        "bytes_per_s", "cells_per_s",     "of_nominal",
        "most_by_sync", "most_by_computing", "sync_times",  "computing_times", "by_sync",
        "by_computing", "over_implicit",     "sync_s",      "computing_s",     NULL};
    return stencil_name_find(member, derived) >= 0;
}

static void round_trip(void **state) {
    (void)state;
    stencil_bench_result result, again;
    fill(&result);
    json_t *first = stencil_bench_result_json(&result);
    char *text = json_dumps(first, JSON_REAL_PRECISION(17));
    json_t *parsed = json_loads(text, 0, NULL);
    assert_int_equal(stencil_bench_result_read(parsed, &again), STENCIL_OK);
    json_decref(parsed); /* the result keeps a reference to the JSON */
    json_t *second = stencil_bench_result_json(&again);
    assert_true(json_equal(first, second));
    assert_string_equal(again.benchmark, "grid");
    assert_int_equal(again.row_count, 3);
    assert_memory_equal(again.row[0].sample, result.row[0].sample, 11 * sizeof(double));
    assert_true(again.row[0].statistics.median == result.row[0].statistics.median);
    assert_true(again.row[0].statistics.spread == result.row[0].statistics.spread);
    assert_string_equal(again.row[0].axis[1].name, "blocks_per_sm");
    assert_string_equal(again.row[1].skipped, "needs \"clusters\"");
    assert_string_equal(again.row[2].outcome, "deadlocks");
    assert_true(stencil_bench_bar_reached(&again.bar[0]) == 4.0 / 3 && again.bar[0].bound.used[2] == 0.75);
    again.bar[0].unit = STENCIL_GCELL_PER_S;
    assert_true(stencil_bench_bar_reached(&again.bar[0]) == 3.0 / 4 && isnan(again.bar[1].measured));
    assert_true(isnan(again.clock_hz[1]) && isnan(again.row[1].method_sd));
    json_decref(first);
    json_decref(second);
    free(text);
    stencil_bench_result_destroy(&result);
    stencil_bench_result_destroy(&again);
}

/* The error names each member that is missing or of another type. */
static void damaged(void **state) {
    (void)state;
    stencil_bench_result result, again;
    fill(&result);
    json_t *whole = stencil_bench_result_json(&result);
    const char *key;
    json_t *value;
    json_object_foreach(whole, key, value) {
        for (int kind = 0; kind < 2; kind++) {
            json_t *copy = json_deep_copy(whole);
            if (kind == 0)
                json_object_del(copy, key);
            else
                json_object_set_new(copy, key, json_true());
            const bool fine = is_derived(key) || (kind == 0 && strcmp(key, "bars") == 0);
            assert_int_equal(stencil_bench_result_read(copy, &again), fine ? STENCIL_OK : STENCIL_BAD_DATA);
            assert_true(fine || strstr(stencil_error_last()->message, key) != NULL);
            stencil_bench_result_destroy(&again);
            json_decref(copy);
        }
    }
    json_object_foreach(json_array_get(json_object_get(whole, "rows"), 0), key, value) {
        json_t *copy = json_deep_copy(whole);
        json_object_set_new(json_array_get(json_object_get(copy, "rows"), 0), key, json_pack("{}"));
        const bool fine = is_derived(key) || strcmp(key, "axes") == 0;
        assert_int_equal(stencil_bench_result_read(copy, &again), fine ? STENCIL_OK : STENCIL_BAD_DATA);
        stencil_bench_result_destroy(&again);
        json_decref(copy);
    }
    json_decref(whole);
    stencil_bench_result_destroy(&result);
}

/* Returns the verdict on two results of a single row. */
static stencil_verdict verdict_of(double then_median, double then_width, int then_count, double now_median,
                                  double now_width, int now_count, bool higher_is_better) {
    stencil_bench_result then, now;
    stencil_comparison *c;
    int count;
    char why[192];
    start(&then);
    start(&now);
    add_row(&then, "x", 2, then_median, then_width, then_count);
    add_row(&now, "x", 2, now_median, now_width, now_count);
    now.row[0].higher_is_better = then.row[0].higher_is_better = higher_is_better;
    assert_int_equal(stencil_bench_compare(&then, &now, 0.03, &c, &count, why), STENCIL_OK);
    assert_string_equal(why, "");
    assert_int_equal(count, 1);
    const stencil_verdict verdict = c[0].verdict;
    free(c);
    stencil_bench_result_destroy(&then);
    stencil_bench_result_destroy(&now);
    return verdict;
}

static void verdicts(void **state) {
    (void)state;
    assert_int_equal(verdict_of(1, 0.01, 11, 1, 0.01, 11, false), STENCIL_VERDICT_SAME);
    assert_int_equal(verdict_of(1, 0.01, 11, 1.01, 0.01, 11, false), STENCIL_VERDICT_SAME);
    assert_int_equal(verdict_of(1, 0.01, 11, 1.1, 0.01, 11, false), STENCIL_VERDICT_SLOWER);
    assert_int_equal(verdict_of(1, 0.01, 11, 0.9, 0.01, 11, false), STENCIL_VERDICT_FASTER);
    assert_int_equal(verdict_of(1, 0.01, 11, 1.1, 0.01, 11, true), STENCIL_VERDICT_FASTER);
    assert_int_equal(verdict_of(1, 0.01, 11, 0.9, 0.01, 11, true), STENCIL_VERDICT_SLOWER);
    /* A difference of 10 % drowns in the noise of either side. */
    assert_int_equal(verdict_of(1, 0.5, 11, 1.1, 0.01, 11, false), STENCIL_VERDICT_UNCLEAR);
    assert_int_equal(verdict_of(1, 0.01, 11, 1.1, 0.5, 11, false), STENCIL_VERDICT_UNCLEAR);
    /* More samples give a verdict. */
    assert_int_equal(verdict_of(1, 0.1, 8, 1.1, 0.1, 8, false), STENCIL_VERDICT_UNCLEAR);
    assert_int_equal(verdict_of(1, 0.1, 61, 1.1, 0.1, 61, false), STENCIL_VERDICT_SLOWER);
    /* Noise alone is not slower; few samples tell nothing, however far apart. */
    assert_int_equal(verdict_of(1, 0.3, 11, 1, 0.3, 11, false), STENCIL_VERDICT_UNCLEAR);
    assert_int_equal(verdict_of(1, 0.01, 4, 2, 0.01, 4, false), STENCIL_VERDICT_UNCLEAR);
    /* Counts of cycles are often all equal. */
    assert_int_equal(verdict_of(20, 0, 11, 20, 0, 11, false), STENCIL_VERDICT_SAME);
    assert_int_equal(verdict_of(20, 0, 11, 21, 0, 11, false), STENCIL_VERDICT_SLOWER);
}

static stencil_verdict find(const stencil_comparison *c, int count, const char *name, int64_t threads) {
    for (int i = 0; i < count; i++) {
        const stencil_bench_row *row = c[i].now != NULL ? c[i].now : c[i].then;
        int64_t number = 0;
        stencil_bench_axis(row, "threads", &number);
        if (strcmp(row->name, name) == 0 && number == threads)
            return c[i].verdict;
    }
    fail_msg("no row %s, threads %d", name, (int)threads);
    return STENCIL_VERDICT_COUNT;
}

static void rows_find_each_other(void **state) {
    (void)state;
    stencil_bench_result then, now;
    stencil_comparison *c;
    int count;
    char why[192];
    start(&then);
    start(&now);
    add_row(&then, "a", 2, 1, 0.01, 11);
    add_row(&then, "a", 4, 2, 0.01, 11);
    add_row(&then, "gone", 2, 2, 0.01, 11);
    add_row(&then, "skipped", 2, 1, 0, 0);
    add_statement(&then, "says", 1, "completes");
    add_statement(&then, "says", 2, "completes");
    add_statement(&then, "says", 3, "agree: 4.03 and 4.02");
    add_statement(&then, "says", 4, "agree: 4.03 and 4.02");
    add_row(&now, "new", 2, 1, 0.01, 11);
    add_row(&now, "a", 4, 2, 0.01, 11); /* rows in another order */
    add_row(&now, "a", 2, 2, 0.01, 11);
    add_row(&now, "skipped", 2, 1, 0, 0);
    add_statement(&now, "says", 1, "completes");
    add_statement(&now, "says", 2, "deadlocks");
    add_statement(&now, "says", 3, "agree: 4.03 and 4.04");
    add_statement(&now, "says", 4, "disagree: 4.03 and 4.31");
    assert_int_equal(stencil_bench_compare(&then, &now, 0.03, &c, &count, why), STENCIL_OK);
    assert_int_equal(count, 8);
    assert_int_equal(find(c, count, "a", 2), STENCIL_VERDICT_SLOWER);
    assert_int_equal(find(c, count, "a", 4), STENCIL_VERDICT_SAME);
    assert_int_equal(find(c, count, "new", 2), STENCIL_VERDICT_NEW);
    assert_int_equal(find(c, count, "gone", 2), STENCIL_VERDICT_GONE);
    assert_int_equal(find(c, count, "says", 1), STENCIL_VERDICT_SAME);
    assert_int_equal(find(c, count, "says", 2), STENCIL_VERDICT_CHANGED);
    assert_int_equal(find(c, count, "says", 3), STENCIL_VERDICT_SAME);
    assert_int_equal(find(c, count, "says", 4), STENCIL_VERDICT_CHANGED);
    free(c);
    stencil_bench_result_destroy(&then);
    stencil_bench_result_destroy(&now);
}

static void other_things_are_not_compared(void **state) {
    (void)state;
    stencil_bench_result then, now;
    stencil_comparison *c;
    int count;
    char why[192];
    start(&then);
    start(&now);
    add_row(&then, "a", 2, 1, 0.01, 11);
    add_row(&now, "a", 2, 1, 0.01, 11);
    stencil_bench_add_number(&then, "nx", 130);
    stencil_bench_add_number(&now, "nx", 8192);
    assert_int_equal(stencil_bench_compare(&then, &now, 0.03, &c, &count, why), STENCIL_OK);
    assert_string_equal(why, "nx is 8192, was 130");
    assert_int_equal(count, 0);
    free(c);
    then.parameter[0].number = 8192;
    then.backend = STENCIL_BACKEND_GPU;
    assert_int_equal(stencil_bench_compare(&then, &now, 0.03, &c, &count, why), STENCIL_OK);
    assert_string_equal(why, "it was measured on a GPU then");
    free(c);
    then.backend = STENCIL_BACKEND_CPU;
    strcpy(now.failed, "wrong");
    assert_int_equal(stencil_bench_compare(&then, &now, 0.03, &c, &count, why), STENCIL_OK);
    assert_string_equal(why, "it failed now");
    free(c);
    stencil_bench_result_destroy(&then);
    stencil_bench_result_destroy(&now);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(damaged),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(rows_find_each_other),
        cmocka_unit_test(other_things_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
