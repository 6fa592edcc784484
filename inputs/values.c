#include "inputs/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "inputs/h5.h"

/* An attribute while it is being read. */
typedef struct opened {
    const char *path, *dataset, *name;
    hid_t id, type;
    H5T_class_t type_class;
    int count; /* of values; 0: there is none */
} opened;

static opened open_attribute(hid_t dataset, const char *path, const char *dataset_name, const char *name) {
    opened a = {.path = path, .dataset = dataset_name, .name = name, .type_class = H5T_NO_CLASS};
    if (H5Aexists(dataset, name) <= 0)
        return a;
    a.id = H5Aopen(dataset, name, H5P_DEFAULT);
    a.type = a.id < 0 ? -1 : H5Aget_type(a.id);
    a.type_class = a.type < 0 ? H5T_NO_CLASS : H5Tget_class(a.type);
    STENCIL_HANDLE space = a.id < 0 ? -1 : H5Aget_space(a.id);
    const hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    a.count = count < 0 || count > INT32_MAX ? -1 : (int)count;
    return a;
}

static void close_attribute(const opened *a) {
    stencil_handle_close(&a->type);
    stencil_handle_close(&a->id);
}
#define OPENED __attribute__((cleanup(close_attribute))) const opened

static bool is_number(const opened *a) {
    return a->count != 0 && a->type >= 0 && stencil_h5_is_number(a->type);
}

static stencil_status refuse(const opened *a, const char *wanted) {
    FAIL(BAD_DATA, "'%s': attribute '%s' of %s is none of netCDF's: give %s, or remove it", a->path, a->name,
         a->dataset, wanted);
}

/* Reads `most` numbers at most; BAD_DATA where there are more, or other than numbers. */
static stencil_status read_numbers(const opened *a, int most, const char *wanted, double *number) {
    if (!is_number(a) || a->count < 0 || a->count > most || H5Aread(a->id, H5T_NATIVE_DOUBLE, number) < 0)
        return refuse(a, wanted);
    return STENCIL_OK;
}

/* scale_factor or add_offset, of numbers of that type, and how wide the type of what they make is. */
static stencil_status read_factor(stencil_values *v, hid_t dataset, const opened *a, double *factor) {
    if (a->count == 0)
        return STENCIL_OK;
    TRY(read_numbers(a, 1, "one number", factor));
    const bool scale = factor == &v->scale;
    if (!isfinite(*factor) || (scale && *factor == 0))
        return refuse(a, scale ? "one finite number other than 0" : "one finite number");
    STENCIL_HANDLE stored = H5Dget_type(dataset);
    const bool is_single = a->type_class == H5T_FLOAT && H5Tget_size(a->type) <= sizeof(float) &&
                           (H5Tget_class(stored) == H5T_INTEGER || H5Tget_size(stored) <= sizeof(float));
    if (!is_single)
        v->precision = STENCIL_FLOAT64;
    v->packed = true;
    return STENCIL_OK;
}

/* The number as the dataset stores it: one of a wider type is rounded. False where it cannot. */
static bool as_stored(hid_t dataset, double *number) {
    STENCIL_HANDLE type = H5Dget_type(dataset);
    union {
        double number;
        char room[64];
    } value = {*number};
    if (type < 0 || H5Tget_size(type) > sizeof value ||
        (H5Tget_class(type) == H5T_INTEGER && !(fabs(*number) <= 0x1p64 && *number == floor(*number))) ||
        H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, &value, NULL, H5P_DEFAULT) < 0 ||
        H5Tconvert(type, H5T_NATIVE_DOUBLE, 1, &value, NULL, H5P_DEFAULT) < 0)
        return false;
    const bool same = H5Tget_class(type) == H5T_FLOAT || value.number == *number;
    *number = value.number;
    return same;
}

/* Text that is a number is none to netCDF either, but meant as one. */
static stencil_status refuse_text(const opened *a, hid_t dataset) {
    char text[64] = "", *end = text;
    const stencil_attribute is = {.name = a->name, .type = STENCIL_ATTRIBUTE_TEXT, .chars = sizeof text};
    int count = 0;
    if (a->type_class != H5T_STRING ||
        stencil_attribute_read(dataset, a->path, &is, text, &count) != STENCIL_OK || count != 1)
        return STENCIL_OK;
    strtod(text, &end);
    return end != text && *end == '\0' ? refuse(a, "a number, which this text is not") : STENCIL_OK;
}

