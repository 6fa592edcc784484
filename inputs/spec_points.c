/* Points and weights of a problem's own: the group /stencil. */
#include <math.h>
#include <string.h>

#include "inputs/h5.h"
#include "inputs/spec_file.h"

/* A small dataset of numbers: its shape, and its values in double. */
typedef struct table {
    int rank; /* 0: there is no such dataset */
    hsize_t size[2];
    double value[STENCIL_POINTS_MAX * 3];
} table;

static stencil_status table_read(table *t, hid_t group, const char *path, const char *name) {
    const htri_t exists = H5Lexists(group, name, H5P_DEFAULT);
    t->rank = 0;
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot look for /stencil/%s (%s)", path, name,
          stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    STENCIL_HANDLE dataset = H5Dopen2(group, name, H5P_DEFAULT);
    CHECK(dataset >= 0, BAD_DATA, "'%s': /stencil/%s is no dataset that can be read (%s)", path, name,
          stencil_h5_reason());
    STENCIL_HANDLE type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const H5T_class_t type_class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    CHECK(type_class == H5T_INTEGER || type_class == H5T_FLOAT, BAD_DATA,
          "'%s': /stencil/%s holds %s; give numbers", path, name, stencil_h5_class_text(type_class));
    t->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    CHECK(t->rank == 1 || t->rank == 2, BAD_DATA,
          "'%s': /stencil/%s has rank %d; offsets are [n][rank], weights are [n]", path, name, t->rank);
    H5Sget_simple_extent_dims(space, t->size, NULL);
    const hssize_t values = H5Sget_simple_extent_npoints(space);
    CHECK(values > 0 && t->size[0] <= STENCIL_POINTS_MAX && values <= STENCIL_POINTS_MAX * 3, BAD_DATA,
          "'%s': /stencil/%s has %llu entries; give 1 to %d points", path, name,
          (unsigned long long)t->size[0], STENCIL_POINTS_MAX);
    CHECK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->value) >= 0, BAD_DATA,
          "'%s': cannot read /stencil/%s (%s)", path, name, stencil_h5_reason());
    return STENCIL_OK;
}

static stencil_status read_offsets(hid_t group, const char *path, stencil_spec *spec) {
    table t;
    TRY(table_read(&t, group, path, "offsets"));
    if (t.rank == 0)
        return STENCIL_OK;
    CHECK(t.rank == 2 && t.size[1] == (hsize_t)spec->rank, BAD_DATA,
          "'%s': /stencil/offsets has the wrong shape; give [n][%d], one row (%s) per point", path,
          spec->rank, spec->rank == 2 ? "y, x" : "z, y, x");
    spec->offset_count = (int)t.size[0];
    for (int i = 0; i < spec->offset_count * spec->rank; i++) {
        const int k = i / spec->rank, axis = i % spec->rank;
        CHECK(fabs(t.value[i]) <= STENCIL_RADIUS_MAX && t.value[i] == floor(t.value[i]), BAD_DATA,
              "'%s': /stencil/offsets[%d][%d] is %g; give whole numbers from %d to %d", path, k, axis,
              t.value[i], -STENCIL_RADIUS_MAX, STENCIL_RADIUS_MAX);
        spec->offset[k][axis] = (int32_t)t.value[i];
    }
    return STENCIL_OK;
}

static stencil_status read_weights(hid_t group, const char *path, stencil_spec *spec) {
    table t;
    TRY(table_read(&t, group, path, "weights"));
    CHECK(t.rank != 0 || spec->offset_count == 0, BAD_DATA,
          "'%s': /stencil/offsets has no /stencil/weights beside it; give one weight per point", path);
    if (t.rank == 0)
        return STENCIL_OK;
    CHECK(t.rank == 1, BAD_DATA, "'%s': /stencil/weights has rank %d; give [n], one weight per point", path,
          t.rank);
    const stencil_shape *shape = stencil_shape_find(spec->stencil);
    const int points = spec->offset_count > 0 ? spec->offset_count : shape != NULL ? shape->point_count : 0;
    spec->weight_count = (int)t.size[0];
    CHECK(points == 0 || spec->weight_count == points, BAD_DATA,
          "'%s': /stencil/weights has length %d; give %d, one per point", path, spec->weight_count, points);
    memcpy(spec->weight, t.value, (size_t)spec->weight_count * sizeof *spec->weight);
    for (int k = 0; k < spec->weight_count; k++)
        CHECK(isfinite(spec->weight[k]), BAD_DATA, "'%s': /stencil/weights[%d] is %g; give a finite number",
              path, k, spec->weight[k]);
    return STENCIL_OK;
}

stencil_status stencil_spec_read_points(hid_t file, const char *path, stencil_spec *spec) {
    const htri_t exists = H5Lexists(file, "stencil", H5P_DEFAULT);
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot look for /stencil (%s)", path, stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    STENCIL_HANDLE group = H5Gopen2(file, "stencil", H5P_DEFAULT);
    CHECK(group >= 0, BAD_DATA, "'%s': /stencil is no group; give a group with offsets and weights", path);
    TRY(read_offsets(group, path, spec));
    return read_weights(group, path, spec);
}

stencil_status stencil_spec_write_points(hid_t file, const char *path, const stencil_spec *spec) {
    if (spec->weight_count == 0)
        return STENCIL_OK;
    STENCIL_HANDLE group = H5Gcreate2(file, "stencil", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0, IO, "cannot write '%s': /stencil: %s", path, stencil_h5_reason());
    int32_t offset[STENCIL_POINTS_MAX * 3];
    for (int i = 0; i < spec->offset_count * spec->rank; i++)
        offset[i] = spec->offset[i / spec->rank][i % spec->rank];
    const hsize_t offsets[2] = {(hsize_t)spec->offset_count, (hsize_t)spec->rank};
    const hsize_t weights = (hsize_t)spec->weight_count;
    CHECK(spec->offset_count == 0 ||
              stencil_h5_write(group, "offsets", 2, offsets, H5T_STD_I32LE, H5T_NATIVE_INT32, offset) >= 0,
          IO, "cannot write '%s': /stencil/offsets: %s", path, stencil_h5_reason());
    CHECK(stencil_h5_write(group, "weights", 1, &weights, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, spec->weight) >=
              0,
          IO, "cannot write '%s': /stencil/weights: %s", path, stencil_h5_reason());
    return STENCIL_OK;
}
