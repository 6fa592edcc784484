#include <stdlib.h>

#include "inputs/h5.h"
#include "inputs/sink.h"

/* Of a slab. */
#define SLAB_BYTES ((int64_t)32 << 20)

static stencil_status fail(const stencil_sink *sink, const char *name) {
    FAIL(IO, "cannot write '%s': /%s: %s", sink->path, name, stencil_h5_reason());
}

static stencil_status write_slabs(stencil_sink *sink, const stencil_sink_dataset *dataset, hid_t to,
                                  const stencil_problem *problem, const stencil_reader *from) {
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_box array = stencil_mesh_array(&mesh);
    const int64_t bytes = (int64_t)H5Tget_size(dataset->memory_type), cells_max = SLAB_BYTES / bytes;
    stencil_box slab = stencil_slab_first(&array, cells_max);
    stencil_status status = STENCIL_OK;
    void *values = NULL;
    TRY(stencil_memory_alloc(&values, stencil_box_cells(&slab) * bytes, "a buffer for writing"));
    do {
        const stencil_cells cells = stencil_cells_dense(problem->precision, values, &slab);
        const stencil_box there = stencil_box_from(&slab, array.first);
        status = from->read(from->context, dataset->array, &slab, &cells);
        if (status == STENCIL_OK)
            status = stencil_h5_box(to, &there, dataset->memory_type, &cells, true) >= 0
                         ? stencil_sink_state(sink)
                         : fail(sink, dataset->name);
    } while (status == STENCIL_OK && stencil_slab_next(&slab, &array, cells_max));
    free(values);
    return status;
}

stencil_status stencil_sink_write(stencil_sink *sink, const stencil_sink_dataset *dataset,
                                  const stencil_problem *problem, const stencil_reader *from) {
    hsize_t size[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        size[axis] = (hsize_t)problem->extent[axis];
    const hid_t to = stencil_h5_create(sink->file, dataset->name, problem->rank,
                                       size + STENCIL_AXES - problem->rank, dataset->file_type);
    if (to < 0)
        return fail(sink, dataset->name);
    const stencil_status status = write_slabs(sink, dataset, to, problem, from);
    return H5Dclose(to) < 0 && status == STENCIL_OK ? fail(sink, dataset->name) : status;
}
