#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "inputs/chunks.h"
#include "inputs/file.h"

/* Room for a layer of chunks, so that slabs that cut through chunks do not unpack them again and again. */
#define CHUNK_CACHE_BYTES ((size_t)256 << 20)
#define CHUNK_CACHE_SLOTS ((size_t)12421) /* a prime, as HDF5 advises */

const char *const stencil_source_names[] = {
    [STENCIL_SOURCE_B] = "/b", [STENCIL_SOURCE_F] = "/f", [STENCIL_SOURCE_Q] = "/q"};

static const char *array_name(const stencil_input *input, stencil_source source) {
    return source == STENCIL_SOURCE_NONE ? input->field : stencil_source_names[source];
}

static stencil_status check_shape(const stencil_input *input, const char *name, bool same) {
    CHECK(same, BAD_DATA, "'%s': %s has another shape than %s; give one value for each cell of %s",
          input->path, name, input->field, input->field);
    return STENCIL_OK;
}

/* Fills in what the spec has to know of the field, or of a source, which may be missing. */
static stencil_status inspect(stencil_input *input, stencil_source source, stencil_spec *spec) {
    const char *path = input->path, *name = array_name(input, source);
    const bool is_field = source == STENCIL_SOURCE_NONE;
    STENCIL_DATASET d = {0};
    TRY(stencil_dataset_open(&d, input->file, path, name, NULL));
    if (d.id == 0)
        return is_field ? stencil_field_refuse_missing(input->file, path, spec) : STENCIL_OK;
    stencil_values *values = &input->values[is_field ? STENCIL_ARRAY_U : STENCIL_ARRAY_B];
    CHECK(d.rank == 2 || d.rank == 3, BAD_DATA, "'%s': %s has rank %d; give [ny][nx] or [nz][ny][nx]", path,
          name, d.rank);
    TRY(check_shape(input, name, is_field || d.rank == spec->rank));
    for (int i = 0; i < d.rank; i++) {
        CHECK(d.extent[i] > 0, BAD_DATA, "'%s': dimension %d of %s is 0; give at least one cell", path, i,
              name);
        TRY(check_shape(input, name, is_field || d.extent[i] == spec->extent[i]));
        spec->extent[i] = d.extent[i];
    }
    CHECK(spec->source == STENCIL_SOURCE_NONE, BAD_DATA,
          "'%s' has both %s and %s: give /f for problem poisson, /q for heat, /b for everything else", path,
          stencil_source_names[spec->source], name);
    TRY(stencil_values_read(values, d.id, path, name));
    input->unwritten[is_field ? STENCIL_ARRAY_U : STENCIL_ARRAY_B] = d.unwritten;
    if (is_field) {
        const bool single = d.floating && d.element_bytes <= sizeof(float);
        spec->rank = d.rank;
        spec->precision = values->packed ? values->precision : single ? STENCIL_FLOAT32 : STENCIL_FLOAT64;
    }
    spec->source = source;
    return STENCIL_OK;
}

stencil_status stencil_input_open_field(stencil_input *input, const char *path, const char *field,
                                        stencil_spec *spec) {
    stencil_spec_init(spec);
    *input = (stencil_input){.path = path};
    TRY(stencil_h5_open(path, &input->file));
    stencil_h5_state(input->file, &input->state);
    TRY(stencil_format_read(input->file, path, &input->foreign));
    TRY(stencil_field_choose(input->file, path, field, spec, &input->field_passed_over));
    memcpy(input->field, stencil_spec_field(spec), strlen(stencil_spec_field(spec)) + 1);
    for (int source = STENCIL_SOURCE_NONE; source < STENCIL_SOURCE_COUNT; source++)
        TRY(inspect(input, (stencil_source)source, spec));
    TRY(stencil_spec_read(input->file, path, spec));
    if (field != NULL && !stencil_field_is_stated(input->file, path, spec)) {
        input->other_steps = spec->steps_total > 0 ? spec->steps_total : 0;
        stencil_spec_forget(spec);
    }
    return STENCIL_OK;
}

stencil_status stencil_input_open(stencil_input *input, const char *path, stencil_spec *spec) {
    return stencil_input_open_field(input, path, NULL, spec);
}

stencil_status stencil_input_check_unchanged(const stencil_input *input) {
    const stencil_file_state *was = &input->state;
    stencil_file_state is = *was;
    const bool known = stencil_h5_state(input->file, &is);
    CHECK(!known || (is.bytes == was->bytes && is.modified_s == was->modified_s &&
                     is.modified_ns == was->modified_ns),
          BAD_DATA, "'%s' was changed while it was read: start again when it is complete, or with a copy",
          input->path);
    return STENCIL_OK;
}

void stencil_input_close(stencil_input *input) {
    stencil_input_rest(input);
    stencil_handle_close(&input->file);
    *input = (stencil_input){0};
}

static const char *dataset_name(const stencil_input *input, stencil_array array) {
    return array_name(input, array == STENCIL_ARRAY_U ? STENCIL_SOURCE_NONE : input->problem->spec.source);
}

