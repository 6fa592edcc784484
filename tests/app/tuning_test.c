/* Tuning files of GPUs: a file that overrides a value, and plans that use the value; and the file that a
 * calibration writes, which this test compiles. argv[1]: the machine of h200-x8.json; argv[2]: the
 * calibration's file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "h200.h"
#include "solver/machine/tuned.h"

#define STENCIL_TUNED_GPU(name)                          STENCIL_TUNED_FILE(name),
#define STENCIL_TUNED(type, member, value, date, figure) STENCIL_TUNED_ROW(member, value),

/* GPUs of this test, in place of the GPUs that the build knows. */
const stencil_tuned_row stencil_tuned_rows[] = {
#include "tuning/one_value.def"
#include "tuning/calibrated.def"
    {0},
};

static const char *calibrated_file;

static size_t end_of(const stencil_tuned_member *m) {
    return m[1].name != NULL ? m[1].offset : sizeof(stencil_tuning);
}

static void one_value_differs(void **state) {
    static stencil_tuning usual, own; /* static, so that bytes between members are 0 */
    (void)state;
    assert_false(stencil_tuning_find(&usual, "No such GPU"));
    assert_true(stencil_tuning_find(&own, "Made-up GPU"));
    assert_int_equal(usual.stream_max, 8);
    assert_int_equal(own.stream_max, 4);
    for (const stencil_tuned_member *m = stencil_tuned_members; m->name != NULL; m++)
        assert_int_equal(
            memcmp((char *)&usual + m->offset, (char *)&own + m->offset, end_of(m) - m->offset) != 0,
            strcmp(m->name, "stream_max") == 0);
    own.stream_max = usual.stream_max;
    assert_memory_equal(&usual, &own, sizeof own);
}

static void plan_on(stencil_plan *plan, const char *gpu) {
    static stencil_machine machine;
    stencil_problem problem;
    const stencil_run_options options = on_gpus("relaunch", 1);
    machine = h200;
    snprintf(machine.gpu[0].name, sizeof machine.gpu[0].name, "%s", gpu);
    problem_of(&problem, "j2d5pt", STENCIL_FLOAT32, 4096);
    if (stencil_plan_make(plan, &problem, &options, &machine) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
}

/* Tiles have 4 rows for each thread in place of 8; a plan for a GPU without a file has a note. */
static void plans_use_it(void **state) {
    stencil_plan own, none;
    (void)state;
    plan_on(&own, "Made-up GPU");
    plan_on(&none, "No such GPU");
    assert_int_equal(own.tile[STENCIL_Y], own.block_y * 4);
    assert_int_equal(none.tile[STENCIL_Y], none.block_y * 8);
    assert_int_equal(own.notes.count, 0);
    assert_int_equal(none.notes.count, 1);
    assert_non_null(strstr(none.notes.line[0], "nothing was measured on No such GPU"));
}

static int strategy_named(const char *name) {
    int i = 0;
    while (strcmp(stencil_strategy_at(i).name, name) != 0)
        i++;
    return i;
}

/* Returns a machine with a GPU of 78 multiprocessors whose calibration has figures of three strategies, of
 * the plain sweep of j2d5pt in memory, and of passes of j3d7pt. */
static const stencil_machine *calibrated_machine(void) {
    static stencil_machine machine;
    machine = h200;
    machine.gpu_count = 1;
    stencil_gpu *gpu = &machine.gpu[0];
    snprintf(gpu->name, sizeof gpu->name, "No such GPU");
    gpu->sm_count = 78;
    gpu->clock_khz = 1500000;
    machine.gpu_costs = (stencil_calibration){0};
    stencil_calibration_defaults(&machine);
    snprintf(gpu->name, sizeof gpu->name, "Calibrated GPU");
    stencil_calibration *c = &machine.gpu_costs;
    c->round_s[STENCIL_LOOP_PERSISTENT] = 0.25e-6;
    c->sync[strategy_named("graph")] = (stencil_sync_cost){2e-6, 2.5e-6, 15e-6, 35e-6, 26e-6};
    c->sync[strategy_named("grid")] = (stencil_sync_cost){3e-6, 3.5e-6, 3.6e-6, 3.7e-6, 4e-6};
    c->sync[strategy_named("multi-grid")] = (stencil_sync_cost){7e-6, 7e-6, 7e-6, 7e-6, 7e-6};
    c->rate[STENCIL_SHAPE_j2d5pt][STENCIL_FLOAT32][0][STENCIL_LOOP_LAUNCHED][STENCIL_FAR] = 1.25e11;
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++) {
        double(*pass)[STENCIL_LOOP_COUNT][STENCIL_DISTANCES] =
            c->rate[STENCIL_SHAPE_j3d7pt][precision] + STENCIL_SWEEP_pipeline;
        (*pass)[STENCIL_LOOP_LAUNCHED][STENCIL_FAR] = 2 * c->fma_per_s[precision] / 7;
        (*pass)[STENCIL_LOOP_PERSISTENT][STENCIL_FAR] = 0.5 * 2 * c->fma_per_s[precision] / 7;
    }
    return &machine;
}

