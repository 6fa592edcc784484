/* Work of passes of several steps, their bounds, and the sizes that a benchmark chooses by this work. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/benchmarks/trial.h"
#include "h200.h"

static void deep_plan(stencil_plan *plan, stencil_problem *problem, int64_t ny, int64_t nx) {
    const stencil_run_options options = {.sync = "relaunch", .sweep = "pipeline", .gpu_count = 1};
    problem_of(problem, "j2d5pt", STENCIL_FLOAT32, nx + 2);
    stencil_spec spec = problem->spec;
    spec.extent[0] = ny + 2;
    spec.check_every = 172;
    spec.steps = 1000;
    assert_int_equal(stencil_problem_resolve(problem, &spec), STENCIL_OK);
    assert_int_equal(stencil_plan_make(plan, problem, &options, deep_machine()), STENCIL_OK);
    assert_int_equal(plan->depth, 16);
}

static void expect_close(double value, double wanted) {
    if (!(fabs(value / wanted - 1) < 1e-12))
        fail_msg("%.17g in place of %.17g", value, wanted);
}

/* 264 lines of 100 rows of strips of 672 columns, 4 x 4 steps of them. The first line of a strip begins at a
 * closed side: 84 rows that are kept, 16 until the last stage has them, one boundary row, and one that makes
 * it whole slots of two; others have 16 rows above theirs and 16 that they share with the line before. */
static void bounds(void **state) {
    (void)state;
    stencil_plan plan;
    stencil_problem problem;
    const double levels = 672 * 16, wavefronts = 2 * 672 * 4 / 128 * 5 + 2 * 16;
    for (int strips = 1; strips <= 2; strips++) {
        const int64_t ny = 26400 / strips - 16, nx = strips == 1 ? 670 : 671;
        const double rows = strips * 102 + (264 - strips) * 132, cells = (double)(nx * ny);
        deep_plan(&plan, &problem, ny, nx);
        const stencil_pass_work work = stencil_sweep_work(&plan, &problem, plan.depth, false),
                                checked = stencil_sweep_work(&plan, &problem, plan.depth, true);
        expect_close(work.cells, rows * levels);
        expect_close(work.longest, 264 * 132 * levels);
        expect_close(work.wavefronts, rows * wavefronts);
        /* Of 172 / 16 passes one has a checked step. */
        const double plain = 172 / 16.0 - 1, made = (plain * rows * levels + checked.cells) / (172 * cells);
        expect_close(1 + stencil_sweep_again(&plan, &problem), made);
        const stencil_bound bound = stencil_model_bound(&plan, &problem, &h200);
        expect_close(stencil_sweep_pass_steps(&plan, &problem), 16);
        expect_close(bound.need[STENCIL_RESOURCE_MEMORY], 8 / 16.0);
        expect_close(bound.need[STENCIL_RESOURCE_SHARED],
                     (plain * rows * wavefronts + checked.wavefronts) / (172 * cells));
        expect_close(bound.need[STENCIL_RESOURCE_ARITHMETIC], 5 * made);
        expect_close(bound.peak[STENCIL_RESOURCE_SHARED], 132 * 1.98e9);
        expect_close(bound.peak[STENCIL_RESOURCE_ARITHMETIC], 132 * 1.98e9 * 128);
        assert_int_equal(bound.least, STENCIL_RESOURCE_ARITHMETIC);
        expect_close(stencil_bound_rate(&bound, bound.least),
                     132 * 1.98e9 * 128 / bound.need[STENCIL_RESOURCE_ARITHMETIC]);
    }
    /* Two GPUs have twice the bandwidth of one; single steps need no shared memory. */
    const stencil_run_options plain = on_gpus("neighbor", 2);
    problem_of(&problem, "j2d5pt", STENCIL_FLOAT32, 16384);
    assert_int_equal(stencil_plan_make(&plan, &problem, &plain, &h200), STENCIL_OK);
    const stencil_bound bound = stencil_model_bound(&plan, &problem, &h200);
    assert_int_equal(bound.least, STENCIL_RESOURCE_MEMORY);
    assert_true(isinf(stencil_bound_rate(&bound, STENCIL_RESOURCE_SHARED)));
    expect_close(bound.need[STENCIL_RESOURCE_MEMORY], 8);
    expect_close(bound.need[STENCIL_RESOURCE_ARITHMETIC], 5);
    expect_close(bound.peak[STENCIL_RESOURCE_MEMORY],
                 2 * h200.gpu_costs.bytes_per_s[STENCIL_LOOP_PERSISTENT][0][STENCIL_FAR]);
}

/* Work of a checked pass of 3 x 4 steps in strips of 608 columns, whose rows are stored once more before the
 * checked step, and loaded twice for the residual. */
static void checked_work(void **state) {
    (void)state;
    stencil_plan plan;
    stencil_problem problem;
    const double levels = 608 * 12, wavefronts = 608 * 4 / 128 * (2 * 4 + 3) + 2 * 12;
    const double rows = 2 * (88 + 12 + 2) + (264 - 2) * 124;
    deep_plan(&plan, &problem, 26400 / 2 - 12, 576 + 595);
    const stencil_pass_work work = stencil_sweep_work(&plan, &problem, 12, true);
    expect_close(work.cells, rows * levels);
    expect_close(work.longest, 264 * 124 * levels);
    expect_close(work.wavefronts, rows * wavefronts);
    /* Strips begin at multiples of 64 columns: three keep 576, 576 and up to 595. */
    for (int more = 0; more < 2; more++) {
        const int strips = 3 + more;
        deep_plan(&plan, &problem, 26400 / strips - 12, 576 + 576 + 595 + more);
        expect_close(stencil_sweep_work(&plan, &problem, 12, true).cells,
                     (strips * (88 + 12 + 2) + (264 - strips) * 124) * levels);
    }
}

