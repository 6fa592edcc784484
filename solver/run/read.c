/* Cells of a run that are in memory of this process. */
#include "solver/problem/faces.h"
#include "solver/run/drive.h"

stencil_box stencil_run_held(const stencil_run *r, int part, stencil_array array, const stencil_box *box) {
    const stencil_cut *cut = &r->on.plan->cut;
    const int axis = stencil_array_axis(array);
    const stencil_box own = stencil_cut_box(cut, part),
                      held = axis >= 0 ? stencil_faces_box(&own, axis) : stencil_cut_cells(cut, part);
    return stencil_box_common(&held, box);
}

static stencil_status read_part(const stencil_run *r, int part, int buffer, const stencil_box *box,
                                const stencil_cells *to) {
#ifdef STENCIL_HAVE_CUDA
    if (r->on.gpu != NULL)
        return stencil_gpu_move(r->on.gpu, part, buffer, box, NULL, to);
#endif
    const stencil_cells from = stencil_buffer_cells(&r->on.cpu->buffers, part, buffer, box->first),
                        there = stencil_cells_from(to, box->first);
    stencil_cells_copy(&there, &from, box->n);
    return STENCIL_OK;
}

stencil_status stencil_run_read_own(const stencil_run *r, stencil_array array, const stencil_box *box,
                                    const stencil_cells *to) {
    const stencil_cut *cut = &r->on.plan->cut;
    for (int part = cut->own; part < cut->own + cut->owned; part++) {
        const stencil_box cells = stencil_run_held(r, part, array, box);
        if (stencil_box_cells(&cells) > 0)
            TRY(read_part(r, part, stencil_buffer_of(array, r->from), &cells, to));
    }
    return STENCIL_OK;
}
