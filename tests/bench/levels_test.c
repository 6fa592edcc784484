/* Tests of the barriers of all levels side by side, over results that were made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "bench/bench.h"

#define assert_near(value, expected) assert_true(fabs((value) / (expected)-1) <= 1e-12)

enum { ROWS_MAX = 64, RESULTS = 5 };

typedef struct made {
    stencil_bench_row row[RESULTS][ROWS_MAX];
    stencil_bench_result result[RESULTS];
} made;

static void add(stencil_bench_result *result, const char *kind, const char *name, double median,
                const char *const axis[3], const int64_t number[3]) {
    stencil_bench_row *row = &result->row[result->row_count++];
    *row = (stencil_bench_row){
        .kind = kind, .unit = "cycles", .sample_count = 1, .statistics = {.median = median}};
    snprintf(row->name, sizeof row->name, "%s", name);
    for (int i = 0; i < 3 && axis[i] != NULL; i++)
        row->axis[row->axis_count++] = (stencil_bench_parameter){.name = axis[i], .number = number[i]};
}
#define ADD(result, kind, name, median, axes, ...)                                                           \
    add(result, kind, name, median, axes, (const int64_t[3]){__VA_ARGS__})

static const char *const size[3] = {"size"}, *const threads[3] = {"threads"},
                         *const shape[3] = {"blocks_per_sm", "threads"},
                         *const gpus[3] = {"gpus", "blocks_per_sm", "threads"};

/* Results at 2 GHz, in an order of their own. */
static stencil_bench_report make(made *m) {
    static const char *const names[RESULTS] = {"multi-grid", "grid", "launch", "block", "warp"};
    memset(m, 0, sizeof *m);
    for (int i = 0; i < RESULTS; i++)
        m->result[i] =
            (stencil_bench_result){.benchmark = names[i], .clock_hz = {2e9, 2e9}, .row = m->row[i]};
    ADD(&m->result[0], "barrier", "multi-grid", 3e-6, gpus, 2, 1, 64);
    ADD(&m->result[0], "barrier", "multi-grid", 4e-6, gpus, 4, 1, 64);
    ADD(&m->result[0], "barrier", "neighbor", 1e-6, gpus, 2, 1, 64);
    ADD(&m->result[1], "barrier", "grid.sync", 1e-6, shape, 1, 64);
    ADD(&m->result[1], "barrier", "grid.sync", 9e-6, shape, 32, 64);
    ADD(&m->result[1], "barrier", "grid.sync", 5e-6, shape, 16, 64);
    ADD(&m->result[1], "barrier", "lock", 5e-6, shape, 1, 64);
    ADD(&m->result[1], "part", "grid.sync", 5e-6, shape, 1, 32);
    ADD(&m->result[3], "latency", "__syncthreads", 16, threads, 64);
    ADD(&m->result[3], "latency", "__syncthreads", 17, threads, 96);
    ADD(&m->result[3], "throughput", "__syncthreads", 0.25, shape, 16, 64);
    ADD(&m->result[3], "throughput", "__syncthreads", 0.5, shape, 32, 64);
    ADD(&m->result[4], "latency", "tile", 4, size, 32);
    ADD(&m->result[4], "latency", "tile", 400, size, 8);
    ADD(&m->result[4], "throughput", "tile", 2, size, 32);
    ADD(&m->result[4], "latency, lanes apart", "tile", 40, size, 32);
    return (stencil_bench_report){.result_count = RESULTS, .result = m->result};
}

static const stencil_bench_level *find(const stencil_bench_level *level, int count, const char *name,
                                       int on) {
    for (int i = 0; i < count; i++)
        if (strcmp(level[i].name, name) == 0 && level[i].gpus == on)
            return &level[i];
    fail_msg("no level %s on %d GPUs", name, on);
    return NULL;
}

static void side_by_side(void **state) {
    static made m;
    stencil_bench_level level[STENCIL_BENCH_LEVELS_MAX];
    const stencil_bench_report report = make(&m);
    (void)state;
    const int count = stencil_bench_levels(&report, level);
    assert_int_equal(count, 6);
    assert_string_equal(level[0].level, "warp");
    assert_string_equal(level[count - 1].level, "multi-grid");
    const stencil_bench_level *tile = find(level, count, "tile, 32 lanes", 1);
    assert_near(tile->one_s, 2e-9);
    assert_near(tile->full_s, 16e-9); /* 64 warps, two barriers a cycle */
    assert_int_equal(tile->threads, 32);
    assert_near(find(level, count, "tile, 32 lanes apart", 1)->one_s, 20e-9);
    const stencil_bench_level *block = find(level, count, "__syncthreads", 1);
    assert_near(block->one_s, 8e-9);
    assert_near(block->full_s, 64e-9); /* 64 warps, half a warp a cycle */
    assert_int_equal(block->full_blocks, 32);
    const stencil_bench_level *grid = find(level, count, "grid.sync", 1);
    assert_near(grid->one_s, 1e-6);
    assert_near(grid->full_s, 9e-6);
    assert_int_equal(grid->threads, 64);
    assert_near(find(level, count, "multi-grid", 4)->one_s, 4e-6);
    assert_true(isnan(find(level, count, "multi-grid", 2)->full_s));
}

static void one_level_is_none(void **state) {
    static made m;
    stencil_bench_level level[STENCIL_BENCH_LEVELS_MAX];
    stencil_bench_report report = make(&m);
    (void)state;
    report.result_count = 1;
    assert_int_equal(stencil_bench_levels(&report, level), 0);
    m.result[0] = (stencil_bench_result){.benchmark = "warp"};
    report.result_count = 3;
    assert_int_equal(stencil_bench_levels(&report, level), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_by_side),
        cmocka_unit_test(one_level_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
