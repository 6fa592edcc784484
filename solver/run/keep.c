/* A copy of the cells at the begin of a cycle, to which a run goes back that is interrupted in its midst. */
#include <string.h>

#include "solver/run/drive.h"

/* Several ranks keep the arrays of their parts as they are; a run of one process keeps a field, which is
 * independent of where plans have their cells. */
static stencil_status keep_own(stencil_run *r) {
    const stencil_cut *cut = &r->on.plan->cut;
    if (r->kept.data == NULL)
        TRY(stencil_field_create(&r->kept, &cut->layout, "the field at the last end of a cycle"));
#ifdef STENCIL_HAVE_CUDA
    if (r->on.gpu != NULL)
        return stencil_gpu_keep(r->on.gpu, STENCIL_BUFFER_U + r->from, r->kept.data);
#endif
    memcpy(r->kept.data, stencil_buffers_part(&r->on.cpu->buffers, cut->own)[r->from],
           (size_t)stencil_layout_bytes(&cut->layout));
    return STENCIL_OK;
}

stencil_status stencil_run_keep(stencil_run *r) {
    if (!stencil_world_alone(r->on.plan->world))
        return keep_own(r);
    if (r->kept.data == NULL)
        TRY(stencil_field_create(&r->kept, &r->problem->layout, "the field at the last end of a cycle"));
    const stencil_box array = stencil_mesh_array(&r->on.plan->cut.mesh);
    const stencil_cells all = stencil_field_cells(&r->kept), to = stencil_cells_from(&all, array.first);
    return stencil_run_read(r, STENCIL_ARRAY_U, &array, &to);
}

stencil_status stencil_run_restore(stencil_run *r) {
    const stencil_cut *cut = &r->on.plan->cut;
    stencil_fields fields = {.u = &r->kept};
    const stencil_reader kept = {stencil_fields_read, &fields};
    if (stencil_world_alone(r->on.plan->world))
        return stencil_run_load_u(r, &kept);
#ifdef STENCIL_HAVE_CUDA
    if (r->on.gpu != NULL)
        return stencil_gpu_restore(r->on.gpu, r->kept.data);
#endif
    for (int k = 0; k < 2; k++)
        memcpy(stencil_buffers_part(&r->on.cpu->buffers, cut->own)[STENCIL_BUFFER_U + k], r->kept.data,
               (size_t)stencil_layout_bytes(&cut->layout));
    return STENCIL_OK;
}
