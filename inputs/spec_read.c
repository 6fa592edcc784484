#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "inputs/attributes.h"
#include "inputs/h5.h"
#include "inputs/inputs.h"
#include "inputs/spec_file.h"

/* "laplace, poisson, heat" into text (returned); empty names are left out. */
static const char *name_list(char text[256], const char *const *names, int count) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count; i++)
        if (names[i][0] != '\0')
            used += (size_t)snprintf(text + used, 256 - used, "%s%s", used > 0 ? ", " : "", names[i]);
    return text;
}

/* One of `names` into *value, where the attribute is there. */
static stencil_status read_name(hid_t file, const char *path, const char *attribute, const char *const *names,
                                int name_count, int count_max, int *values, int *count) {
    char list[256], wanted[320], text[3][STENCIL_ATTRIBUTE_CHARS];
    snprintf(wanted, sizeof wanted, "%s of: %s", count_max > 1 ? "one for all axes or one per axis" : "one",
             name_list(list, names, name_count));
    TRY(stencil_attribute_strings(file, path, attribute, wanted, count_max, text, count));
    for (int i = 0; i < *count; i++) {
        values[i] = stencil_name_find(text[i], names, name_count);
        CHECK(values[i] >= 0 && text[i][0] != '\0', BAD_DATA, "'%s': attribute '%s' is '%s'; give %s", path,
              attribute, text[i], wanted);
    }
    return STENCIL_OK;
}

static stencil_status read_names(hid_t file, const char *path, stencil_spec *spec) {
    const char *names[STENCIL_SHAPE_COUNT];
    for (int i = 0; i < STENCIL_SHAPE_COUNT; i++)
        names[i] = stencil_shapes[i].name;
    int value[3], count = 0;
    TRY(read_name(file, path, "stencil", names, STENCIL_SHAPE_COUNT, 1, value, &count));
    if (count > 0)
        snprintf(spec->stencil, sizeof spec->stencil, "%s", names[value[0]]);
    TRY(read_name(file, path, "problem", stencil_kind_names, STENCIL_KIND_COUNT, 1, value, &count));
    if (count > 0)
        spec->kind = (stencil_kind)value[0];
    TRY(read_name(file, path, "norm", stencil_norm_names, STENCIL_NORM_COUNT, 1, value, &count));
    if (count > 0)
        spec->norm = (stencil_norm)value[0];
    TRY(read_name(file, path, "boundary", stencil_boundary_names, STENCIL_BOUNDARY_COUNT, spec->rank, value,
                  &count));
    CHECK(count <= 1 || count == spec->rank, BAD_DATA,
          "'%s': attribute 'boundary' has %d values; give one for all axes or %d, one per axis", path, count,
          spec->rank);
    for (int i = 0; i < count; i++)
        spec->boundary[i] = (stencil_boundary)value[i];
    spec->boundary_count = count;
    return STENCIL_OK;
}

static stencil_status read_counts(hid_t file, const char *path, stencil_spec *spec) {
    const struct {
        const char *name;
        int64_t least, *value;
    } number[] = {{"steps", 0, &spec->steps},
                  {"check_every", 1, &spec->check_every},
                  {"steps_total", 0, &spec->steps_total}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        char wanted[80];
        int count = 0;
        snprintf(wanted, sizeof wanted, "a whole number from %" PRId64 " to %" PRId64, number[i].least,
                 STENCIL_STEPS_MAX);
        TRY(stencil_attribute_integer(file, path, number[i].name, wanted, number[i].least, STENCIL_STEPS_MAX,
                                      number[i].value, &count));
    }
    return STENCIL_OK;
}

