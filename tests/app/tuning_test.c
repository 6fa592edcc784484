/* A file of a GPU that overrides one value, and what plans make of it. argv[1]: the machine of h200-x8.json.
 */
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

/* In place of the GPUs that the build knows. */
const stencil_tuned_row stencil_tuned_rows[] = {
#include "tuning/one_value.def"
    {0},
};

static size_t end_of(const stencil_tuned_member *m) {
    return m[1].name != NULL ? m[1].offset : sizeof(stencil_tuning);
}

static void one_value_differs(void **state) {
    static stencil_tuning usual, own; /* zeros between members */
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

/* Streams of 4 rows in place of 8; a GPU without a file has a Note. */
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

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_differs),
        cmocka_unit_test(plans_use_it),
    };
    return read_h200(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
