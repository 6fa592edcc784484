#include "solver/intake.h"

#include <math.h>
#include <stdlib.h>

#include "solver/stop.h"

stencil_status stencil_intake_open(stencil_intake *intake, const stencil_problem *problem,
                                   const stencil_reader *from) {
    *intake = (stencil_intake){.from = from, .problem = problem};
    void *chunk = NULL;
    if (stencil_stop_has_criterion(&problem->stop) && problem->spec.kind == STENCIL_KIND_POISSON &&
        problem->spec.source != STENCIL_SOURCE_NONE)
        TRY(stencil_memory_alloc(&chunk, stencil_chunk_count(problem->n) * (int64_t)sizeof(double),
                                 "the norm of the source term"));
    intake->chunk = chunk;
    return STENCIL_OK;
}

void stencil_intake_close(stencil_intake *intake) {
    free(intake->chunk);
    intake->chunk = NULL;
}

/* Changes are some 1e-20 of the values before a run ends, and the norm l2 squares them. */
static bool is_squared(const stencil_stop *stop) {
    return stencil_stop_has_criterion(stop) && stop->norm == STENCIL_NORM_L2;
}

stencil_status stencil_intake_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    stencil_intake *intake = context;
    const double start_s = stencil_clock_s();
    TRY(intake->from->read(intake->from->context, array, box, to));
    intake->read_s += stencil_clock_s() - start_s;
    if (is_squared(&intake->problem->stop))
        intake->largest = fmax(intake->largest, stencil_cells_largest(to, box->n));
    if (array == STENCIL_ARRAY_B && intake->chunk != NULL)
        stencil_source_chunks(intake->problem, box, to, intake->chunk);
    return STENCIL_OK;
}

stencil_status stencil_intake_finish(const stencil_intake *intake, double *source_norm) {
    const double largest = intake->largest;
    CHECK(
        largest == 0 || !isfinite(largest) || (largest > 1e-130 && largest < 1e150), BAD_DATA,
        "the largest value is %g: the norm l2 squares changes, which would leave the range of numbers; give "
        "--norm max, or scale the field",
        largest);
    *source_norm = 0;
    return intake->chunk != NULL ? stencil_source_norm(intake->problem, intake->chunk, source_norm)
                                 : STENCIL_OK;
}
