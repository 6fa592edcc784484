/* Tests of the words for which row is the fastest from which size on, over rows that were made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "bench/bench.h"

typedef struct made {
    const char *name;
    int64_t nx;
    double median, spread; /* median 0: skipped */
} made;

static void check(const made *list, int count, const char *expected) {
    stencil_bench_row row[32] = {0};
    const stencil_bench_result result = {.benchmark = "test", .row_count = count, .row = row};
    stencil_ranking ranking = {.result = &result, .axis = "nx", .shape = "²", .kind = "order"};
    char text[STENCIL_BENCH_NOTE_SIZE];
    for (int i = 0; i < count; i++) {
        snprintf(row[i].name, sizeof row[i].name, "%s", list[i].name);
        row[i].kind = list[i].name[0] == '-' ? "ceiling" : "order";
        row[i].axis_count = 1;
        row[i].axis[0] = (stencil_bench_parameter){.name = "nx", .number = list[i].nx};
        row[i].sample_count = list[i].median > 0;
        row[i].noisy = !(list[i].spread < 0.1);
        row[i].statistics = (stencil_statistics){.median = list[i].median, .spread = list[i].spread};
    }
    stencil_bench_crossovers(&ranking, text);
    assert_string_equal(text, expected);
    for (int i = 0; i < count; i++) { /* the same figures as predictions, without noise */
        if (list[i].spread > 0)
            return;
        row[i].predicted = list[i].median;
        row[i].statistics.median = 1;
    }
    ranking.predicted = true;
    stencil_bench_crossovers(&ranking, text);
    assert_int_equal(strlen(text), strcspn(expected, ";"));
    assert_memory_equal(text, expected, strlen(text));
}
#define CHECK_WORDS(expected, ...)                                                                           \
    check((const made[]){__VA_ARGS__}, sizeof((const made[]){__VA_ARGS__}) / sizeof(made), expected)

static void one_of_them_everywhere(void **state) {
    (void)state;
    CHECK_WORDS("`b` at all sizes", {"a", 64, 2, 0}, {"b", 64, 1, 0}, {"a", 128, 3, 0}, {"b", 128, 2, 0},
                {"-", 128, 1, 0});
    CHECK_WORDS("", {"a", 64, 2, 0}, {"b", 64, 1, 0});
    CHECK_WORDS("", {"a", 64, 0, 0}, {"a", 128, 0, 0});
}

/* b falls from 4 a to a / 4: they meet halfway on the logarithm, at 400; c from 100 b to b / 10, two thirds
 * of the way from 1600 to 12800. */
static void between_sizes(void **state) {
    (void)state;
    CHECK_WORDS("`a` up to 400², then `b`", {"a", 100, 1, 0}, {"b", 100, 4, 0}, {"a", 1600, 4, 0},
                {"b", 1600, 1, 0});
    CHECK_WORDS("`a` up to 400², `b` from there to 6400², then `c`", {"c", 12800, 1, 0}, {"a", 100, 1, 0},
                {"b", 100, 4, 0}, {"a", 1600, 4, 0}, {"b", 1600, 1, 0}, {"c", 1600, 100, 0},
                {"b", 12800, 10, 0}, {"a", 12800, 99, 0}, {"c", 100, 9, 0});
    CHECK_WORDS("`a` up to 320², then `b`", {"a", 100, 3, 0}, {"b", 100, 9, 0}, {"a", 1000, 4.5, 0},
                {"b", 1000, 1.5, 0}); /* 316 */
}

/* A row that was not measured at both sizes: the crossover is the last size of the faster row. */
static void not_measured_on_both_sides(void **state) {
    (void)state;
    CHECK_WORDS("`a` up to 100², then `b`", {"a", 100, 1, 0}, {"b", 100, 0, 0}, {"a", 1600, 4, 0},
                {"b", 1600, 1, 0});
    CHECK_WORDS("`a` up to 100², then `b`", {"a", 100, 1, 0}, {"b", 100, 2, 0}, {"b", 1600, 1, 0});
}

/* No crossover within the noise: neither there and back, nor at the first size. */
static void within_noise(void **state) {
    (void)state;
    CHECK_WORDS("`a` at all sizes", {"a", 100, 1, 0.02}, {"b", 100, 2, 0.02}, {"a", 200, 2.04, 0.02},
                {"b", 200, 2, 0.02}, {"a", 400, 3, 0.02}, {"b", 400, 4, 0.02});
    CHECK_WORDS("`a` up to 200², then `b`", {"a", 100, 1, 0.02}, {"b", 100, 2, 0.02}, {"a", 200, 2.04, 0.02},
                {"b", 200, 2, 0.02}, {"a", 400, 5, 0.02}, {"b", 400, 4, 0.02});
    CHECK_WORDS("`b` at all sizes", {"a", 100, 1, 0.05}, {"b", 100, 1.04, 0.01}, {"a", 200, 3, 0.05},
                {"b", 200, 2, 0.01});
    CHECK_WORDS("`a` up to 140², then `b`; not certain at 2 of 2 sizes: too few or noisy samples",
                {"a", 100, 1, NAN}, {"b", 100, 1.04, NAN}, {"a", 200, 2.08, NAN},
                {"b", 200, 2, NAN}); /* the noise of one sample is not known */
    CHECK_WORDS("`b` at all sizes; not certain at 1 of 2 sizes: too few or noisy samples", {"a", 100, 2, 0.5},
                {"b", 100, 1, 0.3}, {"a", 200, 9, 0.5}, {"b", 200, 2, 0.01});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_them_everywhere),
        cmocka_unit_test(between_sizes),
        cmocka_unit_test(not_measured_on_both_sides),
        cmocka_unit_test(within_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