static stencil_status read_numbers(hid_t file, const char *path, stencil_spec *spec) {
    double tolerance = NAN; /* the name of atol in earlier versions */
    const struct {
        const char *name;
        double *value;
        bool zero_allowed;
    } number[] = {{"omega", &spec->omega, false},
                  {"diffusivity", &spec->diffusivity, false},
                  {"dt", &spec->dt, false},
                  {"rtol", &spec->rtol, true},
                  {"atol", &spec->atol, true},
                  {"tolerance", &tolerance, true},
                  {"residual_first", &spec->residual_first, true}};
    int count = 0;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        const char *wanted = number[i].zero_allowed ? "one number >= 0" : "one number > 0";
        double value = NAN;
        TRY(stencil_attribute_doubles(file, path, number[i].name, wanted, 1, &value, &count));
        CHECK(count == 0 || value > 0 || (value == 0 && number[i].zero_allowed), BAD_DATA,
              "'%s': attribute '%s' is %g; give %s", path, number[i].name, value, wanted);
        if (count > 0)
            *number[i].value = value;
    }
    CHECK(isnan(tolerance) || isnan(spec->atol), BAD_DATA,
          "'%s' has both attributes 'atol' and 'tolerance', its old name: give atol alone", path);
    spec->atol = isnan(tolerance) ? spec->atol : tolerance;
    const char *wanted = "numbers > 0, one for all axes or one per axis";
    TRY(stencil_attribute_doubles(file, path, "spacing", wanted, spec->rank, spec->spacing, &count));
    CHECK(count <= 1 || count == spec->rank, BAD_DATA, "'%s': attribute 'spacing' has %d values; give %s",
          path, count, wanted);
    for (int i = 0; i < count; i++)
        CHECK(spec->spacing[i] > 0, BAD_DATA, "'%s': attribute 'spacing' is %g; give %s", path,
              spec->spacing[i], wanted);
    spec->spacing_count = count;
    return read_counts(file, path, spec);
}

/* A small dataset of numbers: its shape, and its values in double. */
typedef struct table {
    int rank; /* 0: there is no such dataset */
    hsize_t size[2];
    H5T_class_t type_class;
    double value[STENCIL_POINTS_MAX * 3];
} table;

static stencil_status table_fill(table *t, hid_t dataset, const char *path, const char *name) {
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    t->type_class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    t->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    const hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (t->rank == 1 || t->rank == 2)
        H5Sget_simple_extent_dims(space, t->size, NULL);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    CHECK(t->type_class == H5T_INTEGER || t->type_class == H5T_FLOAT, BAD_DATA,
          "'%s': %s holds %s; give numbers", path, name, stencil_h5_class_text(t->type_class));
    CHECK(t->rank == 1 || t->rank == 2, BAD_DATA,
          "'%s': %s has rank %d; offsets are [n][rank], weights are [n]", path, name, t->rank);
    CHECK(points > 0 && t->size[0] <= STENCIL_POINTS_MAX && points <= STENCIL_POINTS_MAX * 3, BAD_DATA,
          "'%s': %s has %llu entries; give 1 to %d points", path, name, (unsigned long long)t->size[0],
          STENCIL_POINTS_MAX);
    CHECK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->value) >= 0, BAD_DATA,
          "'%s': cannot read %s (%s)", path, name, stencil_h5_reason());
    return STENCIL_OK;
}

static stencil_status table_read(table *t, hid_t group, const char *path, const char *member,
                                 const char *name) {
    t->rank = 0;
    const htri_t exists = H5Lexists(group, member, H5P_DEFAULT);
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot look for %s (%s)", path, name, stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    const hid_t dataset = H5Dopen2(group, member, H5P_DEFAULT);
    CHECK(dataset >= 0, BAD_DATA, "'%s': %s is no dataset that can be read (%s)", path, name,
          stencil_h5_reason());
    const stencil_status status = table_fill(t, dataset, path, name);
    H5Dclose(dataset);
    return status;
}

