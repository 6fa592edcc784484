#include "inputs/h5.h"
#include "inputs/sink.h"

static stencil_status fail(const stencil_sink *sink, const char *name) {
    FAIL(IO, "cannot write '%s': /%s: %s", sink->path, name, stencil_h5_reason());
}

/* A dataset while it is being written. */
typedef struct writing {
    stencil_sink *sink;
    const stencil_sink_dataset *dataset;
    hid_t to;
    const int64_t *first; /* of the cells of /u */
} writing;

static stencil_status write_slab(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const writing *w = context;
    const stencil_box there = stencil_box_from(slab, w->first);
    return stencil_h5_box(w->to, &there, w->dataset->memory_type, cells, true) >= 0
               ? stencil_sink_state(w->sink)
               : fail(w->sink, w->dataset->name);
}

stencil_status stencil_sink_write(stencil_sink *sink, const stencil_sink_dataset *dataset,
                                  const stencil_problem *problem, const stencil_reader *from) {
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_box array = stencil_mesh_array(&mesh);
    const stencil_slabs slabs = {.from = from,
                                 .mesh = &mesh,
                                 .array = dataset->array,
                                 .cell_bytes = (int64_t)H5Tget_size(dataset->memory_type)};
    hsize_t size[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        size[axis] = (hsize_t)problem->extent[axis];
    writing w = {sink, dataset, -1, array.first};
    w.to = stencil_h5_create(sink->file, dataset->name, problem->rank, size + STENCIL_AXES - problem->rank,
                             dataset->file_type);
    if (w.to < 0)
        return fail(sink, dataset->name);
    const stencil_status status = stencil_slabs_visit(&slabs, &array, write_slab, &w);
    return H5Dclose(w.to) < 0 && status == STENCIL_OK ? fail(sink, dataset->name) : status;
}
