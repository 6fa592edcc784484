#include "inputs/image.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "inputs/h5.h"

herr_t stencil_numbers_write(hid_t object, const char *name, hid_t type, hid_t memory, int count,
                             const void *values) {
    const hsize_t size = (hsize_t)count;
    STENCIL_HANDLE space = count > 0 ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_SCALAR);
    return stencil_attribute_make(object, name, type, space, memory, values);
}

herr_t stencil_text_write(hid_t object, const char *name, const char *text) {
    STENCIL_HANDLE type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    if (type < 0 || H5Tset_size(type, strlen(text) + 1) < 0)
        return -1;
    return stencil_attribute_make(object, name, type, space, type, text);
}

/* Tells whether the second and the third axis of an image are z and y. */
static bool is_turned(const int64_t n[3]) {
    return n[STENCIL_Y] == 1 && n[STENCIL_Z] > 1;
}

int stencil_image_axes(const int64_t n[3], int axis[3]) {
    const int second = is_turned(n) ? STENCIL_Z : STENCIL_Y, third = STENCIL_Z + STENCIL_Y - second;
    int count = 0;
    if (n[third] > 1)
        axis[count++] = third;
    if (n[second] > 1)
        axis[count++] = second;
    axis[count++] = STENCIL_X;
    return count;
}

/* Writes the kind of the image as a text without an end: to VTK 9.3 a 0 behind it is part of its name. */
static herr_t write_type(hid_t image) {
    static const char name[] = "ImageData";
    STENCIL_HANDLE type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    return type < 0 || H5Tset_size(type, sizeof name - 1) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0
               ? -1
               : stencil_attribute_make(image, "Type", type, space, type, name);
}

static hid_t open_group(hid_t in, const char *name) {
    return H5Lexists(in, name, H5P_DEFAULT) > 0 ? H5Gopen2(in, name, H5P_DEFAULT)
                                                : H5Gcreate2(in, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

herr_t stencil_image_write(hid_t file, const stencil_problem *problem, const char *field,
                           const int64_t first[3], const int64_t n[3], const int64_t stride[3]) {
    const int64_t version[2] = {2, 0};
    int64_t extent[6];
    double origin[3], spacing[3];
    static const double plain[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, turned[9] = {1, 0, 0, 0, 0, -1, 0, 1, 0};
    const double *direction = is_turned(n) ? turned : plain; /* rows x, y, z; a column for each axis */
    for (int i = 0; i < 3; i++) {                            /* x first */
        const int axis = STENCIL_X - i, at = is_turned(n) && i > 0 ? 3 - i : i;
        const bool has = axis >= STENCIL_AXES - problem->rank;
        const double h = has ? stencil_spec_spacing(&problem->spec, axis) : 1.0;
        extent[2 * at] = 0;
        extent[2 * at + 1] = n[axis] - 1;
        origin[i] = has ? stencil_image_coordinate(problem, axis, first[axis]) : 0.0;
        spacing[at] = h * (double)stride[axis];
    }
    STENCIL_HANDLE image = open_group(file, "VTKHDF"), data = image < 0 ? -1 : open_group(image, "PointData");
    return data < 0 ||
                   (field != NULL && H5Lcreate_soft(field, data, field + 1, H5P_DEFAULT, H5P_DEFAULT) < 0) ||
                   stencil_numbers_write(image, "Version", H5T_STD_I64LE, H5T_NATIVE_INT64, 2, version) < 0 ||
                   write_type(image) < 0 ||
                   stencil_numbers_write(image, "WholeExtent", H5T_STD_I64LE, H5T_NATIVE_INT64, 6, extent) <
                       0 ||
                   stencil_numbers_write(image, "Origin", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, origin) < 0 ||
                   stencil_numbers_write(image, "Spacing", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, spacing) <
                       0 ||
                   stencil_numbers_write(image, "Direction", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 9,
                                         direction) < 0
               ? -1
               : 0;
}

double stencil_image_coordinate(const stencil_problem *problem, int axis, int64_t cell) {
    const bool both_fixed =
        problem->wall[axis][0] == STENCIL_WALL_FIXED && problem->wall[axis][1] == STENCIL_WALL_FIXED;
    const double h = stencil_spec_spacing(&problem->spec, axis),
                 wall = problem->boundary[axis] == STENCIL_MIRROR && !both_fixed ? 0.5 : 0.0;
    return h * ((double)cell + wall);
}

double stencil_image_time(const stencil_problem *problem, int64_t steps) {
    const double time = stencil_problem_time(problem, steps);
    return isnan(time) ? (double)steps : time;
}

const char *stencil_image_time_name(const stencil_problem *problem) {
    return problem->spec.kind == STENCIL_KIND_HEAT ? "physical time" : "number of steps";
}
