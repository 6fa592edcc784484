#include "inputs/attributes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "inputs/h5.h"

/* An attribute while it is being read. */
typedef struct opened {
    const stencil_attribute *is;
    const char *path;
    hid_t id, type, space;
    int count;
} opened;

static stencil_status wrong_type(const opened *a) {
    FAIL(BAD_DATA, "'%s': attribute '%s' is %s; give %s", a->path, a->is->name,
         stencil_h5_class_text(H5Tget_class(a->type)), a->is->wanted);
}

static stencil_status read_as(const opened *a, hid_t type, void *values) {
    CHECK(type >= 0 && H5Aread(a->id, type, values) >= 0, BAD_DATA, "'%s': cannot read attribute '%s' (%s)",
          a->path, a->is->name, stencil_h5_reason());
    return STENCIL_OK;
}

static stencil_status read_texts(const opened *a, char *text) {
    if (H5Tget_class(a->type) != H5T_STRING)
        return wrong_type(a);
    const bool variable = H5Tis_variable_str(a->type) > 0;
    const size_t size = variable ? sizeof(char *) : H5Tget_size(a->type) + 1;
    STENCIL_HANDLE type = H5Tcopy(H5T_C_S1);
    /* HDF5 converts widths and paddings, but not character sets. */
    const bool made = type >= 0 && H5Tset_cset(type, H5Tget_cset(a->type)) >= 0 &&
                      H5Tset_size(type, variable ? H5T_VARIABLE : size) >= 0;
    char *values = calloc((size_t)a->count, size);
    CHECK(values != NULL, NO_MEMORY, "no memory for attribute '%s'", a->is->name);
    const stencil_status status = read_as(a, made ? type : -1, values);
    for (int i = 0; i < a->count && status == STENCIL_OK; i++) {
        const char *value = variable ? ((char **)values)[i] : values + (size_t)i * size;
        snprintf(text + (size_t)i * a->is->chars, a->is->chars, "%s", value != NULL ? value : "");
    }
    if (status == STENCIL_OK && variable)
        H5Dvlen_reclaim(type, a->space, H5P_DEFAULT, values);
    free(values);
    return status;
}

static stencil_status read_reals(const opened *a, double *values) {
    const H5T_class_t type_class = H5Tget_class(a->type);
    if (type_class != H5T_FLOAT && type_class != H5T_INTEGER)
        return wrong_type(a);
    TRY(read_as(a, H5T_NATIVE_DOUBLE, values));
    for (int i = 0; i < a->count; i++)
        CHECK(isfinite(values[i]), BAD_DATA, "'%s': attribute '%s' is %g; give %s", a->path, a->is->name,
              values[i], a->is->wanted);
    return STENCIL_OK;
}

static stencil_status read_whole(const opened *a, int64_t *value) {
    const stencil_attribute *is = a->is;
    if (H5Tget_class(a->type) == H5T_FLOAT) {
        double number = 0.0;
        TRY(read_as(a, H5T_NATIVE_DOUBLE, &number));
        CHECK(number == floor(number) && number >= (double)is->least && number <= (double)is->most, BAD_DATA,
              "'%s': attribute '%s' is %g; give %s", a->path, is->name, number, is->wanted);
        *value = (int64_t)number;
        return STENCIL_OK;
    }
    if (H5Tget_class(a->type) != H5T_INTEGER)
        return wrong_type(a);
    /* HDF5 clamps what does not fit: unsigned values are read as such. */
    const bool is_unsigned = H5Tget_sign(a->type) == H5T_SGN_NONE;
    int64_t number = 0;
    TRY(read_as(a, is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, &number));
    CHECK(!is_unsigned || (uint64_t)number <= (uint64_t)is->most, BAD_DATA,
          "'%s': attribute '%s' is %" PRIu64 "; give %s", a->path, is->name, (uint64_t)number, is->wanted);
    CHECK(number >= is->least && number <= is->most, BAD_DATA, "'%s': attribute '%s' is %" PRId64 "; give %s",
          a->path, is->name, number, is->wanted);
    *value = number;
    return STENCIL_OK;
}

stencil_status stencil_attribute_read(hid_t object, const char *path, const stencil_attribute *attribute,
                                      void *values, int *count) {
    const char *name = attribute->name, *wanted = attribute->wanted;
    const htri_t exists = H5Aexists(object, name);
    *count = 0;
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot read its attributes (%s)", path,
          stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    STENCIL_HANDLE id = H5Aopen(object, name, H5P_DEFAULT);
    STENCIL_HANDLE type = id < 0 ? -1 : H5Aget_type(id);
    STENCIL_HANDLE space = type < 0 ? -1 : H5Aget_space(id);
    CHECK(space >= 0, BAD_DATA, "'%s' is damaged: cannot read attribute '%s' (%s)", path, name,
          stencil_h5_reason());
    const hssize_t points = H5Sget_simple_extent_npoints(space);
    CHECK(points > 0, BAD_DATA, "'%s': attribute '%s' is empty; give %s", path, name, wanted);
    CHECK(points <= attribute->count_max, BAD_DATA, "'%s': attribute '%s' has %lld values; give %s", path,
          name, (long long)points, wanted);
    *count = (int)points;
    const opened a = {attribute, path, id, type, space, *count};
    return attribute->type == STENCIL_ATTRIBUTE_TEXT   ? read_texts(&a, values)
           : attribute->type == STENCIL_ATTRIBUTE_REAL ? read_reals(&a, values)
                                                       : read_whole(&a, values);
}

stencil_status stencil_attribute_write(hid_t object, const char *path, const char *name,
                                       stencil_attribute_type type, int count, const void *values) {
    const hsize_t size = (hsize_t)count;
    STENCIL_HANDLE space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    STENCIL_HANDLE string = H5Tcopy(H5T_C_S1);
    CHECK(string >= 0 && H5Tset_size(string, H5T_VARIABLE) >= 0 && H5Tset_cset(string, H5T_CSET_UTF8) >= 0,
          INTERNAL, "HDF5 makes no string type: %s", stencil_h5_reason());
    const hid_t types[][2] = {[STENCIL_ATTRIBUTE_TEXT] = {string, string},
                              [STENCIL_ATTRIBUTE_REAL] = {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE},
                              [STENCIL_ATTRIBUTE_WHOLE] = {H5T_STD_I64LE, H5T_NATIVE_INT64}};
    const hid_t id = H5Acreate2(object, name, types[type][0], space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t written = id < 0 ? -1 : H5Awrite(id, types[type][1], values);
    if (written < 0)
        stencil_h5_reason();
    const herr_t closed = id < 0 ? -1 : H5Aclose(id);
    CHECK(written >= 0 && closed >= 0, IO, "cannot write '%s': attribute '%s': %s", path, name,
          stencil_h5_reason());
    return STENCIL_OK;
}
