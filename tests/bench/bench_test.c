/* Tests of benchmarks: rows, arithmetic, and that no wrong result passes. Times are not judged. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/benchmark.h"
#include "bench/benchmarks/trial.h"
#include "options.h"

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

static int find(const char *name) {
    const int index = stencil_name_find(name, stencil_bench_names);
    if (index < 0)
        fail_msg("no benchmark %s", name);
    return index;
}

static stencil_machine cpu_machine(void) {
    return (stencil_machine){
        .no_gpu_reason = "none in this test", .cpu_threads = 2, .cpu_isa = "any", .cpu_cache_bytes = 1};
}

static stencil_bench_options small_options(int rank) {
    stencil_bench_options options;
    options_init(&options);
    options.backend = STENCIL_BACKEND_CPU;
    options.samples = 4;
    options.iterations = 3;
    options.spec.rank = rank;
    options.spec.extent[0] = rank == 3 ? 13 : 37;
    options.spec.extent[1] = rank == 3 ? 17 : 61;
    options.spec.extent[2] = rank == 3 ? 23 : 0;
    return options;
}

static stencil_bench_result run(const char *name, const stencil_bench_options *options) {
    const stencil_machine machine = cpu_machine();
    stencil_bench_result result;
    if (stencil_bench_run(find(name), options, &machine, &result) != STENCIL_OK)
        fail_msg("%s: %s", name, stencil_error_last()->message);
    assert_string_equal(result.skipped, "");
    return result;
}

static const stencil_bench_parameter *parameter(const stencil_bench_result *result, const char *name) {
    for (int i = 0; i < result->parameter_count; i++)
        if (strcmp(result->parameter[i].name, name) == 0)
            return &result->parameter[i];
    fail_msg("%s has no parameter %s", result->benchmark, name);
    return NULL;
}

/* Recomputes statistics from the samples, and ratios to the best copy. */
static void check_rows(const stencil_bench_result *result, int64_t samples) {
    double best = 0, scratch[16];
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        assert_int_equal(row->sample_count, samples);
        for (int64_t k = 0; k < samples; k++)
            assert_true(row->sample[k] > 0);
        const stencil_statistics s = stencil_statistics_of(row->sample, (int)samples, scratch);
        assert_memory_equal(&s.median, &row->statistics.median, sizeof s.median);
        if (strcmp(row->kind, "copy") == 0 && row->bytes / s.median > best)
            best = row->bytes / s.median;
    }
    assert_true(best > 0);
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        assert_near(row->ratio, row->bytes / row->statistics.median / best, 1e-12);
        assert_near(stencil_bench_rate(row, row->bytes), row->bytes / row->statistics.median, 0);
    }
}

static void check_sweep(const stencil_bench_options *options, const char *stencil, int64_t cells, int bytes) {
    stencil_bench_result result = run("sweep", options);
    check_rows(&result, options->samples);
    assert_string_equal(parameter(&result, "stencil")->text, stencil);
    assert_int_equal(parameter(&result, "updated_cells")->number, cells);
    int strategies = 0;
    for (int i = 0; i < result.row_count; i++) {
        const stencil_bench_row *row = &result.row[i];
        if (strcmp(row->kind, "strategy") != 0)
            continue;
        assert_string_equal(row->name, stencil_strategy_at(strategies++).name);
        assert_string_equal(row->unit, "s/step");
        assert_near(row->cells, (double)cells, 0);
        assert_near(row->bytes, (double)cells * 2 * bytes, 0);
        assert_int_equal(row->iterations, 3);
    }
    assert_int_equal(strategies, stencil_strategy_count());
    stencil_bench_result_destroy(&result);
}

static void sweep_2d(void **state) {
    (void)state;
    const stencil_bench_options options = small_options(2);
    check_sweep(&options, "j2d5pt", 35 * 59, 8);
}

static void sweep_3d_periodic_float32(void **state) {
    (void)state;
    stencil_bench_options options = small_options(3);
    options.spec.precision = STENCIL_FLOAT32;
    options.spec.boundary_count = 1;
    options.spec.boundary[0] = STENCIL_PERIODIC;
    check_sweep(&options, "j3d7pt", 13 * 17 * 23, 4);
}