/* The written tuning file is the file of this test, letter by letter. */
static void calibrations_write_a_file(void **state) {
    static char written[8192], wanted[8192];
    FILE *out = tmpfile(), *in = fopen(calibrated_file, "r");
    (void)state;
    assert_non_null(out);
    assert_non_null(in);
    stencil_tuning_write(out, calibrated_machine(), "2026-11-27");
    rewind(out);
    written[fread(written, 1, sizeof written - 1, out)] = '\0';
    wanted[fread(wanted, 1, sizeof wanted - 1, in)] = '\0';
    fclose(out);
    fclose(in);
    assert_string_equal(written, wanted);
}

static void assert_near(double value, double wanted) {
    if (!(fabs(value - wanted) <= 1e-3 * fabs(wanted)))
        fail_msg("%.12g instead of %.12g", value, wanted);
}

/* With its tuning file, a GPU without calibration has the figures that were measured. */
static void files_give_it_back(void **state) {
    static stencil_machine machine;
    static stencil_tuning tuning;
    const stencil_calibration *measured = &calibrated_machine()->gpu_costs, *c = &machine.gpu_costs;
    (void)state;
    machine = *calibrated_machine();
    stencil_calibration_defaults(&machine);
    assert_near(c->fma_per_s[STENCIL_FLOAT64], measured->fma_per_s[STENCIL_FLOAT64]);
    assert_near(c->round_s[STENCIL_LOOP_PERSISTENT], 0.25e-6);
    assert_near(c->round_s[STENCIL_LOOP_LAUNCHED], measured->round_s[STENCIL_LOOP_LAUNCHED]);
    assert_near(c->sync[strategy_named("graph")].check_s, 26e-6);
    assert_near(c->sync[strategy_named("multi-grid")].few_s, 3e-6); /* multi-grid costs as grid */
    assert_near(c->sync[strategy_named("central")].few_s, 1.55e-6);
    assert_near(c->bytes_per_s[STENCIL_LOOP_LAUNCHED][0][STENCIL_FAR], 1e12);
    assert_near(c->bytes_per_s[STENCIL_LOOP_PERSISTENT][1][STENCIL_NEAR],
                measured->bytes_per_s[STENCIL_LOOP_PERSISTENT][1][STENCIL_NEAR]);
    assert_true(stencil_tuning_find(&tuning, "Calibrated GPU"));
    assert_near(tuning.bytes_per_s, 1e12);
    assert_near(tuning.pass_fma_3d, 2);
    assert_near(tuning.solid_loop, 0.5);
    assert_near(tuning.pass_fma, 2); /* value of default.def */
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_differs),
        cmocka_unit_test(plans_use_it),
        cmocka_unit_test(calibrations_write_a_file),
        cmocka_unit_test(files_give_it_back),
    };
    calibrated_file = argv[argc - 1];
    return read_h200(argc - 1, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
