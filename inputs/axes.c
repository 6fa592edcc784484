#include "inputs/axes.h"

#include <string.h>

#include "inputs/file.h"
#include "inputs/image.h"

static const char *const axis_names[STENCIL_AXES] = {"z", "y", "x"};

/* Attribute of coordinates that a run has made. A netCDF library that rewrites the file keeps it, but numbers
 * the dimensions. */
static const char mark[] = "made_by", mark_text[] = "stencil run", dimension_number[] = "_Netcdf4Dimid";

static bool is_marked(hid_t file, const char *name) {
    char text[sizeof mark_text + 1] = "";
    if (H5Lexists(file, name, H5P_DEFAULT) <= 0 || !stencil_file_holds(file, name))
        return false;
    STENCIL_HANDLE object = H5Oopen(file, name, H5P_DEFAULT);
    return object >= 0 && stencil_attribute_text(object, mark, text, sizeof text) &&
           strcmp(text, mark_text) == 0 && H5Aexists(object, dimension_number) <= 0;
}

bool stencil_axes_made(hid_t file, const char *name) {
    const bool coordinate =
        strcmp(name, "time") == 0 || (strlen(name) == 1 && strchr("xyz", name[0]) != NULL);
    return coordinate && is_marked(file, name) && is_marked(file, "x");
}

herr_t stencil_axes_describe(hid_t scale, const char *name, const char *long_name) {
    return stencil_text_write(scale, "CLASS", "DIMENSION_SCALE") < 0 ||
                   stencil_text_write(scale, "NAME", name) < 0 ||
                   stencil_text_write(scale, "units", "1") < 0 ||
                   (long_name != NULL && stencil_text_write(scale, "long_name", long_name) < 0)
               ? -1
               : 0;
}

herr_t stencil_axes_list(hid_t file, hid_t dataset, int rank, const char *const scale[]) {
    hvl_t list[STENCIL_AXES + 1];
    hobj_ref_t reference[STENCIL_AXES + 1];
    STENCIL_HANDLE type = H5Tvlen_create(H5T_STD_REF_OBJ);
    for (int i = 0; i < rank; i++) {
        if (H5Rcreate(&reference[i], file, scale[i], H5R_OBJECT, -1) < 0)
            return -1;
        list[i] = (hvl_t){1, &reference[i]};
    }
    return stencil_numbers_write(dataset, "DIMENSION_LIST", type, type, rank, list);
}

herr_t stencil_axes_fill(hid_t list, const stencil_problem *problem, int axis, int64_t first, int64_t n,
                         int64_t stride) {
    enum { SOME = 512 };
    double value[SOME];
    STENCIL_HANDLE there = H5Dget_space(list);
    for (int64_t i = 0; i < n; i += SOME) {
        const hsize_t at = (hsize_t)i, count = (hsize_t)stencil_smaller(SOME, n - i);
        for (int64_t k = 0; k < (int64_t)count; k++)
            value[k] = stencil_image_coordinate(problem, axis, first + (i + k) * stride);
        STENCIL_HANDLE here = H5Screate_simple(1, &count, NULL);
        if (here < 0 || H5Sselect_hyperslab(there, H5S_SELECT_SET, &at, NULL, &count, NULL) < 0 ||
            H5Dwrite(list, H5T_NATIVE_DOUBLE, here, there, H5P_DEFAULT, value) < 0)
            return -1;
    }
    return 0;
}

int64_t stencil_axes_bytes(const stencil_problem *problem) {
    int64_t count = 1;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        count += problem->extent[axis];
    return count * (int64_t)sizeof(double);
}

/* Tells whether a file has an object with the name of an axis. */
static bool is_taken(hid_t file, const stencil_problem *problem) {
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        if (H5Lexists(file, axis_names[axis], H5P_DEFAULT) != 0)
            return true;
    return false;
}

static herr_t create_axis(hid_t file, const stencil_problem *problem, int axis) {
    const int64_t n = problem->extent[axis];
    STENCIL_HANDLE list = stencil_h5_create(file, axis_names[axis], 1, &n, H5T_IEEE_F64LE, 0);
    return list < 0 || stencil_axes_describe(list, axis_names[axis], NULL) < 0 ||
                   stencil_text_write(list, mark, mark_text) < 0
               ? -1
               : stencil_axes_fill(list, problem, axis, 0, n, 1);
}

static herr_t create_time(hid_t file, const stencil_problem *problem) {
    STENCIL_HANDLE space = H5Screate(H5S_SCALAR);
    STENCIL_HANDLE time =
        H5Dcreate2(file, "time", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return time < 0 || stencil_text_write(time, "units", "1") < 0 ||
                   stencil_text_write(time, mark, mark_text) < 0 ||
                   stencil_text_write(time, "long_name", stencil_image_time_name(problem)) < 0
               ? -1
               : 0;
}

stencil_status stencil_axes_create(hid_t file, const char *path, const stencil_problem *problem) {
    if (is_taken(file, problem))
        return STENCIL_OK;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        TRY(stencil_h5_check_written(create_axis(file, problem, axis) >= 0, path, axis_names[axis]));
    if (H5Lexists(file, "time", H5P_DEFAULT) == 0)
        TRY(stencil_h5_check_written(create_time(file, problem) >= 0, path, "time"));
    return STENCIL_OK;
}

/* Attaches the scales to a dataset with the field's axes; nothing to do where it has others. */
static herr_t attach(hid_t file, const char *name, const stencil_problem *problem, bool anew) {
    STENCIL_HANDLE dataset = H5Lexists(file, name, H5P_DEFAULT) > 0 && stencil_file_holds(file, name)
                                 ? H5Dopen2(file, name, H5P_DEFAULT)
                                 : -1;
    STENCIL_HANDLE space = dataset < 0 ? -1 : H5Dget_space(dataset);
    const bool listed = dataset >= 0 && H5Aexists(dataset, "DIMENSION_LIST") > 0;
    if (space < 0 || H5Sget_simple_extent_ndims(space) != problem->rank || (listed && !anew))
        return 0;
    if (listed && H5Adelete(dataset, "DIMENSION_LIST") < 0)
        return -1;
    return stencil_axes_list(file, dataset, problem->rank, axis_names + STENCIL_AXES - problem->rank);
}

stencil_status stencil_axes_attach(hid_t file, const char *path, const stencil_problem *problem, bool anew) {
    const char *field = stencil_spec_field(&problem->spec),
               *source = stencil_source_names[problem->spec.source];
    if (!is_marked(file, "x"))
        return STENCIL_OK;
    STENCIL_HANDLE u = H5Dopen2(file, field, H5P_DEFAULT);
    const bool names_time = is_marked(file, "time") && H5Aexists(u, "coordinates") == 0;
    return stencil_h5_check_written(attach(file, field, problem, anew) >= 0 &&
                                        (source == NULL || attach(file, source, problem, anew) >= 0) &&
                                        (!names_time || stencil_text_write(u, "coordinates", "time") >= 0),
                                    path, "coordinates");
}

stencil_status stencil_axes_write_time(hid_t file, const char *path, double time) {
    if (!is_marked(file, "time"))
        return STENCIL_OK;
    STENCIL_HANDLE dataset = H5Dopen2(file, "time", H5P_DEFAULT);
    return stencil_h5_check_written(
        dataset >= 0 && H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &time) >= 0, path,
        "time");
}
