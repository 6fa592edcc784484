/* The fault of `--inject-flip`: memory that keeps a bit of a cell wrongly. */
#include <string.h>

#include "solver/run/drive.h"

/* A reader of one cell, whose value is at `context`. */
static stencil_status read_value(void *context, stencil_array array, const stencil_box *box,
                                 const stencil_cells *to) {
    (void)array, (void)box;
    memcpy(to->at, context, stencil_precision_bytes(to->precision));
    return STENCIL_OK;
}

/* Writes one cell of a part to the buffer with the current field. */
static stencil_status write_cell(stencil_run *r, int part, const stencil_box *cell, void *value) {
    const int buffer = stencil_buffer_of(STENCIL_ARRAY_U, r->from);
    const stencil_reader from = {read_value, value};
#ifdef STENCIL_HAVE_CUDA
    if (r->on.gpu != NULL)
        return stencil_gpu_move(r->on.gpu, part, buffer, cell, &from, NULL);
#endif
    const stencil_cells to = stencil_buffer_cells(&r->on.cpu->buffers, part, buffer, cell->first);
    return from.read(from.context, STENCIL_ARRAY_U, cell, &to);
}

stencil_status stencil_run_flip(stencil_run *r) {
    const stencil_cut *cut = &r->on.plan->cut;
    const stencil_problem *p = r->problem;
    stencil_box cell = {.n = {1, 1, 1}};
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t asked = r->on.plan->wait.flip_cell[axis];
        cell.first[axis] = (asked < 0 ? p->extent[axis] / 2 : asked) + p->first[axis];
    }
    unsigned char value[sizeof(double)];
    const stencil_cells to = stencil_cells_dense(cut->mesh.precision, value, &cell);
    const int exponent = r->exponent;
    r->exponent = 0;
    const stencil_status status = stencil_run_read(r, STENCIL_ARRAY_U, &cell, &to);
    r->exponent = exponent;
    TRY(status);
    value[1] ^= 1;
    for (int part = 0; part < cut->parts; part++) {
        const stencil_box own = stencil_cut_cells(cut, part), common = stencil_box_common(&own, &cell);
        if (stencil_box_cells(&common) > 0)
            return write_cell(r, part, &cell, value);
    }
    return STENCIL_OK;
}