/* Returns the share of computed cells that a pass keeps, if all blocks compute as many as the busiest one. */
static double kept_at(stencil_spec *spec, const stencil_run_options *options, int64_t edge) {
    stencil_plan plan;
    stencil_problem problem;
    spec->extent[0] = spec->extent[1] = edge;
    assert_int_equal(stencil_problem_resolve(&problem, spec), STENCIL_OK);
    assert_int_equal(stencil_plan_make(&plan, &problem, options, deep_machine()), STENCIL_OK);
    assert_true(plan.depth > 1);
    const stencil_pass_work work = stencil_sweep_work(&plan, &problem, plan.depth, false);
    const double cells = (double)stencil_problem_updated_cells(&problem) * plan.depth;
    assert_true(work.longest >= work.cells && work.cells > cells);
    return cells / work.longest;
}

/* A benchmark chooses the edge with the largest kept share; nearly empty strips cost as much as full ones. */
static void edges(void **state) {
    enum { FIRST = 7990, LAST = 8410 };
    (void)state;
    for (int shape = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int precision = 0; precision < STENCIL_PRECISION_COUNT && stencil_shapes[shape].rank == 2;
             precision++) {
            stencil_run_options options = {.sync = "relaunch", .sweep = "pipeline", .gpu_count = 1};
            stencil_spec spec;
            double most = 0, least = 1;
            int64_t best = 0;
            stencil_spec_init(&spec);
            spec.rank = 2;
            spec.precision = (stencil_precision)precision;
            spec.steps = spec.check_every = 1000;
            snprintf(spec.stencil, sizeof spec.stencil, "%s", stencil_shapes[shape].name);
            stencil_trial_weights(&spec);
            for (int64_t edge = LAST; edge >= FIRST; edge--) {
                const double kept = kept_at(&spec, &options, edge);
                best = kept >= most ? edge : best;
                most = fmax(most, kept);
                least = fmin(least, kept);
            }
            assert_true(least < 0.97 * most && most < 1);
            int64_t own[3];
            assert_true(stencil_trial_own(&spec, &options, deep_machine(), FIRST, LAST, own));
            assert_int_equal(own[0], best);
            assert_int_equal(own[1], best);
            options = (stencil_run_options){.backend = STENCIL_BACKEND_CPU};
            assert_false(stencil_trial_own(&spec, &options, deep_machine(), FIRST, FIRST + 1, own));
        }
}

/* In 3D tiles of 128 columns and 32 rows, which overlap by 8 and have 4 levels: 3 and 22 of them keep 363
 * columns and 534 rows, each in two chunks of 300 planes, which take 12 turns more. A row or a column more
 * takes tiles for which there are no blocks, so the sizes that a benchmark chooses are of that kind. */
static void boxes(void **state) {
    enum { FIRST = 300, LAST = 640, LEVELS = 128 * 32 * 4 };
    const stencil_run_options options = {.sync = "relaunch", .sweep = "pipeline", .gpu_count = 1};
    stencil_problem problem;
    stencil_plan plan;
    stencil_spec spec;
    int64_t own[3];
    (void)state;
    stencil_spec_init(&spec);
    spec.rank = 3;
    spec.precision = STENCIL_FLOAT32;
    spec.steps = spec.check_every = 1000;
    snprintf(spec.stencil, sizeof spec.stencil, "j3d7pt");
    stencil_trial_weights(&spec);
    memcpy(spec.extent, (const int64_t[]){600 + 2, 534 + 2, 363 + 2}, 3 * sizeof(int64_t));
    assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, deep_machine()), STENCIL_OK);
    assert_int_equal(plan.depth, 4);
    const stencil_pass_work work = stencil_sweep_work(&plan, &problem, 4, false);
    expect_close(work.cells, 132.0 * 312 * LEVELS);
    expect_close(work.longest, work.cells);
    expect_close(work.wavefronts, 132.0 * 312 * 1024);
    spec.extent[2]++;
    assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, deep_machine()), STENCIL_OK);
    assert_true(stencil_sweep_work(&plan, &problem, 4, false).longest > 1.1 * work.longest);
    assert_true(stencil_trial_own(&spec, &options, deep_machine(), FIRST, LAST, own));
    assert_int_equal(own[0], LAST);
    memcpy(spec.extent, own, sizeof own);
    assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, deep_machine()), STENCIL_OK);
    const double cells = (double)stencil_problem_updated_cells(&problem) * plan.depth;
    assert_true(cells / stencil_sweep_work(&plan, &problem, 4, false).longest >
                363.0 * 534 * 600 * 4 / work.longest);
}

/* Random weights have the sum 1, and differ even in float32. */
static void random_weights(void **state) {
    (void)state;
    for (int shape = 0; shape < STENCIL_SHAPE_COUNT; shape++) {
        stencil_spec spec;
        double sum = 0;
        stencil_spec_init(&spec);
        snprintf(spec.stencil, sizeof spec.stencil, "%s", stencil_shapes[shape].name);
        stencil_trial_weights(&spec);
        assert_int_equal(spec.weight_count, stencil_shapes[shape].point_count);
        for (int i = 0; i < spec.weight_count; i++) {
            sum += spec.weight[i];
            for (int k = 0; k < i; k++)
                assert_true((float)spec.weight[i] != (float)spec.weight[k]);
        }
        assert_true(fabs(sum - 1) < 1e-14);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds), cmocka_unit_test(checked_work),   cmocka_unit_test(edges),
        cmocka_unit_test(boxes),  cmocka_unit_test(random_weights),
    };
    if (!read_h200(argc, argv))
        return 1;
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
