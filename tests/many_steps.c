/* 2^20 steps of small fields that stay on chip, in 2D and 3D: the bits of as many steps by a launch each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/run/run.h"

enum { STEPS = 1 << 20 };

static stencil_machine machine;

static stencil_status read_initial(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    (void)context;
    assert_int_equal(array, STENCIL_ARRAY_U);
    for (int64_t z = 0; z < box->n[0]; z++)
        for (int64_t y = 0; y < box->n[1]; y++)
            for (int64_t x = 0; x < box->n[2]; x++) {
                const int64_t at[3] = {box->first[0] + z, box->first[1] + y, box->first[2] + x};
                uint64_t v = (uint64_t)((at[0] * 1000 + at[1]) * 1000 + at[2]) * UINT64_C(0x9e3779b97f4a7c15);
                v = (v ^ v >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
                ((double *)to->at)[z * to->plane + y * to->row + x] = (double)(v >> 11) * 0x1p-53;
            }
    return STENCIL_OK;
}

/* Its cells without boundary cells; to be freed. */
static double *run(const stencil_problem *problem, const char *sync, const char *sweep, int64_t *cells) {
    const stencil_run_options options = {
        .sync = sync, .sweep = sweep, .backend = STENCIL_BACKEND_GPU, .gpu_count = 1};
    const stencil_reader initial = {read_initial, NULL};
    const stencil_box box = {{0, 0, 0}, {problem->n[0], problem->n[1], problem->n[2]}};
    static stencil_plan plan;
    stencil_run *here = NULL;
    stencil_report report = {0};
    *cells = box.n[0] * box.n[1] * box.n[2];
    double *const u = malloc((size_t)*cells * sizeof *u);
    assert_non_null(u);
    const stencil_cells to = stencil_cells_dense(STENCIL_FLOAT64, u, &box);
    if (stencil_plan_here(&plan, problem, &options, &machine) != STENCIL_OK ||
        stencil_run_open(&here, &plan, problem, &initial) != STENCIL_OK ||
        stencil_run_drive(here, NULL, &report) != STENCIL_OK ||
        stencil_run_read(here, STENCIL_ARRAY_U, &box, &to) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
    assert_int_equal(report.steps, STEPS);
    stencil_run_close(here);
    stencil_report_destroy(&report);
    return u;
}

static void same_bits(void **state) {
    const int rank = *(const int *)*state;
    static const int64_t extent[2][3] = {{150, 260}, {34, 40, 70}};
    stencil_spec spec;
    stencil_problem problem;
    int64_t cells;
    stencil_spec_init(&spec);
    spec.rank = spec.boundary_count = rank;
    for (int axis = 0; axis < rank; axis++) {
        spec.extent[axis] = extent[rank - 2][axis];
        spec.boundary[axis] = axis == 0 ? STENCIL_FIXED : axis == 1 ? STENCIL_PERIODIC : STENCIL_FIXED;
    }
    snprintf(spec.stencil, sizeof spec.stencil, "%s", rank == 2 ? "j2d5pt" : "j3d7pt");
    spec.precision = STENCIL_FLOAT64;
    spec.steps = spec.check_every = STEPS;
    if (stencil_problem_resolve(&problem, &spec) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
    double *const is = run(&problem, "neighbor", "resident", &cells), *const should = run(&problem, "graph",
                                                                                          "stream", &cells);
    int64_t different = 0, changes = 0;
    for (int64_t i = 0; i < cells; i++) {
        different += memcmp(&is[i], &should[i], sizeof *is) != 0;
        changes += i > 0 && should[i] != should[i - 1];
    }
    assert_int_equal(different, 0);
    assert_true(changes > cells / 2); /* it has not become one value */
    free(is);
    free(should);
    stencil_problem_destroy(&problem);
}

int main(void) {
    static int rank[] = {2, 3};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(same_bits, &rank[0]),
                                       cmocka_unit_test_prestate(same_bits, &rank[1])};
    if (stencil_machine_probe(&machine, STENCIL_STREAMS_PART) != STENCIL_OK) {
        fprintf(stderr, "%s\n", stencil_error_last()->message);
        return 1;
    }
    if (machine.gpu_count == 0) {
        printf("no GPU (%s)\n", machine.no_gpu_reason);
        return 77;
    }
    return cmocka_run_group_tests_name("many steps", tests, NULL, NULL);
}