void stencil_input_rest(stencil_input *input) {
    stencil_chunks_close(input->chunks);
    stencil_handle_close(&input->dataset);
    input->chunks = NULL;
    input->dataset = 0;
}

/* Keeps it open, with its chunks, for the next box. */
static stencil_status open_dataset(stencil_input *input, stencil_array array) {
    const char *name = dataset_name(input, array);
    if (input->dataset > 0 && input->array == array)
        return STENCIL_OK;
    stencil_input_rest(input);
    input->array = array;
    STENCIL_HANDLE access = H5Pcreate(H5P_DATASET_ACCESS);
    if (access >= 0 && H5Pset_chunk_cache(access, CHUNK_CACHE_SLOTS, CHUNK_CACHE_BYTES, 1.0) >= 0)
        input->dataset = H5Dopen2(input->file, name, access);
    CHECK(input->dataset > 0, BAD_DATA, "'%s': cannot open %s (%s)", input->path, name, stencil_h5_reason());
    input->chunks = stencil_chunks_open(input->dataset);
    return STENCIL_OK;
}

/* Converted by HDF5 on the way. */
static stencil_status read_as(void *context, stencil_array array, const stencil_box *box,
                              const stencil_cells *to) {
    stencil_input *input = context;
    const stencil_box there = stencil_box_from(box, input->problem->first);
    TRY(open_dataset(input, array));
    const char *reason = NULL, *name = dataset_name(input, array);
    if (input->chunks != NULL)
        reason = stencil_chunks_read(input->chunks, &there, input->read_as, to);
    else if (stencil_h5_box(input->dataset, &there, input->read_as, to, false) < 0)
        reason = stencil_h5_reason();
    if (reason == NULL)
        return STENCIL_OK;
    /* Chunks are unpacked one by one, beside what the run was found to need. */
    CHECK(strstr(reason, "memory allocation failed") == NULL, NO_MEMORY,
          "HDF5 has no memory to unpack a chunk of %s", name);
    TRY(stencil_h5_check_filters(input->dataset, input->path, name, true));
    FAIL(BAD_DATA, "'%s': cannot read %s (%s): it is damaged", input->path, name, reason);
}

stencil_reader stencil_input_as(stencil_input *input, const stencil_problem *problem, hid_t type) {
    input->problem = problem;
    input->read_as = type;
    return (stencil_reader){read_as, input};
}

typedef struct scaling {
    const stencil_values *values;
    double scale;
    const stencil_cells *to;
} scaling;

/* The values of a slab, unpacked, times the scale and rounded once. */
static stencil_status store_scaled(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const scaling *s = context;
    const stencil_cells to = stencil_cells_from(s->to, slab->first);
    const int64_t *n = slab->n, nx = n[STENCIL_X];
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const int64_t at = r / n[STENCIL_Y] * to.plane + r % n[STENCIL_Y] * to.row;
        const double *from = (const double *)cells->at + r * nx;
        if (to.precision == STENCIL_FLOAT64)
            for (int64_t x = 0; x < nx; x++)
                ((double *)to.at)[at + x] = s->scale * stencil_values_unpack(s->values, from[x]);
        else
            for (int64_t x = 0; x < nx; x++)
                ((float *)to.at)[at + x] = (float)(s->scale * stencil_values_unpack(s->values, from[x]));
    }
    return STENCIL_OK;
}

/* /f and /q, and what is packed, go through double whatever the precision, so that they are rounded only
 * once. */
static stencil_status read_scaled(stencil_input *input, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    const stencil_reader from = stencil_input_as(input, input->problem, H5T_NATIVE_DOUBLE);
    const stencil_mesh mesh = stencil_problem_mesh(input->problem, 1);
    const stencil_slabs slabs = {&from, &mesh, array, .cell_bytes = sizeof(double)};
    const bool scaled = array == STENCIL_ARRAY_B && input->problem->spec.source != STENCIL_SOURCE_B;
    return stencil_slabs_visit(
        &slabs, box, store_scaled,
        &(scaling){&input->values[array], scaled ? input->problem->source_scale : 1, to});
}

static stencil_status read_box(void *context, stencil_array array, const stencil_box *box,
                               const stencil_cells *to) {
    stencil_input *input = context;
    const stencil_problem *problem = input->problem;
    const bool scaled = array == STENCIL_ARRAY_B && problem->spec.source != STENCIL_SOURCE_B;
    if (input->values[array].packed || scaled)
        return read_scaled(input, array, box, to);
    input->read_as = stencil_h5_type(problem->precision, false);
    return read_as(input, array, box, to);
}

/* The first value of a slab that is not finite. Where NaN means that there is none, those that no step uses
 * are left alone. */
