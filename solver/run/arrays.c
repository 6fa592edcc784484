/* Cells that a run on a GPU takes from arrays in the memory of that GPU, and gives to them. */
#include "solver/run/drive.h"

#include <math.h>
#include <string.h>

#include "solver/problem/stop.h"

#ifdef STENCIL_HAVE_CUDA
static bool wants_largest(const stencil_problem *problem) {
    return problem->precision == STENCIL_FLOAT64 && problem->stop.norm == STENCIL_NORM_L2;
}

/* The array that a run takes cells of `array` from; NULL: none, a reader has them. */
static const stencil_strided *array_of(const stencil_run *r, stencil_array array) {
    if (r->arrays == NULL || r->on.gpu == NULL)
        return NULL;
    const stencil_strided *at = array == STENCIL_ARRAY_U   ? &r->arrays->u
                                : array == STENCIL_ARRAY_B ? &r->arrays->b
                                                           : NULL;
    return at != NULL && at->at != NULL ? at : NULL;
}

/* Notes which cell of a box is NaN or infinite, by its number in the box. */
static stencil_status refuse(stencil_run *r, stencil_array array, const stencil_box *box, uint64_t number) {
    stencil_device_arrays *a = r->arrays;
    const int64_t plane = box->n[STENCIL_Y] * box->n[STENCIL_X], at = (int64_t)number;
    const int64_t in_box[] = {at / plane, at % plane / box->n[STENCIL_X], at % box->n[STENCIL_X]};
    a->odd = true;
    a->odd_array = array;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        a->odd_cell[axis] = stencil_boundary_image(box->first[axis] + in_box[axis], r->problem->n[axis],
                                                   r->problem->boundary[axis]);
    FAIL(BAD_DATA, "an array in the memory of a GPU has a cell that is NaN or infinite");
}

stencil_status stencil_run_take(stencil_run *r, int part, stencil_array array, const stencil_box *box,
                                bool *done) {
    const stencil_strided *at = array_of(r, array);
    const double start_s = stencil_clock_s();
    stencil_taken taken;
    *done = at != NULL;
    if (at == NULL || stencil_box_cells(box) == 0)
        return STENCIL_OK;
    const bool source = array == STENCIL_ARRAY_B;
    const stencil_gpu_array from = {.problem = r->problem,
                                    .at = at,
                                    .scale = source ? r->problem->source_scale : 1,
                                    .again = ldexp(1, r->arrays->exponent),
                                    .sums = source && stencil_intake_bytes(r->problem) > 0};
    TRY(stencil_gpu_take(r->on.gpu, part, array, box, &from, &taken));
    if (taken.odd != UINT64_MAX && !r->arrays->allow_nonfinite)
        TRY(refuse(r, array, box, taken.odd));
    double largest;
    memcpy(&largest, &taken.largest, sizeof largest);
    if (wants_largest(r->problem))
        r->arrays->largest = fmax(r->arrays->largest, largest);
    r->arrays->read_s += stencil_clock_s() - start_s;
    return STENCIL_OK;
}

stencil_status stencil_run_take_sums(stencil_run *r, stencil_intake *intake) {
    const int64_t bytes = stencil_intake_bytes(r->problem);
    void *memory = intake->partial;
    if (array_of(r, STENCIL_ARRAY_B) == NULL || bytes == 0)
        return STENCIL_OK;
    if (memory == NULL)
        TRY(stencil_memory_alloc(&memory, bytes, "the norm of the source term"));
    intake->partial = memory;
    return stencil_gpu_sums(r->on.gpu, r->problem, intake->partial);
}

stencil_status stencil_run_give(stencil_run *r, const stencil_strided *to) {
    const stencil_cut *cut = &r->on.plan->cut;
    const stencil_box array = stencil_mesh_array(&cut->mesh);
    const stencil_gpu_array given = {
        .problem = r->problem, .at = to, .scale = 1, .again = ldexp(1, -r->exponent)};
    CHECK(r->on.gpu != NULL, INTERNAL, "a run on a CPU has no cells in the memory of a GPU");
    for (int part = 0; part < cut->parts; part++) {
        const stencil_box held = stencil_cut_cells(cut, part), cells = stencil_box_common(&held, &array);
        if (stencil_box_cells(&cells) > 0)
            TRY(stencil_gpu_give(r->on.gpu, part, stencil_buffer_of(STENCIL_ARRAY_U, r->from), &cells,
                                 &given));
    }
    return STENCIL_OK;
}
#else
stencil_status stencil_run_take(stencil_run *r, int part, stencil_array array, const stencil_box *box,
                                bool *done) {
    (void)r, (void)part, (void)array, (void)box;
    *done = false;
    return STENCIL_OK;
}

stencil_status stencil_run_take_sums(stencil_run *r, stencil_intake *intake) {
    (void)r, (void)intake;
    return STENCIL_OK;
}

stencil_status stencil_run_give(stencil_run *r, const stencil_strided *to) {
    (void)r, (void)to;
    FAIL(UNAVAILABLE, "arrays in the memory of a GPU: built without CUDA");
}
#endif
