#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "inputs/axes.h"
#include "inputs/file.h"

/* Relative deviation from equidistance, as a part of the step, that still counts as even. */
#define EVEN 1e-3

/* NAME of a scale that netCDF-4 makes for a dimension without coordinates. */
static const char anonymous[] = "This is a netCDF dimension but not a netCDF variable";

static bool is_time_name(const char *name) {
    return strcasecmp(name, "time") == 0 || strcasecmp(name, "t") == 0;
}

/* Tells whether a dimension scale is one of time, by the conventions of CF ("Time Coordinate") or by its
 * name. */
static bool is_time(hid_t scale, const char *label) {
    char units[STENCIL_WORD_MAX], axis[STENCIL_WORD_MAX], standard[STENCIL_WORD_MAX];
    stencil_attribute_text(scale, "units", units, sizeof units);
    stencil_attribute_text(scale, "axis", axis, sizeof axis);
    stencil_attribute_text(scale, "standard_name", standard, sizeof standard);
    return is_time_name(label) || strstr(units, " since ") != NULL || strcmp(axis, "T") == 0 ||
           strcmp(standard, "time") == 0;
}

/* Returns the rounding error of stored coordinates. */
static double rounding_of(const stencil_dataset *d, const stencil_values *values, double largest) {
    if (values->packed)
        return fabs(values->scale);
    if (!d->floating)
        return 0;
    return largest * (d->element_bytes <= 2               ? 0x1p-11
                      : d->element_bytes <= sizeof(float) ? FLT_EPSILON
                                                          : DBL_EPSILON);
}

/* Compares values with equidistant values from the first to the last. False: the values are no coordinates.
 */
static bool measure(stencil_coordinates *c, const stencil_dataset *d, const stencil_values *values,
                    const double *value) {
    const int64_t n = d->is.count;
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, isfinite(value[i]) ? fabs(value[i]) : INFINITY);
    c->first = value[0];
    c->last = value[n - 1];
    c->rounding = rounding_of(d, values, largest);
    const double step = (c->last - c->first) / (double)(n - 1);
    c->step = fabs(step);
    c->even = true;
    if (!isfinite(largest) || c->step == 0)
        return false;
    for (int64_t i = n - 2; i > 0; i--)
        if (fabs(value[i] - (c->first + (double)i * step)) > 2 * c->rounding + EVEN * c->step) {
            c->even = false;
            c->uneven_at = i;
        }
    return true;
}

/* Reads coordinates from the list `name`, one number for each of n cells. */
static bool read_list(const stencil_h5_input *input, const char *name, int64_t n, stencil_coordinates *c) {
    STENCIL_DATASET d = {0};
    stencil_values values;
    void *memory = NULL;
    int64_t count = 0;
    const bool made = stencil_axes_made(input->file, stencil_path_last(name));
    if (made || !stencil_file_holds(input->file, name) ||
        stencil_dataset_open(&d, input->file, input->path, name, NULL) != STENCIL_OK || d.is.rank != 1 ||
        d.is.count != n || n < 2 || d.unwritten == n ||
        stencil_values_read(&values, d.id, input->path, name) != STENCIL_OK ||
        stencil_memory_alloc(&memory, n * (int64_t)sizeof(double), "coordinates") != STENCIL_OK)
        return false;
    double *value = memory;
    bool known = stencil_dataset_read(&d, 0, n, H5T_NATIVE_DOUBLE, value, &count) == STENCIL_OK && count == n;
    for (int64_t i = 0; i < n && known; i++)
        value[i] = stencil_values_unpack(&values, value[i]);
    known = known && measure(c, &d, &values, value);
    free(memory);
    return known;
}

/* Takes coordinates from an attached dimension scale, unless it has none. */
static void take_scale(const stencil_h5_input *input, hid_t scale, int64_t n, stencil_coordinates *c) {
    char name[PATH_MAX], own[STENCIL_WORD_MAX];
    if (scale < 0 || H5Iget_name(scale, name, sizeof name) <= 0)
        return;
    const char *last = stencil_path_last(name);
    if (c->label[0] == '\0')
        snprintf(c->label, sizeof c->label, "%.*s", STENCIL_WORD_MAX - 1, last);
    c->time = c->time || is_time(scale, last);
    stencil_attribute_text(scale, "NAME", own, sizeof own);
    if (strncmp(own, anonymous, sizeof anonymous - 1) == 0 || !read_list(input, name, n, c))
        return;
    snprintf(c->name, sizeof c->name, "%.*s", STENCIL_WORD_MAX - 1, name);
    c->attached = true;
}