/* Text that is no number, or a number that cannot be stored there, marks nothing. */
static stencil_status read_markers(stencil_values *v, hid_t dataset, const opened *a) {
    double *marker = v->marker + v->marker_count;
    const int room = STENCIL_MARKERS_MAX - v->marker_count;
    if (!is_number(a))
        return refuse_text(a, dataset);
    TRY(read_numbers(a, room, "up to 8 numbers", marker));
    for (int i = 0; i < a->count; i++) {
        double number = marker[i];
        if (!as_stored(dataset, &number))
            continue;
        v->marker[v->marker_count++] = number;
        v->has_nan = v->has_nan || isnan(number);
    }
    return STENCIL_OK;
}

/* Tells whether a fill value marks cells without a value: netCDF's of its types of numbers, -999 and its
 * like, and what is beyond any value. */
static bool is_marker(double fill, H5T_class_t type_class) {
    const double netcdf[] = {-2147483647.0, -32767.0, -9223372036854775806.0};
    char digits[32];
    for (size_t i = 0; i < sizeof netcdf / sizeof *netcdf && type_class == H5T_INTEGER; i++)
        if (fill == netcdf[i])
            return true;
    snprintf(digits, sizeof digits, "%.12g", fabs(fill));
    return fabs(fill) >= 1e30 || (strlen(digits) >= 3 && strspn(digits, "9.") == strlen(digits));
}

/* HDF5's own fill value, where somebody gave one and no attribute does. */
static void read_fill(stencil_values *v, hid_t dataset) {
    STENCIL_HANDLE create = H5Dget_create_plist(dataset), type = H5Dget_type(dataset);
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    double fill = 0;
    if (create < 0 || type < 0 || v->marker_count == STENCIL_MARKERS_MAX ||
        H5Pfill_value_defined(create, &defined) < 0 || defined != H5D_FILL_VALUE_USER_DEFINED ||
        H5Pget_fill_value(create, H5T_NATIVE_DOUBLE, &fill) < 0 || !is_marker(fill, H5Tget_class(type)))
        return;
    for (int i = 0; i < v->marker_count; i++)
        if (v->marker[i] == fill)
            return;
    v->marker[v->marker_count++] = fill;
    v->by_default = true;
}

/* Unpacked limits meet whole stored numbers but for so much. */
#define ROUNDING 1e-6

/* Limits of packed numbers are packed; those of the type of the values, which is wider, are not (User's
 * Guide). `first`: 0 for a lower limit, 1 for an upper one; count 2: both. */