static void stores_of_one_size(void **state) {
    static const char *const ways[] = {"cached", "streaming", "chosen"};
    (void)state;
    const stencil_bench_options options = small_options(2);
    stencil_bench_result result = run("stores", &options);
    assert_int_equal(result.row_count, 3);
    for (int i = 0; i < result.row_count; i++) {
        assert_string_equal(result.row[i].name, ways[i]);
        assert_int_equal(result.row[i].sample_count, options.samples);
        assert_int_equal(result.row[i].iterations, 3);
        assert_near(result.row[i].cells, 35 * 59, 0);
        assert_near(result.row[i].bytes, 35 * 59 * 16, 0);
    }
    stencil_bench_result_destroy(&result);
}

static void random_numbers_of_one_size(void **state) {
    (void)state;
    const stencil_bench_options options = small_options(2);
    const int64_t cells = options.spec.extent[0] * options.spec.extent[1];
    stencil_bench_result result = run("random", &options);
    assert_int_equal(result.row_count, 1);
    assert_string_equal(result.row[0].name, "threads of the host");
    assert_int_equal(result.row[0].sample_count, options.samples);
    assert_near(result.row[0].bytes, 8.0 * (double)cells, 0);
    stencil_bench_result_destroy(&result);
}

static void sweep_calibrates(void **state) {
    (void)state;
    stencil_bench_options options = small_options(2);
    options.iterations = 0;
    options.samples = 1;
    stencil_bench_result result = run("sweep", &options);
    int64_t steps = 0;
    for (int i = 0; i < result.row_count; i++)
        if (strcmp(result.row[i].kind, "strategy") == 0) {
            steps = steps > 0 ? steps : result.row[i].iterations;
            assert_int_equal(result.row[i].iterations, steps);
        }
    assert_true(steps > 1);
    stencil_bench_result_destroy(&result);
}

static void copy_rows(void **state) {
    (void)state;
    const stencil_bench_options options = small_options(2);
    stencil_bench_result result = run("copy", &options);
    const int64_t bytes = (37 * 61 * 8 + 63) / 64 * 64;
    assert_int_equal(result.row_count, 4);
    assert_int_equal(parameter(&result, "array_bytes")->number, bytes);
    check_rows(&result, options.samples);
    for (int i = 0; i < result.row_count; i++)
        assert_near(result.row[i].bytes, 2.0 * (double)bytes, 0);
    stencil_bench_result_destroy(&result);
}

static void time_limit_keeps_the_least(void **state) {
    (void)state;
    stencil_bench_options options = small_options(2);
    options.samples = 1000;
    options.timeout_s = 0;
    stencil_bench_result result = run("copy", &options);
    check_rows(&result, STENCIL_BENCH_LEAST);
    stencil_bench_result_destroy(&result);
}

static void no_gpu(void **state) {
    (void)state;
    const stencil_machine machine = cpu_machine();
    stencil_bench_options options = small_options(2);
    stencil_bench_result result;
    options.backend = STENCIL_BACKEND_GPU;
    assert_int_equal(stencil_bench_run(find("sweep"), &options, &machine, &result), STENCIL_UNAVAILABLE);
    stencil_bench_result_destroy(&result);
    options.backend = STENCIL_BACKEND_AUTO;
    assert_int_equal(stencil_bench_run(find("copy"), &options, &machine, &result), STENCIL_OK);
    assert_int_equal(result.backend, STENCIL_BACKEND_CPU);
    stencil_bench_result_destroy(&result);
}

static void ratios_by_hand(void **state) {
    (void)state;
    stencil_bench_result result = {.benchmark = "test"};
    const struct {
        const char *kind;
        double bytes, median;
    } rows[] = {
        {"copy", 80, 1}, {"copy", 200, 2}, {"strategy", 150, 2}, {"strategy", 0, 1}, {"strategy", 70, 1}};
    for (int i = 0; i < 5; i++) {
        stencil_bench b = {.result = &result};
        assert_int_equal(STENCIL_BENCH_ADD(&b, i, rows[i].kind, "x", .unit = "s/step"), STENCIL_OK);
        stencil_bench_end(&b);
        assert_int_equal(result.row_count, i + 1);
        result.row[i].bytes = rows[i].bytes;
        result.row[i].sample_count = i < 4; /* the last row was skipped */
        result.row[i].statistics.median = rows[i].median;
    }
    stencil_bench_fill_ratios(&result, 0);
    assert_near(result.row[0].ratio, 0.8, 1e-15);
    assert_near(result.row[1].ratio, 1, 1e-15);
    assert_near(result.row[2].ratio, 0.75, 1e-15);
    assert_true(isnan(result.row[3].ratio) && isnan(result.row[4].ratio));
    stencil_bench_result_destroy(&result);
}

