#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/format.h"
#include "inputs/h5.h"
#include "inputs/input_file.h"
#include "inputs/spec_file.h"
#include "inputs/storage.h"

/* /f passes through a buffer of this many double values, 64 MiB. */
#define SLAB_CELLS ((int64_t)8 << 20)
/* Room for a layer of chunks, so that slabs that cut through chunks do not unpack them again and again. */
#define CHUNK_CACHE_BYTES ((size_t)256 << 20)
#define CHUNK_CACHE_SLOTS ((size_t)12421) /* a prime, as HDF5 advises */

static stencil_status check_type(hid_t dataset, const char *path, const char *name,
                                 stencil_precision *precision) {
    const hid_t type = H5Dget_type(dataset);
    CHECK(type >= 0, BAD_DATA, "'%s' is damaged: /%s has no type (%s)", path, name, stencil_h5_reason());
    const H5T_class_t type_class = H5Tget_class(type);
    const size_t size = H5Tget_size(type);
    H5Tclose(type);
    CHECK(type_class == H5T_FLOAT || type_class == H5T_INTEGER, BAD_DATA,
          "'%s': /%s holds %s; give floating-point numbers or integers", path, name,
          stencil_h5_class_text(type_class));
    *precision = type_class == H5T_FLOAT && size <= sizeof(float) ? STENCIL_FLOAT32 : STENCIL_FLOAT64;
    return STENCIL_OK;
}

static stencil_status check_shape(hid_t dataset, const char *path, const char *name, int *rank,
                                  int64_t extent[3]) {
    hsize_t size[H5S_MAX_RANK] = {0};
    const hid_t space = H5Dget_space(dataset);
    *rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, size, NULL);
    const H5S_class_t space_class = space < 0 ? H5S_NO_CLASS : H5Sget_simple_extent_type(space);
    if (space >= 0)
        H5Sclose(space);
    CHECK(*rank >= 0, BAD_DATA, "'%s' is damaged: /%s has no shape (%s)", path, name, stencil_h5_reason());
    CHECK(space_class != H5S_NULL, BAD_DATA, "'%s': /%s is empty; give [ny][nx] or [nz][ny][nx]", path, name);
    CHECK(*rank == 2 || *rank == 3, BAD_DATA, "'%s': /%s has rank %d; give [ny][nx] or [nz][ny][nx]", path,
          name, *rank);
    int64_t cells = sizeof(double);
    for (int i = 0; i < *rank; i++) {
        CHECK(size[i] > 0, BAD_DATA, "'%s': dimension %d of /%s is 0; give at least one cell", path, i, name);
        CHECK(size[i] <= INT64_MAX && stencil_multiply(cells, (int64_t)size[i], &cells), BAD_DATA,
              "'%s': the dimensions of /%s multiply to more cells than can be counted", path, name);
        extent[i] = (int64_t)size[i];
    }
    return STENCIL_OK;
}

static stencil_status check_dataset(hid_t dataset, const char *path, const char *name,
                                    stencil_precision *precision, int *rank, int64_t extent[3]) {
    CHECK(H5Iget_type(dataset) == H5I_DATASET, BAD_DATA, "'%s': /%s is a %s; give a dataset", path, name,
          H5Iget_type(dataset) == H5I_GROUP ? "group" : "named type");
    TRY(check_type(dataset, path, name, precision));
    return check_shape(dataset, path, name, rank, extent);
}

/* Type and shape of the dataset /name; *rank is 0 where there is none. */
static stencil_status inspect(const stencil_input *input, const char *name, stencil_precision *precision,
                              int *rank, int64_t extent[3]) {
    *rank = 0;
    const htri_t exists = H5Lexists(input->file, name, H5P_DEFAULT);
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot look for /%s (%s)", input->path, name,
          stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    CHECK(!stencil_h5_dangling(input->file, name), BAD_DATA,
          "'%s': /%s is a link that leads nowhere; mend the link, or give the values as a dataset",
          input->path, name);
    char full[8];
    snprintf(full, sizeof full, "/%s", name);
    TRY(stencil_storage_check(input->file, input->path, full, 0));
    const hid_t object = H5Oopen(input->file, name, H5P_DEFAULT);
    CHECK(object >= 0, BAD_DATA, "'%s': cannot open /%s (%s)", input->path, name, stencil_h5_reason());
    const stencil_status status = check_dataset(object, input->path, name, precision, rank, extent);
    H5Oclose(object);
    return status;
}

