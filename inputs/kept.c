/* The objects that a result takes over from its input: the source, and those of the user's own. */
#include <string.h>

#include "base/words.h"
#include "inputs/file.h"
#include "inputs/reading.h"

/* Bytes of what is the user's own, while they are counted. */
typedef struct own_bytes {
    const char *path, *field; /* of the input; which is not the user's own */
    int64_t bytes, chunk_bytes;
    stencil_status bad; /* what ended the count */
} own_bytes;

/* HDF5 copies groups as it calls itself, a level of them a time. */
enum { GROUPS_MAX = 200 };

/* Adds those of a dataset, which comes along; values in other files stay there. */
static void add_dataset(own_bytes *all, hid_t dataset) {
    const int64_t chunk = stencil_dataset_chunk_bytes(dataset);
    all->chunk_bytes = chunk > all->chunk_bytes ? chunk : all->chunk_bytes;
    if (!stencil_dataset_elsewhere(dataset))
        all->bytes = stencil_sizes_add(all->bytes, (int64_t)H5Dget_storage_size(dataset));
}

/* Adds what is in a group; a group in it that has several names counts once. */
static herr_t add_member(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    own_bytes *all = data;
    int depth = 1; /* of groups that it is in */
    STENCIL_HANDLE object = info->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    const H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type(object);
    for (const char *c = name; *c != '\0'; c++)
        depth += *c == '/';
    if (type == H5I_GROUP && depth == GROUPS_MAX)
        all->bad =
            ERROR(BAD_DATA,
                  "'%s': a group of the user's own, '%s', is in %d others, one in the other, too deep to be "
                  "kept in the result: remove it",
                  all->path, stencil_path_last(name), GROUPS_MAX);
    else if (type == H5I_DATASET)
        add_dataset(all, object);
    return all->bad != STENCIL_OK ? -1 : 0;
}

static herr_t add_own(hid_t file, const char *name, const H5L_info_t *info, void *data) {
    own_bytes *all = data;
    const bool own = info->type == H5L_TYPE_HARD && !stencil_object_is_known(name, NULL) &&
                     strcmp(name, all->field + 1) != 0;
    STENCIL_HANDLE object = own ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    const H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type(object);
    if (type == H5I_GROUP)
        H5Lvisit(object, H5_INDEX_NAME, H5_ITER_NATIVE, add_member, all);
    else if (type == H5I_DATASET)
        add_dataset(all, object);
    return all->bad != STENCIL_OK ? -1 : 0;
}

/* Values of its source in other files count. */
stencil_status stencil_kept_bytes(const stencil_h5_input *input, stencil_source source, int64_t *bytes,
                                  int64_t *chunk_bytes) {
    STENCIL_HANDLE of =
        source != STENCIL_SOURCE_NONE ? H5Dopen2(input->file, stencil_source_names[source], H5P_DEFAULT) : -1;
    own_bytes all = {.path = input->path,
                     .field = input->facts.field,
                     .bytes = of < 0 ? 0
                              : stencil_dataset_elsewhere(of)
                                  ? stencil_sizes_add(0, stencil_dataset_bytes(of))
                                  : stencil_sizes_add(0, (int64_t)H5Dget_storage_size(of))};
    H5Literate(input->file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_own, &all);
    *bytes = all.bytes;
    *chunk_bytes = all.chunk_bytes;
    return all.bad;
}

/* The values of a source as they stand in the file, for a reader. */
typedef struct source {
    stencil_h5_input *input;
    const stencil_problem *problem;
    hid_t type;
} source;

static stencil_status read_source(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    const source *s = context;
    const stencil_box there = stencil_box_from(box, s->problem->first);
    (void)array;
    return stencil_h5_input_read(s->input, s->problem->spec.source, &there, s->type, to);
}

/* The source as it stands there, whatever its type and storage; values in other files, which may not be found
 * from the result, come with it. */
static stencil_status copy_source(stencil_h5_input *input, const stencil_sink *sink, const stencil_spec *spec,
                                  stencil_notes *notes) {
    const char *name = stencil_source_names[spec->source];
    stencil_problem problem;
    if (spec->source == STENCIL_SOURCE_NONE)
        return STENCIL_OK;
    stencil_reading_at("%s, which is copied", name);
    STENCIL_ITEM from = stencil_item_dataset(input->file, name);
    const bool elsewhere = from.type >= 0 && stencil_dataset_elsewhere(from.id);
    if (!elsewhere && from.type >= 0 && stencil_object_copy(input->file, sink->file, name, notes) >= 0)
        return stencil_sink_state(sink);
    TRY(stencil_sink_state(sink));
    CHECK(from.type >= 0, BAD_DATA, "'%s': cannot copy %s (%s): it is damaged", input->path, name,
          stencil_h5_reason());
    /* Its values are written, also where HDF5 reads them but does not copy the object. */
    TRY(stencil_problem_resolve(&problem, spec));
    stencil_h5_input_rest(input);
    const stencil_reader reader = {read_source, &(source){input, &problem, from.type}};
    TRY(stencil_sink_write(sink, &(stencil_sink_dataset){name, STENCIL_ARRAY_B, from.type, from.type},
                           &problem, &reader));
    STENCIL_HANDLE to = H5Dopen2(sink->file, name, H5P_DEFAULT);
    stencil_attributes_copy(from.id, to, name, notes);
    return stencil_sink_state(sink);
}

stencil_status stencil_kept_copy(stencil_h5_input *input, const stencil_sink *sink, const stencil_spec *spec,
                                 stencil_notes *notes) {
    TRY(copy_source(input, sink, spec, notes));
    stencil_own_copy(input, sink->file, notes);
    stencil_references_copy(input, sink->file, notes);
    stencil_h5_input_rest(input);
    const char *name = input->facts.field;
    STENCIL_HANDLE field = H5Dopen2(sink->file, name, H5P_DEFAULT);
    TRY(stencil_values_write(&input->facts.values[STENCIL_ARRAY_U], field, spec->precision, sink->path,
                             name));
    TRY(stencil_history_attach(sink->file, sink->path, name));
    return stencil_sink_state(sink);
}