/* Makes a field of 3 x 5 x 7 updated cells with ghost cells, and a copy of the field. */
static void make_fields(stencil_field *a, stencil_field *b, stencil_precision precision) {
    stencil_layout layout;
    const int64_t n[] = {3, 5, 7}, ghost[] = {1, 1, 1};
    assert_int_equal(stencil_layout_init(&layout, precision, n, ghost), STENCIL_OK);
    assert_int_equal(stencil_field_create(a, &layout, "a"), STENCIL_OK);
    assert_int_equal(stencil_field_create(b, &layout, "b"), STENCIL_OK);
    stencil_field_fill_random(a, 5);
    memcpy(b->data, a->data, (size_t)stencil_layout_bytes(&layout));
}

static void planted_difference(stencil_precision precision) {
    stencil_field a, b;
    make_fields(&a, &b, precision);
    const stencil_layout *l = &a.layout;
    const size_t size = stencil_precision_bytes(precision);
    unsigned char *bytes = b.data;
    assert_int_equal(stencil_field_check_same(&a, "first", &b, "second", 9), STENCIL_OK);
    bytes[(size_t)(l->origin - 1) * size] ^= 1; /* ghost cells are no results */
    assert_int_equal(stencil_field_check_same(&a, "first", &b, "second", 9), STENCIL_OK);
    for (int64_t z = 0; z < 3; z += 2)
        for (int64_t y = 0; y < 5; y += 4)
            for (int64_t x = 0; x < 7; x += 3) {
                unsigned char *cell = bytes + (size_t)(l->origin + z * l->plane + y * l->row + x) * size;
                char where[64];
                *cell ^= 1; /* the last bit of the mantissa */
                assert_int_equal(stencil_field_check_same(&a, "first", &b, "second", 9), STENCIL_INTERNAL);
                snprintf(where, sizeof where, "1 cells, first at (z, y, x) = (%d, %d, %d)", (int)z, (int)y,
                         (int)x);
                assert_non_null(strstr(stencil_error_last()->message, where));
                assert_non_null(
                    strstr(stencil_error_last()->message, "first and second differ after 9 steps"));
                *cell ^= 1;
            }
    assert_int_equal(stencil_status_exit_code(STENCIL_INTERNAL), 70);
    stencil_field_destroy(&a);
    stencil_field_destroy(&b);
}

static void planted_difference_float64(void **state) {
    (void)state;
    planted_difference(STENCIL_FLOAT64);
}

static void planted_difference_float32(void **state) {
    (void)state;
    planted_difference(STENCIL_FLOAT32);
}

static void negative_zero_is_different(void **state) {
    (void)state;
    stencil_field a, b;
    make_fields(&a, &b, STENCIL_FLOAT64);
    ((double *)a.data)[a.layout.origin] = 0.0;
    ((double *)b.data)[a.layout.origin] = -0.0;
    assert_int_equal(stencil_field_check_same(&a, "a", &b, "b", 1), STENCIL_INTERNAL);
    stencil_field_destroy(&a);
    stencil_field_destroy(&b);
}

static void random_values(void **state) {
    (void)state;
    stencil_field a, b;
    make_fields(&a, &b, STENCIL_FLOAT64);
    double mean = 0, *v = a.data;
    for (int64_t i = 0; i < a.layout.element_count; i++) {
        assert_true(v[i] >= 0 && v[i] < 1);
        mean += v[i] / (double)a.layout.element_count;
    }
    assert_true(mean > 0.4 && mean < 0.6);
    stencil_field_fill_random(&b, 6);
    assert_int_equal(stencil_field_check_same(&a, "a", &b, "b", 1), STENCIL_INTERNAL);
    stencil_field_fill_random(&b, 5);
    assert_int_equal(stencil_field_check_same(&a, "a", &b, "b", 1), STENCIL_OK);
    stencil_field_destroy(&a);
    stencil_field_destroy(&b);
}