static stencil_status inspect_source(const stencil_input *input, const char *name, stencil_source source,
                                     stencil_spec *spec) {
    stencil_precision precision;
    int64_t extent[3];
    int rank = 0;
    TRY(inspect(input, name, &precision, &rank, extent));
    if (rank == 0)
        return STENCIL_OK;
    bool same = rank == spec->rank;
    for (int i = 0; i < rank && same; i++)
        same = extent[i] == spec->extent[i];
    CHECK(same, BAD_DATA, "'%s': /%s has another shape than /u; give one value for each cell of /u",
          input->path, name);
    CHECK(spec->source == STENCIL_SOURCE_NONE, BAD_DATA,
          "'%s' has both /b and /f: give /f for problem poisson, /b for everything else", input->path);
    spec->source = source;
    return STENCIL_OK;
}

static stencil_status read_head(stencil_input *input, stencil_spec *spec) {
    TRY(stencil_h5_open(input->path, &input->file));
    TRY(stencil_format_check(input->file, input->path));
    TRY(inspect(input, "u", &spec->precision, &spec->rank, spec->extent));
    CHECK(spec->rank != 0, BAD_DATA, "'%s' has no dataset /u: give the initial values as /u", input->path);
    TRY(inspect_source(input, "b", STENCIL_SOURCE_B, spec));
    TRY(inspect_source(input, "f", STENCIL_SOURCE_F, spec));
    TRY(stencil_spec_read_attributes(input->file, input->path, spec));
    return stencil_spec_read_points(input->file, input->path, spec);
}

stencil_status stencil_input_open(stencil_input **input, const char *path, stencil_spec *spec) {
    stencil_spec_init(spec);
    *input = calloc(1, sizeof **input);
    CHECK(*input != NULL, NO_MEMORY, "no memory for opening '%s'", path);
    (*input)->file = -1;
    (*input)->path = strdup(path);
    stencil_status status = STENCIL_OK;
    if ((*input)->path == NULL)
        status =
            stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "no memory for opening '%s'", path);
    else
        status = read_head(*input, spec);
    if (status != STENCIL_OK) {
        stencil_input_close(*input);
        *input = NULL;
    }
    return status;
}

void stencil_input_notes(const stencil_input *input, stencil_notes *notes) {
    stencil_format_notes(input->file, notes);
}

void stencil_input_close(stencil_input *input) {
    if (input == NULL)
        return;
    if (input->file >= 0)
        H5Fclose(input->file);
    free(input->path);
    free(input);
}

static stencil_status open_dataset(const stencil_input *input, const char *name, hid_t *dataset) {
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    *dataset = -1;
    if (access >= 0 && H5Pset_chunk_cache(access, CHUNK_CACHE_SLOTS, CHUNK_CACHE_BYTES, 1.0) >= 0)
        *dataset = H5Dopen2(input->file, name, access);
    if (*dataset < 0)
        stencil_h5_reason();
    if (access >= 0)
        H5Pclose(access);
    CHECK(*dataset >= 0, BAD_DATA, "'%s': cannot open /%s (%s)", input->path, name, stencil_h5_reason());
    return STENCIL_OK;
}

/* The whole dataset into the padded field, converted by HDF5 on the way. */
static stencil_status read_field(const stencil_input *input, const stencil_problem *problem, const char *name,
                                 stencil_field *field) {
    void *base = NULL;
    hid_t dataset = -1;
    TRY(open_dataset(input, name, &dataset));
    const hid_t window = stencil_h5_window_space(problem, field, &base);
    herr_t failed = window < 0 ? -1
                               : H5Dread(dataset, stencil_h5_native_type(problem->precision), window, H5S_ALL,
                                         H5P_DEFAULT, base);
    if (failed < 0)
        stencil_h5_reason();
    if (window >= 0)
        H5Sclose(window);
    H5Dclose(dataset);
    CHECK(failed >= 0, BAD_DATA,
          "'%s': cannot read /%s (%s): it is damaged, or packed with a filter that is missing", input->path,
          name, stencil_h5_reason());
    return STENCIL_OK;
}

/* Puts a dense block into the field, times `scale`, rounded once. */
static void store_scaled(const stencil_problem *problem, const stencil_h5_block *block, const double *values,
                         stencil_field *field) {
    const stencil_layout *l = &field->layout;
    const int64_t nx = block->count[STENCIL_X], rows = block->cells / nx;
    const double scale = problem->source_scale;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t z = block->first[STENCIL_Z] + r / block->count[STENCIL_Y] + problem->first[STENCIL_Z];
        const int64_t y = block->first[STENCIL_Y] + r % block->count[STENCIL_Y] + problem->first[STENCIL_Y];
        const int64_t to =
            l->origin + z * l->plane + y * l->row + block->first[STENCIL_X] + problem->first[STENCIL_X];
        const double *from = values + r * nx;
        if (l->precision == STENCIL_FLOAT64)
            for (int64_t x = 0; x < nx; x++)
                ((double *)field->data)[to + x] = scale * from[x];
        else
            for (int64_t x = 0; x < nx; x++)
                ((float *)field->data)[to + x] = (float)(scale * from[x]);
    }
}

