#include "app/h5file.h"

#include <stdio.h>
#include <string.h>

#include "inputs/h5.h"
#include "inputs/storage.h"

/* "float64", "int32", "uint8", … of a dataset, whatever its byte order. */
static stencil_status describe_type(h5_dataset *d) {
    const hid_t type = H5Dget_type(d->dataset);
    const H5T_class_t type_class = H5Tget_class(type);
    const unsigned bits = 8 * (unsigned)H5Tget_size(type);
    if (type_class == H5T_FLOAT)
        snprintf(d->type, sizeof d->type, "float%u", bits);
    else
        snprintf(d->type, sizeof d->type, "%sint%u", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", bits);
    H5Tclose(type);
    CHECK(type_class == H5T_FLOAT || type_class == H5T_INTEGER, BAD_DATA,
          "'%s': %s does not hold numbers: %s", d->path, d->name, d->advice);
    return STENCIL_OK;
}

static stencil_status describe_extent(h5_dataset *d) {
    const hid_t space = H5Dget_space(d->dataset);
    d->rank = H5Sget_simple_extent_dims(space, d->extent, NULL);
    const H5S_class_t space_class = H5Sget_simple_extent_type(space);
    H5Sclose(space);
    CHECK(d->rank >= 0 && space_class != H5S_NULL, BAD_DATA, "'%s': %s is an empty dataset: %s", d->path,
          d->name, d->advice);
    d->count = 1;
    for (int axis = 0; axis < d->rank; axis++)
        CHECK(d->extent[axis] <= INT64_MAX && stencil_multiply(d->count, (int64_t)d->extent[axis], &d->count),
              BAD_DATA, "'%s': %s has more elements than 64 bits count", d->path, d->name);
    return STENCIL_OK;
}

stencil_status h5_dataset_open(h5_dataset *dataset, const char *path, const char *name, const char *advice) {
    *dataset = (h5_dataset){.path = path, .name = name, .advice = advice, .dataset = H5I_INVALID_HID};
    TRY(stencil_h5_open(path, &dataset->file));
    CHECK(!stencil_h5_dangling(dataset->file, name), BAD_DATA, "'%s': %s is a link that leads nowhere: %s",
          path, name, advice);
    TRY(stencil_storage_check(dataset->file, path, name, 0));
    const hid_t object = H5Oopen(dataset->file, name, H5P_DEFAULT);
    CHECK(object >= 0, BAD_DATA, "'%s' has no dataset %s: %s", path, name, advice);
    if (H5Iget_type(object) != H5I_DATASET) {
        H5Oclose(object);
        FAIL(BAD_DATA, "'%s': %s is not a dataset: %s", path, name, advice);
    }
    dataset->dataset = object;
    TRY(describe_type(dataset));
    return describe_extent(dataset);
}

stencil_status h5_dataset_read(const h5_dataset *dataset, const hsize_t *start, const hsize_t *count,
                               hid_t memory_type, void *values) {
    hid_t file = H5S_ALL, memory = H5S_ALL;
    if (start != NULL && dataset->rank > 0) {
        file = H5Dget_space(dataset->dataset);
        memory = H5Screate_simple(dataset->rank, count, NULL);
        H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL);
    }
    const herr_t failed = H5Dread(dataset->dataset, memory_type, memory, file, H5P_DEFAULT, values);
    if (file != H5S_ALL) {
        H5Sclose(memory);
        H5Sclose(file);
    }
    CHECK(failed >= 0, BAD_DATA,
          "'%s': %s cannot be read: it is damaged, or packed with a filter that is missing", dataset->path,
          dataset->name);
    return STENCIL_OK;
}

void h5_dataset_close(h5_dataset *dataset) {
    if (dataset->dataset >= 0)
        H5Dclose(dataset->dataset);
    if (dataset->file >= 0)
        H5Fclose(dataset->file);
    dataset->dataset = dataset->file = H5I_INVALID_HID;
}

stencil_status h5_read_integer(hid_t file, const char *path, const char *group, const char *name,
                               int64_t *value) {
    const hid_t attribute = H5Aopen_by_name(file, group, name, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(attribute >= 0, BAD_DATA, "'%s' has no attribute %s of %s: it was not written by 'stencil run'",
          path, name, group);
    const hid_t space = H5Aget_space(attribute);
    const bool scalar = H5Sget_simple_extent_npoints(space) == 1;
    H5Sclose(space);
    const herr_t failed = scalar ? H5Aread(attribute, H5T_NATIVE_INT64, value) : -1;
    H5Aclose(attribute);
    CHECK(failed >= 0, BAD_DATA, "'%s': attribute %s of %s is not one whole number", path, name, group);
    return STENCIL_OK;
}

/* One string of whatever length, from an attribute of fixed or variable length. */
static bool read_text(hid_t attribute, hid_t type, char *text, size_t size) {
    const bool variable = H5Tis_variable_str(type) > 0;
    const size_t length = variable ? H5T_VARIABLE : H5Tget_size(type) + 1;
    const hid_t memory = H5Tcopy(H5T_C_S1);
    H5Tset_size(memory, length);
    H5Tset_cset(memory, H5Tget_cset(type));
    char *found = variable ? NULL : H5allocate_memory(length, true);
    const bool read = (variable || found != NULL) &&
                      H5Aread(attribute, memory, variable ? (void *)&found : found) >= 0 && found != NULL;
    if (read)
        snprintf(text, size, "%s", found);
    H5free_memory(found);
    H5Tclose(memory);
    return read;
}

stencil_status h5_read_text(hid_t file, const char *path, const char *group, const char *name, char *text,
                            size_t size) {
    text[0] = '\0';
    if (H5Aexists_by_name(file, group, name, H5P_DEFAULT) <= 0)
        return STENCIL_OK;
    const hid_t attribute = H5Aopen_by_name(file, group, name, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5Aget_type(attribute);
    const hid_t space = H5Aget_space(attribute);
    const bool read = H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1 &&
                      read_text(attribute, type, text, size);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    CHECK(read, BAD_DATA, "'%s': attribute %s of %s is not one text", path, name, group);
    return STENCIL_OK;
}
