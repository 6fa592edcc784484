/* The objects that a result copies from its input: the source, /fixed, /class, /insulated and the user's own
 * objects. */
#include <string.h>

#include "base/words.h"
#include "inputs/axes.h"
#include "inputs/file.h"
#include "inputs/reading.h"

/* Byte counters of the user's own objects. */
typedef struct own_bytes {
    const stencil_h5_input *input;
    int64_t bytes, chunk_bytes;
    stencil_status bad; /* the error that ended the count */
} own_bytes;

/* Deepest nesting of groups that is copied: HDF5 recurses once per level. */
enum { GROUPS_MAX = 200 };

/* Adds the bytes of a dataset that will be copied; values stored in external files are not copied. */
static herr_t add_bytes(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    own_bytes *all = data;
    int depth = 1; /* number of groups that contain the object */
    STENCIL_HANDLE object = info->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    const H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type(object);
    for (const char *c = name; *c != '\0'; c++)
        depth += *c == '/';
    if (type == H5I_GROUP && depth == GROUPS_MAX)
        all->bad =
            ERROR(BAD_DATA,
                  "'%s': a group of the user's own, '%s', is in %d others, one in the other, too deep to be "
                  "kept in the result: remove it",
                  all->input->path, stencil_path_last(name), GROUPS_MAX);
    if (type == H5I_DATASET) {
        const int64_t chunk = stencil_dataset_chunk_bytes(object);
        all->chunk_bytes = chunk > all->chunk_bytes ? chunk : all->chunk_bytes;
        if (!stencil_dataset_elsewhere(object))
            all->bytes = stencil_sizes_add(all->bytes, (int64_t)H5Dget_storage_size(object));
    }
    return all->bad != STENCIL_OK ? -1 : 0;
}

/* Adds the bytes of a user's object and of all within; H5Lvisit enters each group once, even with several
 * names. */
static herr_t add_own(hid_t file, const char *name, const H5L_info_t *info, void *data) {
    own_bytes *all = data;
    if (info->type != H5L_TYPE_HARD || stencil_object_known(name) != NULL ||
        strcmp(name, all->input->facts.field + 1) == 0)
        return 0;
    add_bytes(file, name, info, all);
    H5Lvisit_by_name(file, name, H5_INDEX_NAME, H5_ITER_NATIVE, add_bytes, all, H5P_DEFAULT);
    return all->bad != STENCIL_OK ? -1 : 0;
}

/* Returns the bytes of a dataset that a result copies; its values in external files count, since the result
 * gets a copy of them. 0: there is none. */
static int64_t bytes_of(const stencil_h5_input *input, int dataset) {
    STENCIL_HANDLE of = H5Lexists(input->file, stencil_source_names[dataset], H5P_DEFAULT) > 0
                            ? H5Dopen2(input->file, stencil_source_names[dataset], H5P_DEFAULT)
                            : -1;
    return of < 0                          ? 0
           : stencil_dataset_elsewhere(of) ? stencil_dataset_bytes(of)
                                           : (int64_t)H5Dget_storage_size(of);
}

stencil_status stencil_kept_bytes(const stencil_h5_input *input, int source, int64_t *bytes,
                                  int64_t *chunk_bytes) {
    own_bytes all = {.input = input};
    if (source != STENCIL_SOURCE_NONE)
        all.bytes = stencil_sizes_add(0, bytes_of(input, source));
    for (int dataset = STENCIL_DATASET_FIXED; dataset < STENCIL_DATASET_COUNT; dataset++)
        all.bytes = stencil_sizes_add(all.bytes, bytes_of(input, dataset));
    H5Literate(input->file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_own, &all);
    *bytes = all.bytes;
    *chunk_bytes = all.chunk_bytes;
    return all.bad;
}

/* A reader of a dataset's values as stored in the file. */
typedef struct stored {
    stencil_h5_input *input;
    const stencil_problem *problem;
    int dataset;
    hid_t type;
} stored;

