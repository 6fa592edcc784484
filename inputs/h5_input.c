/* An input inside the reading process: its problem description, and boxes of its cells. */
#include <string.h>

#include "inputs/chunks.h"
#include "inputs/file.h"
#include "inputs/reading.h"

/* Size of HDF5's chunk cache, enough for a layer of chunks: reading a field layer by layer unpacks no chunk
 * twice. */
#define CHUNK_CACHE_BYTES ((size_t)256 << 20)
#define CHUNK_CACHE_SLOTS ((size_t)12421) /* a prime number, as HDF5 recommends */

static stencil_status check_shape(const stencil_h5_input *input, const char *name, bool same) {
    CHECK(same, BAD_DATA, "'%s': %s has another shape than %s; give one value for each cell of %s",
          input->path, name, input->facts.field, input->facts.field);
    return STENCIL_OK;
}

/* Sets the shape and type of the field or of a source, which may be missing, in the spec. */
static stencil_status inspect(stencil_h5_input *input, stencil_source source, stencil_spec *spec) {
    const char *path = input->path, *name = stencil_array_name(&input->facts, source);
    const bool is_field = source == STENCIL_SOURCE_NONE;
    STENCIL_DATASET d = {0};
    TRY(stencil_dataset_open(&d, input->file, path, name, NULL));
    if (d.id == 0)
        return is_field ? stencil_field_refuse_missing(input->file, path, spec) : STENCIL_OK;
    const stencil_array array = is_field ? STENCIL_ARRAY_U : STENCIL_ARRAY_B;
    stencil_values *values = &input->facts.values[array];
    CHECK(d.is.rank == 2 || d.is.rank == 3, BAD_DATA, "'%s': %s has rank %d; give [ny][nx] or [nz][ny][nx]",
          path, name, d.is.rank);
    TRY(check_shape(input, name, is_field || d.is.rank == spec->rank));
    for (int i = 0; i < d.is.rank; i++) {
        CHECK(d.is.extent[i] > 0, BAD_DATA, "'%s': dimension %d of %s is 0; give at least one cell", path, i,
              name);
        TRY(check_shape(input, name, is_field || d.is.extent[i] == spec->extent[i]));
        spec->extent[i] = d.is.extent[i];
    }
    CHECK(spec->source == STENCIL_SOURCE_NONE, BAD_DATA,
          "'%s' has both %s and %s: give /f for problem poisson, /q for heat, /b for everything else", path,
          stencil_source_names[spec->source], name);
    TRY(stencil_values_read(values, d.id, path, name));
    input->facts.unwritten[array] = d.unwritten;
    input->facts.place[array] = d.is.place;
    if (d.is.chunk_bytes > input->facts.chunk_bytes)
        input->facts.chunk_bytes = d.is.chunk_bytes;
    if (is_field) {
        const bool single = d.floating && d.element_bytes <= sizeof(float);
        spec->rank = d.is.rank;
        spec->precision = values->packed ? values->precision : single ? STENCIL_FLOAT32 : STENCIL_FLOAT64;
    }
    spec->source = source;
    return STENCIL_OK;
}

/* Sets *has if the file has a dataset that says which class a cell has: a truth value or an integer for each
 * cell of the field. */
static stencil_status inspect_classes(stencil_h5_input *input, int dataset, const stencil_spec *spec,
                                      bool *has) {
    const char *name = stencil_source_names[dataset];
    STENCIL_DATASET d = {0};
    TRY(stencil_dataset_open_truths(&d, input->file, input->path, name));
    if (d.id == 0)
        return STENCIL_OK;
    TRY(check_shape(input, name, d.is.rank == spec->rank));
    for (int i = 0; i < d.is.rank; i++)
        TRY(check_shape(input, name, d.is.extent[i] == spec->extent[i]));
    input->facts.unwritten[STENCIL_ARRAY_CLASS] += d.unwritten;
    if (d.is.chunk_bytes > input->facts.chunk_bytes)
        input->facts.chunk_bytes = d.is.chunk_bytes;
    *has = true;
    return STENCIL_OK;
}

