/* The objects that a result takes over from its input: the source, and those of the user's own. */
#include <stdlib.h>
#include <string.h>

#include "inputs/file.h"
#include "inputs/reading.h"

/* Bytes of what is the user's own, while they are counted. */
typedef struct own_bytes {
    const char *path, *field; /* of the input; which is not the user's own */
    int64_t bytes, chunk_bytes;
    int depth;          /* of groups in groups */
    int64_t shared;     /* groups with several names, which count once */
    haddr_t *address;   /* [shared] */
    stencil_status bad; /* what ended the count */
} own_bytes;

/* HDF5 copies groups as it calls itself, a level of them a time. */
enum { GROUPS_MAX = 200 };

static herr_t add_bytes(hid_t group, const char *name, const H5L_info_t *info, void *data);

/* Tells whether a group was counted under another name. */
static bool is_counted(own_bytes *all, hid_t group) {
    H5O_info_t info;
    if (H5Oget_info1(group, &info) < 0 || info.rc < 2)
        return false;
    for (int64_t i = 0; i < all->shared; i++)
        if (all->address[i] == info.addr)
            return true;
    haddr_t *more = realloc(all->address, (size_t)(all->shared + 1) * sizeof *more);
    if (more == NULL)
        return true;
    more[all->shared++] = info.addr;
    all->address = more;
    return false;
}

static herr_t add_group(own_bytes *all, hid_t group, const char *name) {
    if (is_counted(all, group))
        return 0;
    if (all->depth == GROUPS_MAX) {
        all->bad =
            ERROR(BAD_DATA,
                  "'%s': a group of the user's own, '%s', is in %d others, one in the other, too deep to be "
                  "kept in the result: remove it",
                  all->path, name, GROUPS_MAX);
        return -1;
    }
    all->depth++;
    const herr_t failed = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_bytes, all);
    all->depth--;
    return all->bad != STENCIL_OK ? failed : 0;
}

/* Adds those of a dataset, which comes along; values in other files stay there. */
static herr_t add_bytes(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    own_bytes *all = data;
    const bool own =
        info->type == H5L_TYPE_HARD &&
        (all->depth > 0 || (!stencil_object_is_known(name, NULL) && strcmp(name, all->field + 1) != 0));
    STENCIL_HANDLE object = own ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    const H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type(object);
    if (type == H5I_GROUP)
        return add_group(all, object, name);
    if (type != H5I_DATASET)
        return 0;
    const int64_t chunk = stencil_dataset_chunk_bytes(object);
    all->chunk_bytes = chunk > all->chunk_bytes ? chunk : all->chunk_bytes;
    if (!stencil_dataset_elsewhere(object))
        all->bytes = stencil_sizes_add(all->bytes, (int64_t)H5Dget_storage_size(object));
    return 0;
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
    H5Literate(input->file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_bytes, &all);
    free(all.address);
    *bytes = all.bytes;
    *chunk_bytes = all.chunk_bytes;
    return all.bad;
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
    STENCIL_HANDLE from = H5Dopen2(input->file, name, H5P_DEFAULT);
    STENCIL_HANDLE type = from >= 0 ? H5Dget_type(from) : -1;
    const bool elsewhere = type >= 0 && stencil_dataset_elsewhere(from);
    if (!elsewhere && type >= 0 && stencil_object_copy(input->file, sink->file, name, notes) >= 0)
        return stencil_sink_state(sink);
    TRY(stencil_sink_state(sink));
    CHECK(type >= 0, BAD_DATA, "'%s': cannot copy %s (%s): it is damaged", input->path, name,
          stencil_h5_reason());
    /* Its values are written, also where HDF5 reads them but does not copy the object. */
    TRY(stencil_problem_resolve(&problem, spec));
    const stencil_reader reader = stencil_h5_input_as(input, &problem, type);
    TRY(stencil_sink_write(sink, &(stencil_sink_dataset){name, STENCIL_ARRAY_B, type, type}, &problem,
                           &reader));
    STENCIL_HANDLE to = H5Dopen2(sink->file, name, H5P_DEFAULT);
    stencil_attributes_copy(from, to, name, notes);
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
