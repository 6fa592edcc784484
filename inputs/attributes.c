#include "inputs/attributes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/h5.h"

/* An attribute while it is being read, with what messages need. */
typedef struct attribute {
    hid_t id, type, space;
    H5T_class_t type_class;
    int count;
    const char *path, *name, *wanted;
} attribute;

static void attribute_close(attribute *a) {
    if (a->space >= 0)
        H5Sclose(a->space);
    if (a->type >= 0)
        H5Tclose(a->type);
    if (a->id >= 0)
        H5Aclose(a->id);
}

static stencil_status attribute_inspect(attribute *a, hid_t object, int count_max) {
    const htri_t exists = H5Aexists(object, a->name);
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot read its attributes (%s)", a->path,
          stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    a->id = H5Aopen(object, a->name, H5P_DEFAULT);
    if (a->id >= 0) {
        a->type = H5Aget_type(a->id);
        a->space = H5Aget_space(a->id);
    }
    CHECK(a->id >= 0 && a->type >= 0 && a->space >= 0, BAD_DATA,
          "'%s' is damaged: cannot read attribute '%s' (%s)", a->path, a->name, stencil_h5_reason());
    a->type_class = H5Tget_class(a->type);
    const hssize_t points = H5Sget_simple_extent_npoints(a->space);
    CHECK(points > 0, BAD_DATA, "'%s': attribute '%s' is empty; give %s", a->path, a->name, a->wanted);
    CHECK(points <= count_max, BAD_DATA, "'%s': attribute '%s' has %lld values; give %s", a->path, a->name,
          (long long)points, a->wanted);
    a->count = (int)points;
    return STENCIL_OK;
}

static stencil_status wrong_type(const attribute *a) {
    FAIL(BAD_DATA, "'%s': attribute '%s' is %s; give %s", a->path, a->name,
         stencil_h5_class_text(a->type_class), a->wanted);
}

static stencil_status attribute_read(const attribute *a, hid_t type, void *values) {
    CHECK(H5Aread(a->id, type, values) >= 0, BAD_DATA, "'%s': cannot read attribute '%s' (%s)", a->path,
          a->name, stencil_h5_reason());
    return STENCIL_OK;
}