/* Counts the arrays of a sum from `count` on: datasets `first` + i, one after the other. Their values are
 * taken as they are stored. */
static stencil_status inspect_sum(stencil_h5_input *input, int first, const stencil_spec *spec, int *count) {
    const int before = *count;
    for (int i = 0; before + i < STENCIL_SUM_ARRAYS; i++) {
        const char *name = stencil_source_names[first + i];
        stencil_values values = {0};
        STENCIL_DATASET d = {0};
        TRY(stencil_dataset_open(&d, input->file, input->path, name, NULL));
        if (d.id == 0)
            continue;
        CHECK(*count == before + i, BAD_DATA,
              "'%s' has %s, but not the one before it: number them without gaps", input->path, name);
        TRY(check_shape(input, name, d.is.rank == spec->rank));
        for (int k = 0; k < d.is.rank; k++)
            TRY(check_shape(input, name, d.is.extent[k] == spec->extent[k]));
        TRY(stencil_values_read(&values, d.id, input->path, name));
        CHECK(!values.packed && values.marker_count == values.by_default, BAD_DATA,
              "'%s': %s has attributes that pack its values, or mark missing ones: give plain numbers",
              input->path, name);
        if (d.is.chunk_bytes > input->facts.chunk_bytes)
            input->facts.chunk_bytes = d.is.chunk_bytes;
        *count = before + i + 1;
    }
    return STENCIL_OK;
}

/* Counts the arrays of the source and of driven cells. */
static stencil_status inspect_sums(stencil_h5_input *input, stencil_spec *spec) {
    const stencil_source sources[] = {STENCIL_SOURCE_B, STENCIL_SOURCE_Q};
    for (int i = 0; i < 2; i++) {
        const bool given = spec->source == sources[i];
        int count = 1, others = 1;
        const int second = stencil_source_dataset(sources[i], 1);
        TRY(inspect_sum(input, second, spec, given ? &count : &others));
        CHECK(given || others == 1, BAD_DATA, "'%s' has %s, but no %s", input->path,
              stencil_source_names[second], stencil_source_names[sources[i]]);
        spec->source_count = given ? count : spec->source_count;
    }
    return inspect_sum(input, STENCIL_DATASET_VALUE, spec, &spec->driven_count);
}

/* Sets spec->has_k if the file has /k, a number for each cell of the field that is stored as it is. A /k of
 * another rank (a list of wave numbers, a constant) is the user's own. */
static stencil_status inspect_k(stencil_h5_input *input, stencil_spec *spec) {
    const char *name = stencil_source_names[STENCIL_DATASET_K];
    stencil_values values = {0};
    STENCIL_DATASET d = {0};
    TRY(stencil_dataset_open(&d, input->file, input->path, name, NULL));
    if (d.id == 0)
        return STENCIL_OK;
    if (d.is.rank != spec->rank)
        return STENCIL_OK;
    for (int i = 0; i < d.is.rank; i++)
        TRY(check_shape(input, name, d.is.extent[i] == spec->extent[i]));
    TRY(stencil_values_read(&values, d.id, input->path, name));
    CHECK(!values.packed, BAD_DATA, "'%s': /k has scale_factor or add_offset; store its values themselves",
          input->path);
    if (d.is.chunk_bytes > input->facts.chunk_bytes)
        input->facts.chunk_bytes = d.is.chunk_bytes;
    input->facts.k_place = d.is.place;
    spec->has_k = true;
    return STENCIL_OK;
}

stencil_status stencil_h5_input_open(stencil_h5_input *input, const char *path) {
    void *fd = NULL;
    *input = (stencil_h5_input){.path = path};
    TRY(stencil_h5_open(path, &input->file));
    CHECK(H5Fget_vfd_handle(input->file, H5P_DEFAULT, &fd) >= 0 && fd != NULL &&
              stencil_file_state_read(*(const int *)fd, &input->facts.state),
          INTERNAL, "the system tells no state of '%s'", path);
    return STENCIL_OK;
}

