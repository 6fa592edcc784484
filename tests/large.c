/* More cells than 32-bit indices can count: a run on more than 2^31 cells, checked at chosen cells.
 *
 *   test_large cpu|gpu 2d|3d      exits with 77 (need and have printed) where memory is too small */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "solver/run/run.h"

enum { STEPS = 2, NEAR = 40, SAMPLES = 500, STRATEGIES_MAX = 32 };

static struct {
    stencil_machine machine;
    stencil_backend backend;
    stencil_spec spec;
    stencil_problem problem;
    stencil_run *run;                  /* the one at hand */
    stencil_plan plan[STRATEGIES_MAX]; /* made before any memory is taken */
} large;

/* The initial value of a cell, from its index alone: uniform in [0, 1). */
static float initial_value(int64_t index) {
    uint64_t x = (uint64_t)index + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (float)((x ^ (x >> 31)) >> 40) * 0x1p-24f;
}

/* Element of u for cell `index` of the array. */
static int64_t element(int64_t index) {
    const stencil_problem *p = &large.problem;
    const int64_t ny = p->extent[1], nx = p->extent[2];
    const int64_t z = index / (ny * nx) + p->first[0], y = index / nx % ny + p->first[1];
    return p->layout.origin + z * p->layout.plane + y * p->layout.row + index % nx + p->first[2];
}

static int64_t array_cells(void) {
    return large.problem.extent[0] * large.problem.extent[1] * large.problem.extent[2];
}

/* The problem's cells, which are nowhere. */
static stencil_status read_initial(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const stencil_problem *p = &large.problem;
    const int64_t *n = box->n;
    (void)context;
    assert_int_equal(array, STENCIL_ARRAY_U);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n[0] * n[1]; r++) {
        const int64_t z = box->first[0] + r / n[1] - p->first[0], y = box->first[1] + r % n[1] - p->first[1],
                      index = (z * p->extent[1] + y) * p->extent[2] + box->first[2] - p->first[2];
        float *row = (float *)to->at + r / n[1] * to->plane + r % n[1] * to->row;
        for (int64_t x = 0; x < n[2]; x++)
            row[x] = initial_value(index + x);
    }
    return STENCIL_OK;
}