static void copy_text(char to[STENCIL_ATTRIBUTE_CHARS], const char *from, size_t size) {
    const size_t length =
        strnlen(from, size < STENCIL_ATTRIBUTE_CHARS - 1 ? size : STENCIL_ATTRIBUTE_CHARS - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

static stencil_status read_variable_strings(const attribute *a, hid_t type,
                                            char text[][STENCIL_ATTRIBUTE_CHARS]) {
    char **values = calloc((size_t)a->count, sizeof *values);
    CHECK(values != NULL, NO_MEMORY, "no memory for attribute '%s'", a->name);
    stencil_status status = attribute_read(a, type, values);
    for (int i = 0; i < a->count && status == STENCIL_OK; i++) {
        const char *value = values[i] != NULL ? values[i] : "";
        copy_text(text[i], value, strlen(value));
    }
    if (status == STENCIL_OK)
        H5Dvlen_reclaim(type, a->space, H5P_DEFAULT, values);
    free(values);
    return status;
}

static stencil_status read_fixed_strings(const attribute *a, hid_t type,
                                         char text[][STENCIL_ATTRIBUTE_CHARS]) {
    const size_t size = H5Tget_size(a->type) + 1;
    CHECK(H5Tset_size(type, size) >= 0, BAD_DATA, "'%s': cannot read attribute '%s' (%s)", a->path, a->name,
          stencil_h5_reason());
    char *values = calloc((size_t)a->count, size);
    CHECK(values != NULL, NO_MEMORY, "no memory for attribute '%s'", a->name);
    const stencil_status status = attribute_read(a, type, values);
    for (int i = 0; i < a->count && status == STENCIL_OK; i++)
        copy_text(text[i], values + (size_t)i * size, size);
    free(values);
    return status;
}

static stencil_status read_strings(const attribute *a, char text[][STENCIL_ATTRIBUTE_CHARS]) {
    if (a->type_class != H5T_STRING)
        return wrong_type(a);
    const htri_t variable = H5Tis_variable_str(a->type);
    const hid_t type = H5Tcopy(H5T_C_S1);
    /* HDF5 converts widths and paddings, but not character sets. */
    if (type < 0 || variable < 0 || H5Tset_cset(type, H5Tget_cset(a->type)) < 0 ||
        (variable > 0 && H5Tset_size(type, H5T_VARIABLE) < 0))
        FAIL(BAD_DATA, "'%s': cannot read attribute '%s' (%s)", a->path, a->name, stencil_h5_reason());
    const stencil_status status =
        variable > 0 ? read_variable_strings(a, type, text) : read_fixed_strings(a, type, text);
    H5Tclose(type);
    return status;
}

stencil_status stencil_attribute_strings(hid_t object, const char *path, const char *name, const char *wanted,
                                         int count_max, char text[][STENCIL_ATTRIBUTE_CHARS], int *count) {
    attribute a = {-1, -1, -1, H5T_NO_CLASS, 0, path, name, wanted};
    stencil_status status = attribute_inspect(&a, object, count_max);
    if (status == STENCIL_OK && a.count > 0)
        status = read_strings(&a, text);
    attribute_close(&a);
    *count = a.count;
    return status;
}

static stencil_status read_doubles(const attribute *a, double *values) {
    if (a->type_class != H5T_FLOAT && a->type_class != H5T_INTEGER)
        return wrong_type(a);
    TRY(attribute_read(a, H5T_NATIVE_DOUBLE, values));
    for (int i = 0; i < a->count; i++)
        CHECK(isfinite(values[i]), BAD_DATA, "'%s': attribute '%s' is %g; give %s", a->path, a->name,
              values[i], a->wanted);
    return STENCIL_OK;
}

stencil_status stencil_attribute_doubles(hid_t object, const char *path, const char *name, const char *wanted,
                                         int count_max, double *values, int *count) {
    attribute a = {-1, -1, -1, H5T_NO_CLASS, 0, path, name, wanted};
    stencil_status status = attribute_inspect(&a, object, count_max);
    if (status == STENCIL_OK && a.count > 0)
        status = read_doubles(&a, values);
    attribute_close(&a);
    *count = a.count;
    return status;
}

/* HDF5 clamps what does not fit: unsigned values are looked at as such first. */
static stencil_status read_whole(const attribute *a, int64_t least, int64_t most, int64_t *value) {
    if (H5Tget_sign(a->type) == H5T_SGN_NONE) {
        uint64_t number = 0;
        TRY(attribute_read(a, H5T_NATIVE_UINT64, &number));
        CHECK(number <= (uint64_t)most, BAD_DATA, "'%s': attribute '%s' is %" PRIu64 "; give %s", a->path,
              a->name, number, a->wanted);
        *value = (int64_t)number;
    } else {
        TRY(attribute_read(a, H5T_NATIVE_INT64, value));
    }
    CHECK(*value >= least && *value <= most, BAD_DATA, "'%s': attribute '%s' is %" PRId64 "; give %s",
          a->path, a->name, *value, a->wanted);
    return STENCIL_OK;
}

static stencil_status read_integer(const attribute *a, int64_t least, int64_t most, int64_t *value) {
    if (a->type_class == H5T_INTEGER)
        return read_whole(a, least, most, value);
    if (a->type_class != H5T_FLOAT)
        return wrong_type(a);
    double number = 0.0;
    TRY(attribute_read(a, H5T_NATIVE_DOUBLE, &number));
    CHECK(number == floor(number) && number >= (double)least && number <= (double)most, BAD_DATA,
          "'%s': attribute '%s' is %g; give %s", a->path, a->name, number, a->wanted);
    *value = (int64_t)number;
    return STENCIL_OK;
}

stencil_status stencil_attribute_integer(hid_t object, const char *path, const char *name, const char *wanted,
                                         int64_t least, int64_t most, int64_t *value, int *count) {
    attribute a = {-1, -1, -1, H5T_NO_CLASS, 0, path, name, wanted};
    int64_t read = 0;
    stencil_status status = attribute_inspect(&a, object, 1);
    if (status == STENCIL_OK && a.count > 0)
        status = read_integer(&a, least, most, &read);
    if (status == STENCIL_OK && a.count > 0)
        *value = read;
    attribute_close(&a);
    *count = a.count;
    return status;
}

static stencil_status write_attribute(hid_t object, const char *path, const char *name, int count,
                                      hid_t file_type, hid_t memory_type, const void *values) {
    const hsize_t size = (hsize_t)count;
    const hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    const hid_t id = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t written = id < 0 ? -1 : H5Awrite(id, memory_type, values);
    if (written < 0)
        stencil_h5_reason();
    const herr_t closed = id < 0 ? -1 : H5Aclose(id);
    if (space >= 0)
        H5Sclose(space);
    CHECK(written >= 0 && closed >= 0, IO, "cannot write '%s': attribute '%s': %s", path, name,
          stencil_h5_reason());
    return STENCIL_OK;
}

stencil_status stencil_attribute_write_strings(hid_t object, const char *path, const char *name, int count,
                                               const char *const *text) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    stencil_status status = STENCIL_OK;
    if (type < 0 || H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        status = stencil_error_set(STENCIL_INTERNAL, __FILE__, __LINE__, "", "HDF5 makes no string type: %s",
                                   stencil_h5_reason());
    else
        status = write_attribute(object, path, name, count, type, type, text);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

stencil_status stencil_attribute_write_doubles(hid_t object, const char *path, const char *name, int count,
                                               const double *values) {
    return write_attribute(object, path, name, count, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
}

stencil_status stencil_attribute_write_integer(hid_t object, const char *path, const char *name,
                                               int64_t value) {
    return write_attribute(object, path, name, 1, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}