stencil_status stencil_h5_input_spec(stencil_h5_input *input, const char *field, stencil_spec *spec) {
    stencil_input_facts *facts = &input->facts;
    const char *path = input->path;
    char stated[STENCIL_FIELD_MAX];
    bool passed_over;
    TRY(stencil_format_read(input->file, path, &facts->foreign));
    TRY(stencil_field_choose(input->file, path, field, spec->field, &facts->field_passed_over));
    memcpy(facts->field, stencil_spec_field(spec), strlen(stencil_spec_field(spec)) + 1);
    for (int source = STENCIL_SOURCE_NONE; source < STENCIL_SOURCE_COUNT; source++)
        TRY(inspect(input, (stencil_source)source, spec));
    TRY(inspect_classes(input, STENCIL_DATASET_FIXED, spec, &spec->fixed));
    TRY(inspect_classes(input, STENCIL_DATASET_CLASS, spec, &spec->classed));
    TRY(inspect_classes(input, STENCIL_DATASET_INSULATED, spec, &spec->insulated));
    TRY(inspect_sums(input, spec));
    TRY(stencil_spec_read(input->file, path, spec));
    /* Without a problem in the file, a /k may also be the user's own, of any shape. */
    const stencil_status coefficients = inspect_k(input, spec);
    if (spec->kind != STENCIL_KIND_NONE)
        TRY(coefficients);
    if (field != NULL && (stencil_field_choose(input->file, path, NULL, stated, &passed_over) != STENCIL_OK ||
                          strcmp(stated, spec->field) != 0)) {
        facts->other_steps = spec->steps_total > 0 ? spec->steps_total : 0;
        stencil_spec_forget(spec);
    }
    return STENCIL_OK;
}

/* Opens a dataset and keeps it open, with its unpacked chunks, for the next box. */
static stencil_status open_dataset(stencil_h5_input *input, int dataset) {
    const char *name = stencil_array_name(&input->facts, dataset);
    stencil_reading_at("cells of %s", name);
    if (input->cells.id > 0 && input->dataset == dataset)
        return STENCIL_OK;
    stencil_dataset_close(&input->cells);
    input->dataset = dataset;
    STENCIL_HANDLE access = H5Pcreate(H5P_DATASET_ACCESS);
    if (access >= 0 && H5Pset_chunk_cache(access, CHUNK_CACHE_SLOTS, CHUNK_CACHE_BYTES, 1.0) >= 0)
        input->cells.id = stencil_chunks_dataset(input->file, name, access);
    CHECK(input->cells.id > 0, BAD_DATA, "'%s': cannot open %s (%s)", input->path, name, stencil_h5_reason());
    input->cells.chunks = stencil_chunks_open(input->cells.id);
    return stencil_dataset_elsewhere(input->cells.id)
               ? stencil_dataset_check_sources(input->file, input->path, name)
               : STENCIL_OK;
}

stencil_status stencil_h5_input_read(stencil_h5_input *input, int dataset, const stencil_box *box, hid_t type,
                                     const stencil_cells *to) {
    TRY(open_dataset(input, dataset));
    const char *name = stencil_array_name(&input->facts, dataset),
               *reason = stencil_chunks_read(input->cells.chunks, input->cells.id, box, type, to);
    if (reason == NULL)
        return STENCIL_OK;
    /* Unpacked chunks need memory in addition to the estimate for the run. */
    CHECK(strstr(reason, "memory allocation failed") == NULL, NO_MEMORY,
          "there is no memory to unpack a chunk of %s (--read-memory allows more)", name);
    TRY(stencil_h5_check_filters(input->cells.id, input->path, name, true));
    FAIL(BAD_DATA, "'%s': cannot read %s (%s): it is damaged", input->path, name, reason);
}