/* Index that a coordinate just outside an axis stands for (the points reach one cell far). */
static int64_t inside(int64_t i, int64_t n, stencil_boundary boundary) {
    if (boundary == STENCIL_PERIODIC)
        return i < 0 ? n - 1 : i >= n ? 0 : i;
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* The value of a cell after `steps` steps, evaluated backwards over its neighbours. */
static float value_after(int steps, int64_t z, int64_t y, int64_t x) {
    const stencil_problem *p = &large.problem;
    const int64_t at[3] = {z, y, x}, *n = p->extent;
    bool updated = true;
    for (int axis = 3 - p->rank; axis < 3; axis++)
        if (p->boundary[axis] == STENCIL_FIXED)
            updated = updated && at[axis] > 0 && at[axis] < n[axis] - 1;
    if (steps == 0 || !updated)
        return initial_value((z * n[1] + y) * n[2] + x);
    static const int star[7][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {0, 0, 0},
                                   {0, 0, 1},  {0, 1, 0},  {1, 0, 0}};
    const int first = p->rank == 3 ? 0 : 1, last = p->rank == 3 ? 6 : 5;
    const float weight = (float)(1.0 / (last - first + 1));
    float sum = 0;
    for (int k = first; k <= last; k++) {
        const float value = value_after(steps - 1, inside(z + star[k][0], n[0], p->boundary[0]),
                                        inside(y + star[k][1], n[1], p->boundary[1]),
                                        inside(x + star[k][2], n[2], p->boundary[2]));
        sum = k == first ? weight * value : fmaf(weight, value, sum);
    }
    return sum;
}

static void expect_cell(int64_t index) {
    const int64_t ny = large.problem.extent[1], nx = large.problem.extent[2];
    const int64_t z = index / (ny * nx), y = index / nx % ny, x = index % nx, *first = large.problem.first;
    const stencil_box cell = {{z + first[0], y + first[1], x + first[2]}, {1, 1, 1}};
    float is;
    const stencil_cells to = stencil_cells_dense(STENCIL_FLOAT32, &is, &cell);
    assert_int_equal(stencil_run_read(large.run, STENCIL_ARRAY_U, &cell, &to), STENCIL_OK);
    const float should = value_after(STEPS, z, y, x);
    if (memcmp(&is, &should, sizeof is) != 0)
        fail_msg("cell %lld of %lld (element %lld) is %.9g instead of %.9g", (long long)index,
                 (long long)array_cells(), (long long)element(index), is, should);
}

static void expect_around(int64_t index) {
    const int64_t cells = array_cells();
    for (int64_t i = index - NEAR; i <= index + NEAR; i++)
        if (i >= 0 && i < cells)
            expect_cell(i);
}

/* The array cell that stands nearest to an element of the padded field. */
static int64_t index_of_element(int64_t e) {
    int64_t low = 0, high = array_cells() - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (element(middle) < e)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void expect_result(const stencil_report *report) {
    const int64_t cells = array_cells(), nx = large.problem.extent[2];
    /* 2^29, 2^30 and 2^31 cells of four bytes: the limits of 32 bits, signed and not, in cells and in bytes.
     */
    for (int bits = 29; bits <= 31; bits++) {
        expect_around(INT64_C(1) << bits);
        expect_around(index_of_element(INT64_C(1) << bits));
    }
    expect_around(0);
    expect_around(cells - 1);
    expect_around(cells / nx / 2 * nx);
    for (int64_t i = 0; i < SAMPLES; i++)
        expect_cell((int64_t)((double)initial_value(~i) * (double)(cells - 1)));
    /* Mean square of the first change of independent uniform values (variance 1/12) under k equal weights:
     * ((k-1)/k^2 + (1-1/k)^2) / 12. It is far from this when a part of the cells is left out or counted
     * twice. */
    const double k = large.problem.shape->point_count;
    const double expected = sqrt(((k - 1) / (k * k) + (1 - 1 / k) * (1 - 1 / k)) / 12);
    assert_int_equal(report->history.count, STEPS);
    if (fabs(report->history.residual[0] - expected) > 1e-4)
        fail_msg("the residual of step 1 is %.9g instead of about %.9g", report->history.residual[0],
                 expected);
}

static void run_plan(void **state) {
    const stencil_plan *plan = *state;
    stencil_report report = {0};
    const stencil_reader initial = {read_initial, NULL};
    if (stencil_run_open(&large.run, plan, &large.problem, &initial) != STENCIL_OK ||
        stencil_run_drive(large.run, NULL, &report) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
    assert_int_equal(report.steps, STEPS);
    expect_result(&report);
    stencil_run_close(large.run);
    stencil_report_destroy(&report);
}

/* 46349^2 and 1293^3 cells are both just above 2^31. */
static void state_problem(int rank) {
    stencil_spec_init(&large.spec);
    large.spec.rank = rank;
    large.spec.precision = STENCIL_FLOAT32;
    large.spec.boundary_count = rank;
    for (int i = 0; i < rank; i++) {
        large.spec.extent[i] = rank == 2 ? 46349 : 1293;
        large.spec.boundary[i] = i == 0 ? STENCIL_FIXED : i == rank - 1 ? STENCIL_PERIODIC : STENCIL_MIRROR;
    }
    snprintf(large.spec.stencil, sizeof large.spec.stencil, "%s", rank == 2 ? "j2d5pt" : "j3d7pt");
    large.spec.steps = STEPS;
    large.spec.check_every = 1;
}

/* A plan and a test for each strategy; their number, or -1 with the reason printed (*skip: memory or GPU
 * missing). On a CPU, where a run takes its time, the strategies take turns between 2D and 3D. */
static int plan_all(struct CMUnitTest tests[STRATEGIES_MAX], int rank, bool *skip) {
    int count = 0, found = 0;
    for (int i = 0; i < stencil_strategy_count() && count < STRATEGIES_MAX; i++) {
        const char *name = stencil_strategy_at(i).name;
        const stencil_run_options options = {.sync = name, .backend = large.backend};
        if (stencil_strategy_unavailable(i, large.backend, &large.machine)[0] != '\0' && i > 0)
            continue;
        if (large.backend == STENCIL_BACKEND_CPU && found++ % 2 != rank - 2)
            continue;
        const stencil_status status =
            stencil_plan_here(&large.plan[count], &large.problem, &options, &large.machine);
        if (status != STENCIL_OK) {
            printf("%s\n", stencil_error_last()->message);
            *skip = status == STENCIL_NO_MEMORY || status == STENCIL_UNAVAILABLE;
            return -1;
        }
        tests[count] = (struct CMUnitTest){name, run_plan, NULL, NULL, &large.plan[count]};
        count++;
    }
    return count;
}

int main(int argument_count, char **argument) {
    static struct CMUnitTest tests[STRATEGIES_MAX];
    if (argument_count != 3 || (argument[2][0] != '2' && argument[2][0] != '3')) {
        fprintf(stderr, "usage: %s cpu|gpu 2d|3d\n", argument[0]);
        return 64;
    }
    const int rank = argument[2][0] - '0';
    large.backend = strcmp(argument[1], "gpu") == 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    state_problem(rank);
    if (stencil_machine_probe(&large.machine, STENCIL_STREAMS_PART) != STENCIL_OK ||
        stencil_problem_resolve(&large.problem, &large.spec) != STENCIL_OK) {
        fprintf(stderr, "%s\n", stencil_error_last()->message);
        return 1;
    }
    bool skip = false;
    const int count = plan_all(tests, rank, &skip);
    if (count <= 0)
        return skip ? 77 : 1;
    const int failed = _cmocka_run_group_tests("large", tests, (size_t)count, NULL, NULL);
    stencil_problem_destroy(&large.problem);
    return failed;
}
