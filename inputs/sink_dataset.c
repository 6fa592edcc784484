#include <stdlib.h>

#include "inputs/h5.h"
#include "inputs/sink.h"

/* Of a slab. */
#define SLAB_BYTES ((size_t)32 << 20)

static stencil_box array_of(const stencil_problem *problem) {
    return (stencil_box){.n = {problem->extent[0], problem->extent[1], problem->extent[2]}};
}

int64_t stencil_sink_cells(const stencil_problem *problem, hid_t memory_type) {
    const stencil_box array = array_of(problem),
                      slab = stencil_slab_first(&array, (int64_t)(SLAB_BYTES / H5Tget_size(memory_type)));
    return stencil_box_cells(&slab);
}

static stencil_status fail(const stencil_sink *sink, const char *name) {
    FAIL(IO, "cannot write '%s': /%s: %s", sink->path, name, stencil_h5_reason());
}

/* All slabs of an open dataset, by way of `values`. */
static stencil_status write_slabs(stencil_sink *sink, const stencil_sink_dataset *dataset, hid_t to,
                                  const stencil_problem *problem, void *values, stencil_sink_fill *fill,
                                  void *context) {
    const int64_t cells_max = stencil_sink_cells(problem, dataset->memory_type);
    const stencil_box array = array_of(problem);
    stencil_box slab = stencil_slab_first(&array, cells_max);
    do {
        const stencil_cells cells = stencil_cells_dense(problem->precision, values, slab.n);
        TRY(fill(context, &slab, values));
        if (stencil_h5_box_write(to, &slab, dataset->memory_type, &cells) < 0)
            return fail(sink, dataset->name);
        TRY(stencil_sink_state(sink));
    } while (stencil_slab_next(&slab, &array, cells_max));
    return STENCIL_OK;
}

stencil_status stencil_sink_write(stencil_sink *sink, const stencil_sink_dataset *dataset,
                                  const stencil_problem *problem, stencil_sink_fill *fill, void *context) {
    hsize_t size[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        size[axis] = (hsize_t)problem->extent[axis];
    const hid_t to = stencil_h5_create(sink->file, dataset->name, problem->rank,
                                       size + STENCIL_AXES - problem->rank, dataset->file_type);
    if (to < 0)
        return fail(sink, dataset->name);
    void *values = NULL;
    stencil_status status = stencil_memory_alloc(&values,
                                                 stencil_sink_cells(problem, dataset->memory_type) *
                                                     (int64_t)H5Tget_size(dataset->memory_type),
                                                 "a buffer for writing");
    if (status == STENCIL_OK)
        status = write_slabs(sink, dataset, to, problem, values, fill, context);
    free(values);
    if (H5Dclose(to) < 0 && status == STENCIL_OK)
        return fail(sink, dataset->name);
    return status;
}
