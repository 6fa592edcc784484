#include "inputs/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "inputs/h5.h"

/* State of reading an attribute of a dataset. */
typedef struct opened {
    stencil_values *values;
    const stencil_item *item, *dataset;
    const char *path, *dataset_name;
    const struct row *is;
} opened;

/* An attribute of the netCDF and CF conventions. `place` is 0 for scale factors, _FillValue and lower limits,
 * 1 for their counterparts. */
typedef struct row {
    const char *name;
    stencil_status (*read)(const opened *a);
    int place, count; /* count: number of limits */
} row;

static stencil_status refuse(const opened *a, const char *wanted) {
    FAIL(BAD_DATA, "'%s': attribute '%s' of %s is none of netCDF's: give %s, or remove it", a->path,
         a->is->name, a->dataset_name, wanted);
}

/* Reads up to `most` numbers of an attribute. Errors: BAD_DATA where it has more, or values other than
 * numbers. */
static stencil_status read_numbers(const opened *a, int most, const char *wanted, double *number) {
    const stencil_item *item = a->item;
    if (!stencil_item_is_number(item) || item->count < 0 || item->count > most ||
        H5Aread(item->id, H5T_NATIVE_DOUBLE, number) < 0)
        return refuse(a, wanted);
    return STENCIL_OK;
}

/* Reads scale_factor or add_offset, and the precision of unpacked values that its type implies. */
static stencil_status read_factor(const opened *a) {
    stencil_values *v = a->values;
    const bool scale = a->is->place == 0;
    double *factor = scale ? &v->scale : &v->offset;
    TRY(read_numbers(a, 1, "one number", factor));
    if (!isfinite(*factor) || (scale && *factor == 0))
        return refuse(a, scale ? "one finite number other than 0" : "one finite number");
    const hid_t stored = a->dataset->type;
    const bool is_single = a->item->type_class == H5T_FLOAT && H5Tget_size(a->item->type) <= sizeof(float) &&
                           (a->dataset->type_class == H5T_INTEGER || H5Tget_size(stored) <= sizeof(float));
    if (!is_single)
        v->precision = STENCIL_FLOAT64;
    v->packed = true;
    return STENCIL_OK;
}

/* Converts a number to the dataset's type, with rounding. False where that type cannot hold it. */
static bool as_stored(const stencil_item *dataset, double *number) {
    const hid_t type = dataset->type;
    union {
        double number;
        char room[64];
    } value = {*number};
    if (type < 0 || H5Tget_size(type) > sizeof value ||
        (dataset->type_class == H5T_INTEGER && !(fabs(*number) <= 0x1p64 && *number == floor(*number))) ||
        H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, &value, NULL, H5P_DEFAULT) < 0 ||
        H5Tconvert(type, H5T_NATIVE_DOUBLE, 1, &value, NULL, H5P_DEFAULT) < 0)
        return false;
    const bool same = dataset->type_class == H5T_FLOAT || value.number == *number;
    *number = value.number;
    return same;
}

/* Refuses text that spells a number: netCDF does not read it as one either, but it is meant as one. */
static stencil_status refuse_text(const opened *a) {
    char text[64] = "", *end = text;
    if (a->item->type_class != H5T_STRING ||
        !stencil_attribute_text(a->dataset->id, a->is->name, text, sizeof text))
        return STENCIL_OK;
    strtod(text, &end);
    return end != text && *end == '\0' ? refuse(a, "a number, which this text is not") : STENCIL_OK;
}

/* Reads markers of missing values; text that is no number, and numbers that the dataset's type cannot hold,
 * mark nothing. */
static stencil_status read_markers(const opened *a) {
    stencil_values *v = a->values;
    double *marker = v->marker + v->marker_count;
    const int room = STENCIL_MARKERS_MAX - v->marker_count;
    if (!stencil_item_is_number(a->item))
        return refuse_text(a);
    TRY(read_numbers(a, room, "up to 8 numbers", marker));
    for (int i = 0; i < a->item->count; i++) {
        double number = marker[i];
        if (!as_stored(a->dataset, &number))
            continue;
        v->marker[v->marker_count++] = number;
        v->has_nan = v->has_nan || isnan(number);
    }
    if (a->is->place == 0)
        v->filled = v->marker_count;
    return STENCIL_OK;
}

/* Tells whether HDF5's fill value marks cells without a value: netCDF's default fill values for integers,
 * numbers of three or more nines (-999), and magnitudes from 1e30 on. */
static bool is_marker(double fill, H5T_class_t type_class) {
    const double netcdf[] = {-2147483647.0, -32767.0, -9223372036854775806.0};
    char digits[32];
    for (size_t i = 0; i < sizeof netcdf / sizeof *netcdf && type_class == H5T_INTEGER; i++)
        if (fill == netcdf[i])
            return true;
    snprintf(digits, sizeof digits, "%.12g", fabs(fill));
    return fabs(fill) >= 1e30 || (strlen(digits) >= 3 && strspn(digits, "9.") == strlen(digits));
}

/* Takes the dataset's HDF5 fill value as a marker, where the file's author set one and no attribute has the
 * same. */