static stencil_status read_limits(stencil_values *v, hid_t dataset, const opened *a, int first, int count) {
    double limit[2] = {-INFINITY, INFINITY};
    if (!is_number(a))
        return STENCIL_OK;
    if (a->count != count)
        return refuse(a, count == 1 ? "one number" : "two numbers");
    TRY(read_numbers(a, count, "numbers", limit + first));
    STENCIL_HANDLE stored = H5Dget_type(dataset);
    if (v->packed && a->type_class == H5T_FLOAT && H5Tget_class(stored) == H5T_INTEGER) {
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

/* Numbers of a signed type that are meant as those of an unsigned one. */
static stencil_status check_sign(hid_t dataset, const char *path, const char *name) {
    OPENED a = open_attribute(dataset, path, name, "_Unsigned");
    STENCIL_HANDLE stored = H5Dget_type(dataset);
    CHECK(
        a.count == 0 || H5Tget_class(stored) != H5T_INTEGER || H5Tget_sign(stored) == H5T_SGN_NONE, BAD_DATA,
        "'%s': attribute '_Unsigned' of %s means other numbers than those that are stored: give an unsigned "
        "type",
        path, name);
    return STENCIL_OK;
}

stencil_status stencil_values_read(stencil_values *values, hid_t dataset, const char *path,
                                   const char *name) {
    stencil_values *v = values;
    *v = (stencil_values){.scale = 1, .least = -INFINITY, .most = INFINITY, .precision = STENCIL_FLOAT32};
    OPENED scale = open_attribute(dataset, path, name, "scale_factor"),
           offset = open_attribute(dataset, path, name, "add_offset"),
           fill = open_attribute(dataset, path, name, "_FillValue"),
           missing = open_attribute(dataset, path, name, "missing_value"),
           range = open_attribute(dataset, path, name, "valid_range"),
           least = open_attribute(dataset, path, name, "valid_min"),
           most = open_attribute(dataset, path, name, "valid_max");
    TRY(check_sign(dataset, path, name));
    TRY(read_factor(v, dataset, &scale, &v->scale));
    TRY(read_factor(v, dataset, &offset, &v->offset));
    TRY(read_markers(v, dataset, &fill));
    v->filled = v->marker_count;
    TRY(read_markers(v, dataset, &missing));
    read_fill(v, dataset);
    TRY(read_limits(v, dataset, &range, 0, 2));
    TRY(read_limits(v, dataset, &least, 0, 1));
    return read_limits(v, dataset, &most, 1, 1);
}

void stencil_values_note(const stencil_values *values, const char *name, const char *result,
                         stencil_notes *notes) {
    if (values->packed)
        stencil_notes_warn(
            notes,
            "%s is packed: its values are the stored numbers times scale_factor %g plus add_offset "
            "%g; %s",
            name, values->scale, values->offset, result);
}

/* Tells whether a point reads a cell of an axis from some updated one. */
static bool axis_shows(const stencil_problem *problem, int axis, int64_t cell, int64_t offset) {
    const int64_t n = problem->n[axis], from = cell - offset, low = -1 - cell - offset, high = low + 2 * n;
    const bool inside = from >= 0 && from < n;
    switch (problem->boundary[axis]) {
    case STENCIL_PERIODIC:
        return true;
    case STENCIL_MIRROR: /* cell -1 - k is cell k, cell n + k is cell n - 1 - k */
        return inside || (low >= 0 && low < n) || (high >= 0 && high < n);
    default:
        return inside;
    }
}

bool stencil_values_used(const stencil_problem *problem, const int64_t cell[3], bool finite) {
    int32_t offset[STENCIL_POINTS_MAX][3];
    bool used = true;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        used = used && cell[axis] >= 0 && cell[axis] < problem->n[axis];
    const int count = used ? 0 : stencil_shape_offsets(problem->shape, offset);
    for (int k = 0; k < count && !used; k++) {
        used = !finite || problem->weight[k] != 0;
        for (int axis = 0; axis < STENCIL_AXES && used; axis++)
            used = axis_shows(problem, axis, cell[axis], offset[k][axis]);
    }
    return used;
}

enum { MISSING, LIMITED, FAULTS };

/* Cells that are at fault, and the first of them. */
typedef struct finding {
    const stencil_values_check *check;
    int64_t count[FAULTS], at[FAULTS][3];
    double stored[FAULTS];
} finding;

static int marker_of(const stencil_values *values, double stored, bool allow_nan) {
    for (int i = 0; i < values->marker_count; i++)
        if (stored == values->marker[i] || (!allow_nan && isnan(stored) && isnan(values->marker[i])))
            return i;
    return -1;
}

static void judge_cell(finding *f, const int64_t cell[3], double stored) {
    const stencil_values *values = f->check->values;
    const bool missing = marker_of(values, stored, f->check->allow_nan) >= 0;
    const int fault = missing ? MISSING : LIMITED;
    if ((!missing && !(stored < values->least || stored > values->most)) ||
        !stencil_values_used(f->check->problem, cell, isfinite(stored)))
        return;
    if (f->count[fault]++ > 0)
        return;
    f->stored[fault] = stored;
    memcpy(f->at[fault], cell, sizeof f->at[fault]);
}

static stencil_status judge_slab(void *context, const stencil_box *slab, const stencil_cells *cells) {
    finding *f = context;
    const int64_t *n = slab->n;
    const double *stored = cells->at;
    int64_t cell[3], i = 0;
    for (cell[STENCIL_Z] = slab->first[STENCIL_Z]; cell[STENCIL_Z] < slab->first[STENCIL_Z] + n[STENCIL_Z];
         cell[STENCIL_Z]++)
        for (cell[STENCIL_Y] = slab->first[STENCIL_Y];
             cell[STENCIL_Y] < slab->first[STENCIL_Y] + n[STENCIL_Y]; cell[STENCIL_Y]++)
            for (cell[STENCIL_X] = slab->first[STENCIL_X];
                 cell[STENCIL_X] < slab->first[STENCIL_X] + n[STENCIL_X]; cell[STENCIL_X]++)
                judge_cell(f, cell, stored[i++]);
    return STENCIL_OK;
}

/* "12 cells of /u are missing (_FillValue -999), the first one is /u[3][4]: …". */
static stencil_status tell(const finding *f, int fault) {
    const stencil_values_check *c = f->check;
    const stencil_values *values = c->values;
    const int skip = STENCIL_AXES - c->problem->rank;
    const bool one = f->count[fault] == 1;
    char index[80] = "";
    for (int axis = skip; axis < STENCIL_AXES; axis++)
        stencil_text_add(index, sizeof index, "[%" PRId64 "]", f->at[fault][axis] - c->problem->first[axis]);
    const int marker = fault == MISSING ? marker_of(values, f->stored[fault], false) : 0;
    CHECK(fault != MISSING || !values->by_default || marker < values->marker_count - 1, BAD_DATA,
          "'%s': %" PRId64
          " cell%s of %s %s no value (the fill value of the dataset, %g), the first one %s%s: give "
          "%s one, or write the array as a dataset without that fill value",
          c->path, f->count[fault], one ? "" : "s", c->name, one ? "has" : "have", f->stored[fault], c->name,
          index, one ? "it" : "each");
    CHECK(fault != MISSING, BAD_DATA,
          "'%s': %" PRId64
          " cell%s of %s %s no value (%s %g), the first one %s%s: give %s one, or remove that "
          "attribute%s",
          c->path, f->count[fault], one ? "" : "s", c->name, one ? "has" : "have",
          marker < values->filled ? "_FillValue" : "missing_value", f->stored[fault], c->name, index,
          one ? "it" : "each", isnan(f->stored[fault]) ? " and use --allow-nonfinite" : "");
    FAIL(BAD_DATA,
         "'%s': %" PRId64
         " cell%s of %s %s outside of the valid range from %g to %g%s, the first one %s%s is "
         "%g: mend %s, or remove the attributes valid_range, valid_min and valid_max",
         c->path, f->count[fault], one ? "" : "s", c->name, one ? "is" : "are", values->least, values->most,
         values->packed ? " (packed)" : "", c->name, index, f->stored[fault], one ? "it" : "them");
}

stencil_status stencil_values_check_all(const stencil_values_check *check, const stencil_reader *stored,
                                        stencil_array array) {
    const stencil_mesh mesh = stencil_problem_mesh(check->problem, 1);
    const stencil_box whole = array == STENCIL_ARRAY_U
                                  ? stencil_mesh_array(&mesh)
                                  : (stencil_box){.n = {mesh.n[0], mesh.n[1], mesh.n[2]}};
    const stencil_slabs slabs = {.from = stored, .mesh = &mesh, .array = array, .cell_bytes = sizeof(double)};
    finding f = {.check = check};
    TRY(stencil_slabs_visit(&slabs, &whole, judge_slab, &f));
    for (int fault = 0; fault < FAULTS; fault++)
        if (f.count[fault] > 0)
            return tell(&f, fault);
    return STENCIL_OK;
}

/* Writes an attribute of numbers anew, in another type. */
static herr_t rewrite(const stencil_values *values, hid_t dataset, const char *name, hid_t file_type) {
    STENCIL_HANDLE old = H5Aopen(dataset, name, H5P_DEFAULT), space = old < 0 ? -1 : H5Aget_space(old);
    double number[STENCIL_MARKERS_MAX];
    const hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    STENCIL_HANDLE type = old < 0 ? -1 : H5Aget_type(old);
    if (count < 0 || count > STENCIL_MARKERS_MAX || !stencil_h5_is_number(type) ||
        H5Aread(old, H5T_NATIVE_DOUBLE, number) < 0 || H5Adelete(dataset, name) < 0)
        return -1;
    for (hssize_t i = 0; i < count; i++)
        number[i] = stencil_values_unpack(values, number[i]);
    STENCIL_HANDLE made = H5Acreate2(dataset, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    return made < 0 ? -1 : H5Awrite(made, H5T_NATIVE_DOUBLE, number);
}

stencil_status stencil_values_write(const stencil_values *values, hid_t dataset, stencil_precision precision,
                                    const char *path, const char *name) {
    static const struct {
        const char *name;
        bool packing, limit;
    } row[] = {{"scale_factor", true, false},   {"add_offset", true, false},  {"_FillValue", false, false},
               {"missing_value", false, false}, {"valid_range", false, true}, {"valid_min", false, true},
               {"valid_max", false, true}};
    const hid_t file_type = stencil_h5_type(precision, true);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OPENED a = open_attribute(dataset, path, name, row[i].name);
        const bool gone = values->packed && (row[i].packing || row[i].limit);
        herr_t failed = 0;
        if (!is_number(&a))
            continue;
        if (gone)
            failed = H5Adelete(dataset, row[i].name);
        else if (values->packed || H5Tequal(a.type, file_type) <= 0)
            failed = rewrite(values, dataset, row[i].name, file_type);
        CHECK(failed >= 0, IO, "cannot write '%s': attribute '%s' of %s: %s", path, row[i].name, name,
              stencil_h5_reason());
    }
    return STENCIL_OK;
}