static stencil_status read_blocks(const stencil_input *input, const stencil_problem *problem, hid_t dataset,
                                  void *buffer, stencil_field *field) {
    stencil_h5_block block = {0};
    while (stencil_h5_block_next(&block, problem->extent, SLAB_CELLS)) {
        CHECK(stencil_h5_block_read(dataset, problem->rank, &block, H5T_NATIVE_DOUBLE, buffer) >= 0, BAD_DATA,
              "'%s': cannot read /f (%s): it is damaged, or packed with a filter that is missing",
              input->path, stencil_h5_reason());
        store_scaled(problem, &block, buffer, field);
    }
    return STENCIL_OK;
}

/* /f goes through double whatever the precision, so that the product is rounded only once. */
static stencil_status read_scaled(const stencil_input *input, const stencil_problem *problem,
                                  stencil_field *field) {
    hid_t dataset = -1;
    TRY(open_dataset(input, "f", &dataset));
    void *buffer = NULL;
    const int64_t cells = stencil_h5_block_cells(problem->extent, SLAB_CELLS);
    stencil_status status =
        stencil_memory_alloc(&buffer, cells * (int64_t)sizeof(double), "a buffer for reading /f");
    if (status == STENCIL_OK)
        status = read_blocks(input, problem, dataset, buffer, field);
    free(buffer);
    H5Dclose(dataset);
    return status;
}

/* Fails with the index (array order of /u) of the first value in the window that is not finite. */
static stencil_status check_finite(const stencil_input *input, const stencil_problem *problem,
                                   const char *name, const stencil_field *field, const int64_t first[3],
                                   const int64_t count[3]) {
    int64_t at[3];
    if (!stencil_field_find_nonfinite(field, first, count, at))
        return STENCIL_OK;
    char index[80];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        at[axis] -= problem->first[axis];
    if (problem->rank == 2)
        snprintf(index, sizeof index, "[%" PRId64 "][%" PRId64 "]", at[STENCIL_Y], at[STENCIL_X]);
    else
        snprintf(index, sizeof index, "[%" PRId64 "][%" PRId64 "][%" PRId64 "]", at[STENCIL_Z], at[STENCIL_Y],
                 at[STENCIL_X]);
    FAIL(BAD_DATA, "'%s': /%s%s is NaN or infinite in %s: mend it, or use --allow-nonfinite", input->path,
         name, index, stencil_precision_name(problem->precision));
}

static stencil_status load_source(const stencil_input *input, stencil_problem *problem,
                                  bool allow_nonfinite) {
    const bool scaled = problem->spec.source == STENCIL_SOURCE_F;
    const char *name = scaled ? "f" : "b";
    const int64_t first[3] = {0, 0, 0};
    TRY(stencil_field_create(&problem->b, &problem->layout, "the source term"));
    TRY(scaled ? read_scaled(input, problem, &problem->b) : read_field(input, problem, name, &problem->b));
    return allow_nonfinite ? STENCIL_OK : check_finite(input, problem, name, &problem->b, first, problem->n);
}

stencil_status stencil_input_load_history(stencil_input *input, stencil_problem *problem) {
    return stencil_history_read(input->file, input->path, problem);
}

static stencil_status load(const stencil_input *input, stencil_problem *problem, bool allow_nonfinite) {
    TRY(stencil_history_read(input->file, input->path, problem));
    TRY(stencil_field_create(&problem->u, &problem->layout, "the field u"));
    TRY(read_field(input, problem, "u", &problem->u));
    if (!allow_nonfinite)
        TRY(check_finite(input, problem, "u", &problem->u, problem->first, problem->extent));
    return problem->spec.source == STENCIL_SOURCE_NONE ? STENCIL_OK
                                                       : load_source(input, problem, allow_nonfinite);
}

stencil_status stencil_input_load(stencil_input *input, stencil_problem *problem, bool allow_nonfinite) {
    const stencil_status status = load(input, problem, allow_nonfinite);
    if (status != STENCIL_OK) {
        stencil_field_destroy(&problem->u);
        stencil_field_destroy(&problem->b);
    }
    return status;
}