static bool find_nonfinite(const stencil_input *input, const stencil_box *slab, const stencil_cells *cells,
                           int64_t at[3]) {
    if (!stencil_cells_find_nonfinite(cells, slab->n, at) || !input->values[input->array].has_nan)
        return stencil_cells_find_nonfinite(cells, slab->n, at);
    const int64_t *n = slab->n;
    for (int64_t i = 0; i < n[STENCIL_Z] * n[STENCIL_Y] * n[STENCIL_X]; i++) {
        const int64_t here[3] = {i / n[STENCIL_X] / n[STENCIL_Y], i / n[STENCIL_X] % n[STENCIL_Y],
                                 i % n[STENCIL_X]};
        const double value = stencil_cells_value(cells, here[STENCIL_Z] * cells->plane +
                                                            here[STENCIL_Y] * cells->row + here[STENCIL_X]);
        const int64_t cell[3] = {slab->first[0] + here[0], slab->first[1] + here[1],
                                 slab->first[2] + here[2]};
        memcpy(at, here, sizeof here);
        if (!isfinite(value) && (!isnan(value) || stencil_values_used(input->problem, cell, false)))
            return true;
    }
    return false;
}

/* Fails with the index (array order of /u) of the first such value. */
static stencil_status check_finite(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const stencil_input *input = context;
    const stencil_problem *problem = input->problem;
    const int skip = STENCIL_AXES - problem->rank;
    int64_t at[3];
    char index[80] = "";
    if (!find_nonfinite(input, slab, cells, at))
        return STENCIL_OK;
    for (int axis = skip; axis < STENCIL_AXES; axis++)
        stencil_text_add(index, sizeof index, "[%" PRId64 "]",
                         at[axis] + slab->first[axis] - problem->first[axis]);
    FAIL(BAD_DATA, "'%s': %s%s is NaN or infinite in %s: mend it, or use --allow-nonfinite", input->path,
         dataset_name(input, input->array), index, stencil_precision_name(problem->precision));
}

/* Cells without a value, and those out of range. */
static stencil_status check_values(stencil_input *input, stencil_array array, bool allow_nan) {
    const stencil_reader stored = stencil_input_as(input, input->problem, H5T_NATIVE_DOUBLE);
    const stencil_values_check check = {&input->values[array], input->problem, input->path,
                                        dataset_name(input, array), allow_nan};
    return stencil_values_check_all(&check, &stored, array);
}

/* Boxes come in any order: where one has such a value, the first one of all is looked for. */
static stencil_status read_finite(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    stencil_input *input = context;
    const stencil_reader all = {read_box, context};
    const stencil_mesh mesh = stencil_problem_mesh(input->problem, 1);
    const stencil_box whole = array == STENCIL_ARRAY_U
                                  ? stencil_mesh_array(&mesh)
                                  : (stencil_box){.n = {mesh.n[0], mesh.n[1], mesh.n[2]}};
    const stencil_slabs slabs = {.from = &all, .mesh = &mesh, .array = array};
    int64_t found[3];
    TRY(read_box(context, array, box, to));
    if (input->judged[array] || !stencil_cells_find_nonfinite(to, box->n, found))
        return STENCIL_OK;
    if (input->values[array].has_nan)
        TRY(check_values(input, array, false));
    TRY(stencil_slabs_visit(&slabs, &whole, check_finite, context));
    input->judged[array] = true;
    return STENCIL_OK;
}

stencil_reader stencil_input_reader(stencil_input *input, const stencil_problem *problem,
                                    bool allow_nonfinite) {
    input->problem = problem;
    return (stencil_reader){allow_nonfinite ? read_box : read_finite, input};
}

stencil_status stencil_input_check_written(stencil_input *input, const stencil_problem *problem, bool allow,
                                           stencil_notes *notes) {
    const int64_t u = input->unwritten[STENCIL_ARRAY_U], source = input->unwritten[STENCIL_ARRAY_B];
    const int64_t cells = problem->extent[0] * problem->extent[1] * problem->extent[2];
    CHECK(u == 0 || allow, BAD_DATA,
          "'%s': %" PRId64 " of %" PRId64 " cells of %s were never written: write them, or use "
          "--allow-unwritten to take what HDF5 gives there (the fill value, most often 0)",
          input->path, u, cells, input->field);
    stencil_values *values = &input->values[STENCIL_ARRAY_U];
    if (u > 0 && values->by_default) {
        values->marker_count--;
        values->by_default = false;
    }
    if (u > 0)
        stencil_notes_warn(notes,
                           "%" PRId64 " of %" PRId64 " cells of %s were never written: they have the fill "
                           "value, most often 0",
                           u, cells, input->field);
    if (source > 0)
        stencil_notes_warn(notes,
                           "%" PRId64 " of %" PRId64 " cells of %s were never written: they have the fill "
                           "value, most often 0",
                           source, cells, stencil_source_names[problem->spec.source]);
    return STENCIL_OK;
}

stencil_status stencil_input_check(stencil_input *input, const stencil_problem *problem,
                                   bool allow_nonfinite) {
    input->problem = problem;
    const int count = problem->spec.source != STENCIL_SOURCE_NONE ? STENCIL_ARRAY_COUNT : STENCIL_ARRAY_U + 1;
    for (int array = STENCIL_ARRAY_U; array < count; array++) {
        const stencil_values *values = &input->values[array];
        const bool limited = values->least > -INFINITY || values->most < INFINITY;
        /* Of NaN alone the reader finds out for itself. */
        if (limited || values->marker_count > (values->has_nan ? 1 : 0))
            TRY(check_values(input, (stencil_array)array, allow_nonfinite));
    }
    return STENCIL_OK;
}
