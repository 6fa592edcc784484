/* The history of a result among dimension scales: netCDF-4 readers take a dataset without one beside others
 * for a fault, or give it a dimension of another name. */
#include <string.h>

#include "inputs/file.h"

#define STEPS "residual_step"

/* netCDF-4's number of a dimension, which is its own in a file; a scale without one would get the number of
 * another.
 */
#define DIMENSION_NUMBER "_Netcdf4Dimid"

/* A value, or a list of one. */
static herr_t write_attribute(hid_t object, const char *name, bool list, hid_t type, const void *value) {
    const hsize_t one = 1;
    STENCIL_HANDLE space = list ? H5Screate_simple(1, &one, NULL) : H5Screate(H5S_SCALAR);
    return stencil_attribute_make(object, name, type, space, type, value);
}

static herr_t write_text(hid_t object, const char *name, const char *text) {
    STENCIL_HANDLE type = H5Tcopy(H5T_C_S1);
    return type < 0 || H5Tset_size(type, strlen(text) + 1) < 0
               ? -1
               : write_attribute(object, name, false, type, text);
}

/* The two halves of "HDF5 Dimension Scale Specification": what the scale is for, and what it is of. */
static herr_t attach(hid_t file, hid_t residual, hid_t scale) {
    struct {
        hobj_ref_t dataset;
        int dimension;
    } use = {0};
    hobj_ref_t reference = 0;
    hvl_t list = {1, &reference};
    STENCIL_HANDLE uses = H5Tcreate(H5T_COMPOUND, sizeof use), lists = H5Tvlen_create(H5T_STD_REF_OBJ);
    if (uses < 0 || lists < 0 || H5Rcreate(&use.dataset, file, "residual", H5R_OBJECT, -1) < 0 ||
        H5Rcreate(&reference, file, STEPS, H5R_OBJECT, -1) < 0 ||
        H5Tinsert(uses, "dataset", 0, H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(uses, "dimension", sizeof use.dataset, H5T_NATIVE_INT) < 0)
        return -1;
    const herr_t failed = write_attribute(scale, "REFERENCE_LIST", true, uses, &use);
    return failed < 0 ? failed : write_attribute(residual, "DIMENSION_LIST", true, lists, &list);
}

/* The largest number of a dimension in a file; -1: it has none. */
static herr_t find_number(hid_t file, const char *name, const H5L_info_t *info, void *largest) {
    int64_t number = -1;
    STENCIL_HANDLE object = info->type == H5L_TYPE_HARD ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    STENCIL_ITEM a = stencil_item_attribute(object, DIMENSION_NUMBER);
    if (a.count == 1 && stencil_item_is_number(&a) && H5Aread(a.id, H5T_NATIVE_INT64, &number) >= 0 &&
        number > *(int64_t *)largest)
        *(int64_t *)largest = number;
    return 0;
}

stencil_status stencil_history_attach(hid_t file, const char *path, const char *field) {
    STENCIL_HANDLE u = H5Dopen2(file, field, H5P_DEFAULT), residual = H5Dopen2(file, "residual", H5P_DEFAULT),
                   scale = H5Dopen2(file, STEPS, H5P_DEFAULT);
    int64_t largest = -1;
    if (u < 0 || H5Aexists(u, "DIMENSION_LIST") <= 0)
        return STENCIL_OK;
    H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, find_number, &largest);
    const int number = (int)largest + 1;
    CHECK(
        write_text(scale, "CLASS", "DIMENSION_SCALE") >= 0 && write_text(scale, "NAME", STEPS) >= 0 &&
            (largest < 0 || write_attribute(scale, DIMENSION_NUMBER, false, H5T_NATIVE_INT, &number) >= 0) &&
            attach(file, residual, scale) >= 0,
        IO, "cannot write '%s': the scale of /residual: %s", path, stencil_h5_reason());
    return STENCIL_OK;
}