static stencil_status read_offsets(hid_t group, const char *path, stencil_spec *spec) {
    table t;
    TRY(table_read(&t, group, path, "offsets", "/stencil/offsets"));
    if (t.rank == 0)
        return STENCIL_OK;
    CHECK(t.rank == 2 && t.size[1] == (hsize_t)spec->rank, BAD_DATA,
          "'%s': /stencil/offsets has the wrong shape; give [n][%d], one row (%s) per point", path,
          spec->rank, spec->rank == 2 ? "y, x" : "z, y, x");
    spec->offset_count = (int)t.size[0];
    for (int k = 0; k < spec->offset_count; k++)
        for (int axis = 0; axis < spec->rank; axis++) {
            const double offset = t.value[k * spec->rank + axis];
            CHECK(fabs(offset) <= STENCIL_RADIUS_MAX && offset == floor(offset), BAD_DATA,
                  "'%s': /stencil/offsets[%d][%d] is %g; give whole numbers from %d to %d", path, k, axis,
                  offset, -STENCIL_RADIUS_MAX, STENCIL_RADIUS_MAX);
            spec->offset[k][axis] = (int32_t)offset;
        }
    return STENCIL_OK;
}

static stencil_status read_weights(hid_t group, const char *path, stencil_spec *spec) {
    table t;
    TRY(table_read(&t, group, path, "weights", "/stencil/weights"));
    CHECK(t.rank != 0 || spec->offset_count == 0, BAD_DATA,
          "'%s': /stencil/offsets has no /stencil/weights beside it; give one weight per point", path);
    if (t.rank == 0)
        return STENCIL_OK;
    CHECK(t.rank == 1, BAD_DATA, "'%s': /stencil/weights has rank %d; give [n], one weight per point", path,
          t.rank);
    const stencil_shape *shape = stencil_shape_find(spec->stencil);
    const int points = spec->offset_count > 0 ? spec->offset_count : shape != NULL ? shape->point_count : 0;
    CHECK(points == 0 || t.size[0] == (hsize_t)points, BAD_DATA,
          "'%s': /stencil/weights has length %d; give %d, one per point", path, (int)t.size[0], points);
    spec->weight_count = (int)t.size[0];
    for (int k = 0; k < spec->weight_count; k++) {
        CHECK(isfinite(t.value[k]), BAD_DATA, "'%s': /stencil/weights[%d] is %g; give a finite number", path,
              k, t.value[k]);
        spec->weight[k] = t.value[k];
    }
    return STENCIL_OK;
}

static stencil_status read_points(hid_t file, const char *path, stencil_spec *spec) {
    const htri_t exists = H5Lexists(file, "stencil", H5P_DEFAULT);
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot look for /stencil (%s)", path, stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    const hid_t group = H5Gopen2(file, "stencil", H5P_DEFAULT);
    CHECK(group >= 0, BAD_DATA, "'%s': /stencil is no group; give a group with offsets and weights", path);
    stencil_status status = read_offsets(group, path, spec);
    if (status == STENCIL_OK)
        status = read_weights(group, path, spec);
    H5Gclose(group);
    return status;
}

/* Physical time may be anything; the fingerprint says of which problem the steps in the file are. */
static stencil_status read_past(hid_t file, const char *path, stencil_spec *spec) {
    char text[1][STENCIL_ATTRIBUTE_CHARS];
    int count = 0;
    /* A time that is no number is the user's own affair. */
    if (stencil_attribute_doubles(file, path, "time", "one number", 1, &spec->time, &count) != STENCIL_OK)
        spec->time = NAN;
    TRY(stencil_attribute_doubles(file, path, "time_first", "one number", 1, &spec->time_first, &count));
    spec->checked_every = spec->check_every;
    TRY(stencil_attribute_strings(file, path, "fingerprint", "what a run has written, or nothing", 1, text,
                                  &count));
    if (count > 0)
        snprintf(spec->fingerprint, sizeof spec->fingerprint, "%.*s", STENCIL_FINGERPRINT_CHARS - 1, text[0]);
    return STENCIL_OK;
}

stencil_status stencil_spec_read(hid_t file, const char *path, stencil_spec *spec) {
    TRY(read_names(file, path, spec));
    TRY(read_numbers(file, path, spec));
    TRY(read_past(file, path, spec));
    return read_points(file, path, spec);
}