static void take_fill(stencil_values *v, const stencil_item *dataset) {
    STENCIL_HANDLE create = H5Dget_create_plist(dataset->id);
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    double fill = 0;
    if (create < 0 || v->marker_count == STENCIL_MARKERS_MAX || H5Pfill_value_defined(create, &defined) < 0 ||
        defined != H5D_FILL_VALUE_USER_DEFINED || H5Pget_fill_value(create, H5T_NATIVE_DOUBLE, &fill) < 0 ||
        !is_marker(fill, dataset->type_class))
        return;
    for (int i = 0; i < v->marker_count; i++)
        if (v->marker[i] == fill)
            return;
    v->marker[v->marker_count++] = fill;
    v->by_default = true;
}

/* Tolerance of limits that are converted to packed integers. */
#define ROUNDING 1e-6

/* Reads valid limits. Limits of packed data are packed numbers, unless they have the wider type of unpacked
 * values (netCDF User's Guide). */
static stencil_status read_limits(const opened *a) {
    stencil_values *v = a->values;
    const int count = a->is->count;
    double limit[2] = {-INFINITY, INFINITY};
    if (!stencil_item_is_number(a->item))
        return STENCIL_OK;
    if (a->item->count != count)
        return refuse(a, count == 1 ? "one number" : "two numbers");
    TRY(read_numbers(a, count, "numbers", limit + a->is->place));
    if (v->packed && a->item->type_class == H5T_FLOAT && a->dataset->type_class == H5T_INTEGER) {
        const int low = v->scale < 0;
        const double one = (limit[low] - v->offset) / v->scale,
                     other = (limit[1 - low] - v->offset) / v->scale;
        limit[0] = one - ROUNDING;
        limit[1] = other + ROUNDING;
    }
    v->least = fmax(v->least, limit[0]);
    v->most = fmin(v->most, limit[1]);
    return STENCIL_OK;
}

/* Refuses signed integers that the attribute _Unsigned declares to be unsigned. */
static stencil_status check_sign(const opened *a) {
    CHECK(a->dataset->type_class != H5T_INTEGER || H5Tget_sign(a->dataset->type) == H5T_SGN_NONE, BAD_DATA,
          "'%s': attribute '_Unsigned' of %s means other numbers than those that are stored: give an "
          "unsigned type",
          a->path, a->dataset_name);
    return STENCIL_OK;
}

static const row rows[] = {
    {"_Unsigned", check_sign, 0, 0},       {"scale_factor", read_factor, 0, 0},
    {"add_offset", read_factor, 1, 0},     {"_FillValue", read_markers, 0, 0},
    {"missing_value", read_markers, 1, 0}, {"valid_range", read_limits, 0, 2},
    {"valid_min", read_limits, 0, 1},      {"valid_max", read_limits, 1, 1},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

stencil_status stencil_values_read(stencil_values *values, hid_t dataset, const char *path,
                                   const char *name) {
    STENCIL_ITEM d = stencil_item_of(dataset);
    *values =
        (stencil_values){.scale = 1, .least = -INFINITY, .most = INFINITY, .precision = STENCIL_FLOAT32};
    for (const row *r = rows; r < rows + ROW_COUNT; r++) {
        STENCIL_ITEM item = stencil_item_attribute(dataset, r->name);
        if (item.count != 0)
            TRY(r->read(&(opened){values, &item, &d, path, name, r}));
    }
    take_fill(values, &d);
    return STENCIL_OK;
}

/* Rewrites an attribute of numbers in another type. */
static herr_t rewrite(const stencil_values *values, hid_t dataset, const char *name, const stencil_item *old,
                      hid_t file_type) {
    double number[STENCIL_MARKERS_MAX];
    if (old->count < 0 || old->count > STENCIL_MARKERS_MAX ||
        H5Aread(old->id, H5T_NATIVE_DOUBLE, number) < 0 || H5Adelete(dataset, name) < 0)
        return -1;
    for (hssize_t i = 0; i < old->count; i++)
        number[i] = stencil_values_unpack(values, number[i]);
    return stencil_attribute_make(dataset, name, file_type, old->space, H5T_NATIVE_DOUBLE, number);
}

stencil_status stencil_values_write(const stencil_values *values, hid_t dataset, stencil_precision precision,
                                    const char *path, const char *name) {
    const hid_t file_type = stencil_h5_type(precision, true);
    for (const row *r = rows; r < rows + ROW_COUNT; r++) {
        STENCIL_ITEM a = stencil_item_attribute(dataset, r->name);
        herr_t failed = 0;
        if (!stencil_item_is_number(&a) || r->read == check_sign)
            continue;
        if (values->packed && r->read != read_markers)
            failed = H5Adelete(dataset, r->name);
        else if (values->packed || H5Tequal(a.type, file_type) <= 0)
            failed = rewrite(values, dataset, r->name, &a, file_type);
        CHECK(failed >= 0, IO, "cannot write '%s': attribute '%s' of %s: %s", path, r->name, name,
              stencil_h5_reason());
    }
    return STENCIL_OK;
}