static void json_of_a_skipped_row(void **state) {
    (void)state;
    stencil_bench_result result = {.benchmark = "test", .backend = STENCIL_BACKEND_CPU, .device = "any"};
    stencil_bench b = {.result = &result};
    assert_int_equal(
        stencil_bench_add(&b, &(stencil_bench_subject){"strategy", "x", .unit = "s/step"}, "", 0),
        STENCIL_OK);
    stencil_bench_end(&b);
    strcpy(result.row[0].skipped, "too old");
    const stencil_bench_report report = {.result_count = 1,
                                         .result = &result,
                                         .command_line = "stencil bench",
                                         .started_s = 7,
                                         .seconds = 0.5,
                                         .options = small_options(2),
                                         .machine = cpu_machine()};
    json_t *root = stencil_bench_report_json(&report);
    assert_non_null(root);
    const json_t *entry = json_array_get(json_object_get(root, "results"), 0);
    const json_t *row = json_array_get(json_object_get(entry, "rows"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "skipped")), "too old");
    assert_true(json_is_null(json_object_get(row, "statistics")));
    assert_true(json_is_null(json_object_get(row, "ratio_to_copy")));
    assert_int_equal(json_array_size(json_object_get(row, "samples")), 0);
    assert_int_equal(json_integer_value(json_object_get(root, "started_s")), 7);
    json_decref(root);
    stencil_bench_result_destroy(&result);
}

/* JSON keeps what a report says of its origin; the error names a member that is missing. */
static void origin_from_json(void **state) {
    (void)state;
    stencil_bench_report wrote = {.command_line = "stencil bench --quiet",
                                  .started_s = 1795260626,
                                  .seconds = 63.8,
                                  .options = small_options(2),
                                  .machine = cpu_machine()};
    stencil_bench_report read;
    stencil_bench_report_init(&wrote);
    wrote.options.max_noise = 0.125;
    json_t *root = stencil_bench_report_json(&wrote);
    assert_non_null(root);
    assert_int_equal(stencil_bench_report_read(root, &read), STENCIL_OK);
    assert_string_equal(read.command_line, wrote.command_line);
    assert_string_equal(read.version, STENCIL_VERSION);
    assert_string_equal(read.git_revision, wrote.git_revision);
    assert_string_equal(read.compiler, wrote.compiler);
    assert_string_equal(read.kernel_driver != NULL ? read.kernel_driver : "", wrote.kernel_driver);
    assert_int_equal(read.started_s, wrote.started_s);
    assert_true(read.seconds == wrote.seconds && read.options.max_noise == 0.125);
    assert_int_equal(read.machine.driver_version, wrote.machine.driver_version);
    assert_int_equal(read.machine.runtime_version, wrote.machine.runtime_version);
    stencil_bench_report_destroy(&read);
    json_object_del(root, "git_revision");
    assert_int_equal(stencil_bench_report_read(root, &read), STENCIL_BAD_DATA);
    assert_non_null(strstr(stencil_error_last()->message, "git_revision"));
    stencil_bench_report_destroy(&read);
    json_decref(root);
}

/* Files are named after benchmarks, so a path is refused as a name. */
static void name_that_is_a_path(void **state) {
    (void)state;
    const char *const bad[] = {"../x", "", "A"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        stencil_bench_result result = {.benchmark = bad[i], .device = "any"}, read;
        json_t *object = stencil_bench_result_json(&result);
        assert_int_equal(stencil_bench_result_read(object, &read), STENCIL_BAD_DATA);
        stencil_bench_result_destroy(&read);
        json_decref(object);
    }
}

/* Participants of a ring wait for each other. */
static void ring_by_hand(void **state) {
    enum { ALL = 12, N = STENCIL_RING_NEIGHBORS };
    stencil_bench b = {0};
    uint32_t *first;
    (void)state;
    assert_int_equal(stencil_ring_create(&b, &first, ALL), STENCIL_OK);
    const uint32_t *list = first + ALL + 1;
    assert_int_equal(first[ALL], N * ALL);
    for (uint32_t i = 0; i < ALL; i++) {
        assert_int_equal(list[first[i]], i > 0 ? i - 1 : ALL - 1);
        assert_int_equal(list[first[i] + 1], i + 1 < ALL ? i + 1 : 0);
    }
    stencil_bench_end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_by_hand),
        cmocka_unit_test(sweep_2d),
        cmocka_unit_test(sweep_3d_periodic_float32),
        cmocka_unit_test(stores_of_one_size),
        cmocka_unit_test(random_numbers_of_one_size),
        cmocka_unit_test(sweep_calibrates),
        cmocka_unit_test(copy_rows),
        cmocka_unit_test(time_limit_keeps_the_least),
        cmocka_unit_test(no_gpu),
        cmocka_unit_test(ratios_by_hand),
        cmocka_unit_test(planted_difference_float64),
        cmocka_unit_test(planted_difference_float32),
        cmocka_unit_test(negative_zero_is_different),
        cmocka_unit_test(random_values),
        cmocka_unit_test(json_of_a_skipped_row),
        cmocka_unit_test(origin_from_json),
        cmocka_unit_test(name_that_is_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
