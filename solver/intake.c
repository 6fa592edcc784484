#include "solver/intake.h"

#include <math.h>

/* Whether the criterion is relative to the norm of the source term. */
static bool wants_partials(const stencil_problem *problem) {
    return stencil_stop_has_criterion(&problem->stop) && problem->spec.kind == STENCIL_KIND_POISSON &&
           problem->spec.source != STENCIL_SOURCE_NONE;
}

int64_t stencil_intake_bytes(const stencil_problem *problem) {
    const int64_t count = wants_partials(problem) ? stencil_partial_count(problem->n) : 0;
    return count > 0 ? (count + stencil_levels_count(count)) * (int64_t)sizeof(double) : 0;
}

/* A partial sum, of the terms of a residual with 0 as the old value. */
static double source_partial(const stencil_cells *b, int64_t at, int64_t count, stencil_norm norm) {
    double term[STENCIL_PARTIAL_CELLS] = {0};
    for (int64_t i = 0; i < STENCIL_PARTIAL_CELLS && i < count; i++) {
        const double value = stencil_cells_value(b, at + i);
        term[i] = norm == STENCIL_NORM_MAX ? fabs(value) : value * value;
    }
    return stencil_partial_sum(term, norm);
}

static stencil_status take_partials(stencil_intake *intake, const stencil_box *box, const stencil_cells *b) {
    const stencil_problem *problem = intake->problem;
    const int64_t *n = box->n, *first = box->first;
    const int64_t row = (problem->n[STENCIL_X] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS;
    void *memory = intake->partial;
    if (memory == NULL)
        TRY(stencil_memory_alloc(&memory, stencil_intake_bytes(problem), "the norm of the source term"));
    intake->partial = memory;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const int64_t z = r / n[STENCIL_Y], y = r % n[STENCIL_Y];
        double *to = intake->partial + first[STENCIL_X] / STENCIL_PARTIAL_CELLS +
                     row * ((first[STENCIL_Z] + z) * problem->n[STENCIL_Y] + first[STENCIL_Y] + y);
        for (int64_t x = 0; x < n[STENCIL_X]; x += STENCIL_PARTIAL_CELLS)
            *to++ = source_partial(b, z * b->plane + y * b->row + x, n[STENCIL_X] - x, problem->stop.norm);
    }
    return STENCIL_OK;
}

stencil_status stencil_intake_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    stencil_intake *intake = context;
    const stencil_problem *problem = intake->problem;
    const double start_s = stencil_clock_s();
    TRY(intake->from->read(intake->from->context, array, box, to));
    intake->read_s += stencil_clock_s() - start_s;
    /* Changes are some 1e-20 of the values before a run ends, and this norm squares them. */
    if (stencil_stop_has_criterion(&problem->stop) && problem->stop.norm == STENCIL_NORM_L2)
        intake->largest = fmax(intake->largest, stencil_cells_largest(to, box->n));
    return array == STENCIL_ARRAY_B && wants_partials(problem) ? take_partials(intake, box, to) : STENCIL_OK;
}

stencil_status stencil_intake_finish(const stencil_intake *intake, double *source_norm) {
    const stencil_problem *problem = intake->problem;
    const int64_t count = stencil_partial_count(problem->n);
    const stencil_norm norm = problem->stop.norm;
    const double largest = intake->largest;
    CHECK(
        largest == 0 || !isfinite(largest) || (largest > 1e-130 && largest < 1e150), BAD_DATA,
        "the largest value is %g: the norm l2 squares changes, which would leave the range of numbers; give "
        "--norm max, or scale the field",
        largest);
    *source_norm = 0;
    if (intake->partial != NULL)
        *source_norm = stencil_residual_finish(
            stencil_combine_all(intake->partial, count, intake->partial + count, norm),
            stencil_problem_updated_cells(problem), norm);
    return STENCIL_OK;
}