static stencil_status read_stored(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    const stored *s = context;
    const stencil_box there = stencil_box_from(box, s->problem->first);
    (void)array;
    return stencil_h5_input_read(s->input, s->dataset, &there, s->type, to);
}

/* Copies a dataset of the format in its type and values. Values in external files, which may not be found
 * from the result, are copied into the result. */
static stencil_status copy_dataset(stencil_h5_input *input, const stencil_sink *sink,
                                   const stencil_spec *spec, int dataset, stencil_notes *notes) {
    const char *name = stencil_source_names[dataset];
    stencil_problem problem;
    stencil_reading_at("%s, which is copied", name);
    STENCIL_ITEM from = stencil_item_dataset(input->file, name);
    const bool elsewhere = from.type >= 0 && stencil_dataset_elsewhere(from.id);
    if (!elsewhere && from.type >= 0 && stencil_object_copy(input->file, sink->file, name, 0, notes) >= 0)
        return stencil_sink_state(sink);
    TRY(stencil_sink_state(sink));
    CHECK(from.type >= 0, BAD_DATA, "'%s': cannot copy %s (%s): it is damaged", input->path, name,
          stencil_h5_reason());
    /* Writes the dataset's values, also where HDF5 can read the object but not copy it. */
    TRY(stencil_problem_resolve(&problem, spec));
    stencil_dataset_close(&input->cells);
    const stencil_reader reader = {read_stored, &(stored){input, &problem, dataset, from.type}};
    const stencil_sink_dataset copy = {name, STENCIL_ARRAY_B, from.type, from.type};
    TRY(stencil_sink_create(sink, &copy, &problem));
    TRY(stencil_sink_fill(sink, &copy, &problem, &reader));
    STENCIL_HANDLE to = H5Dopen2(sink->file, name, H5P_DEFAULT);
    stencil_attributes_copy(from.id, to, name, notes);
    return stencil_sink_state(sink);
}

stencil_status stencil_kept_copy(stencil_h5_input *input, const stencil_sink *sink, const stencil_spec *spec,
                                 stencil_notes *notes) {
    stencil_problem problem;
    TRY(stencil_problem_resolve(&problem, spec));
    if (spec->source != STENCIL_SOURCE_NONE)
        TRY(copy_dataset(input, sink, spec, (int)spec->source, notes));
    if (spec->fixed)
        TRY(copy_dataset(input, sink, spec, STENCIL_DATASET_FIXED, notes));
    if (spec->classed)
        TRY(copy_dataset(input, sink, spec, STENCIL_DATASET_CLASS, notes));
    if (spec->insulated)
        TRY(copy_dataset(input, sink, spec, STENCIL_DATASET_INSULATED, notes));
    for (int k = 1; k < spec->source_count; k++)
        TRY(copy_dataset(input, sink, spec, stencil_source_dataset(spec->source, k), notes));
    for (int k = 0; k < spec->driven_count; k++)
        TRY(copy_dataset(input, sink, spec, STENCIL_DATASET_VALUE + k, notes));
    if (spec->has_k)
        TRY(copy_dataset(input, sink, spec, STENCIL_DATASET_K, notes));
    else if (H5Lexists(input->file, "k", H5P_DEFAULT) > 0)
        stencil_object_copy(input->file, sink->file, "k", 0, notes);
    stencil_own_copy(input, sink->file, notes);
    TRY(stencil_axes_create(sink->file, sink->path, &problem)); /* references may be to those of the input */
    stencil_references_copy(input, sink->file, notes);
    TRY(stencil_axes_attach(sink->file, sink->path, &problem, stencil_axes_made(input->file, "x")));
    stencil_dataset_close(&input->cells);
    const char *name = input->facts.field;
    STENCIL_HANDLE field = H5Dopen2(sink->file, name, H5P_DEFAULT);
    TRY(stencil_values_write(&input->facts.values[STENCIL_ARRAY_U], field, spec->precision, sink->path,
                             name));
    TRY(stencil_history_attach(sink->file, sink->path, name));
    return stencil_sink_state(sink);
}
