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
    int held = cut->own;
    while (held < cut->own + cut->owned) {
        const stencil_box own = stencil_run_held(r, held, STENCIL_ARRAY_U, &cell);
        if (stencil_box_cells(&own) > 0)
            break;
        held++;
    }
    if (held == cut->own + cut->owned)
        return STENCIL_OK; /* another rank has it */
    unsigned char value[sizeof(double)];
    const stencil_cells to = stencil_cells_dense(cut->mesh.precision, value, &cell);
    TRY(stencil_run_read_own(r, STENCIL_ARRAY_U, &cell, &to));
    value[1] ^= 1;
    return write_cell(r, held, &cell, value);
}