static void read_scales(const stencil_h5_input *input, hid_t u, const stencil_spec *spec,
                        stencil_coordinates *axis) {
    STENCIL_ITEM a = stencil_item_attribute(u, "DIMENSION_LIST");
    STENCIL_HANDLE base = a.type_class == H5T_VLEN ? H5Tget_super(a.type) : -1;
    hvl_t list[STENCIL_AXES];
    if (base < 0 || H5Tequal(base, H5T_STD_REF_OBJ) <= 0 || a.count != spec->rank ||
        H5Aread(a.id, a.type, list) < 0)
        return;
    for (int i = 0; i < spec->rank; i++)
        for (size_t k = 0; k < list[i].len && axis[i].name[0] == '\0'; k++) {
            STENCIL_HANDLE scale =
                H5Rdereference2(u, H5P_DEFAULT, H5R_OBJECT, (const hobj_ref_t *)list[i].p + k);
            take_scale(input, scale, spec->extent[i], &axis[i]);
        }
    H5Dvlen_reclaim(a.type, a.space, H5P_DEFAULT, list);
}

/* Names the first scale of a list that has coordinates. */
static void name_first(hid_t dataset, const hvl_t *list, char name[STENCIL_WORD_MAX]) {
    for (size_t k = 0; k < list->len && name[0] == '\0'; k++) {
        char own[STENCIL_WORD_MAX], path[PATH_MAX];
        STENCIL_HANDLE scale =
            H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, (const hobj_ref_t *)list->p + k);
        if (scale < 0 || H5Iget_name(scale, path, sizeof path) <= 0)
            continue;
        stencil_attribute_text(scale, "NAME", own, sizeof own);
        if (strncmp(own, anonymous, sizeof anonymous - 1) != 0 && strlen(path) < STENCIL_WORD_MAX)
            memcpy(name, path, strlen(path) + 1);
    }
}

void stencil_scales_name(const stencil_h5_input *input, const stencil_dataset *dataset,
                         char name[STENCIL_SCALES_MAX][STENCIL_WORD_MAX]) {
    STENCIL_ITEM a = stencil_item_attribute(dataset->id, "DIMENSION_LIST");
    STENCIL_HANDLE base = a.type_class == H5T_VLEN ? H5Tget_super(a.type) : -1;
    hvl_t list[STENCIL_SCALES_MAX];
    if (!stencil_file_holds(input->file, dataset->name) || base < 0 || H5Tequal(base, H5T_STD_REF_OBJ) <= 0 ||
        a.count != dataset->is.rank || a.count > STENCIL_SCALES_MAX || H5Aread(a.id, a.type, list) < 0)
        return;
    for (int axis = 0; axis < dataset->is.rank; axis++)
        name_first(dataset->id, &list[axis], name[axis]);
    H5Dvlen_reclaim(a.type, a.space, H5P_DEFAULT, list);
}

/* Reads labels of axes, which can exist without dimension scales. */
static void read_labels(hid_t u, const stencil_spec *spec, stencil_coordinates *axis) {
    STENCIL_ITEM a = stencil_item_attribute(u, "DIMENSION_LABELS");
    char *text[STENCIL_AXES] = {NULL};
    if (a.count != spec->rank || H5Tis_variable_str(a.type) <= 0 || H5Aread(a.id, a.type, text) < 0)
        return;
    for (int i = 0; i < spec->rank; i++) {
        snprintf(axis[i].label, sizeof axis[i].label, "%.*s", STENCIL_WORD_MAX - 1,
                 text[i] != NULL ? text[i] : "");
        axis[i].time = is_time_name(axis[i].label);
    }
    H5Dvlen_reclaim(a.type, a.space, H5P_DEFAULT, text);
}

void stencil_coordinates_of(const stencil_h5_input *input, const char *name, const stencil_spec *spec,
                            stencil_coordinates axis[STENCIL_AXES]) {
    STENCIL_HANDLE dataset = H5Dopen2(input->file, name, H5P_DEFAULT);
    memset(axis, 0, STENCIL_AXES * sizeof *axis);
    if (dataset < 0)
        return;
    read_labels(dataset, spec, axis);
    if (stencil_file_holds(input->file, name))
        read_scales(input, dataset, spec, axis);
}

void stencil_coordinates_read(const stencil_h5_input *input, const stencil_spec *spec,
                              stencil_coordinates axis[STENCIL_AXES]) {
    static const char *const usual[STENCIL_AXES][2] = {{"/z", "/Z"}, {"/y", "/Y"}, {"/x", "/X"}};
    stencil_coordinates_of(input, input->facts.field, spec, axis);
    for (int i = 0; i < spec->rank; i++) {
        const char *const *names = usual[STENCIL_AXES - spec->rank + i];
        for (int k = 0; k < 2 && axis[i].name[0] == '\0'; k++) {
            bool taken = false; /* whether another axis has this list as a scale */
            for (int other = 0; other < spec->rank; other++)
                taken = taken || strcmp(axis[other].name, names[k]) == 0;
            if (!taken && read_list(input, names[k], spec->extent[i], &axis[i]))
                snprintf(axis[i].name, sizeof axis[i].name, "%s", names[k]);
        }
        if (axis[i].label[0] == '\0')
            snprintf(axis[i].label, sizeof axis[i].label, "%s", names[0] + 1);
    }
}
