#include "inputs/h5.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

void stencil_h5_quiet(void) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

enum { REASON_CHARS = 240 };

static herr_t first_description(unsigned n, const H5E_error2_t *error, void *text) {
    if (n == 0 && error->desc != NULL)
        snprintf(text, REASON_CHARS, "%s", error->desc);
    return 0;
}

const char *stencil_h5_reason(void) {
    static _Thread_local char text[REASON_CHARS] = "no details";
    /* Copies HDF5's description, since the next HDF5 call, such as a close, clears its error stack; the copy
     * stays valid. */
    if (H5Eget_num(H5E_DEFAULT) > 0)
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_description, text);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    return text;
}

const char *stencil_h5_class_text(H5T_class_t type_class) {
    static const char *const text[] = {[H5T_INTEGER] = "an integer",
                                       [H5T_FLOAT] = "a floating-point number",
                                       [H5T_TIME] = "a time",
                                       [H5T_STRING] = "a string",
                                       [H5T_BITFIELD] = "a bit field",
                                       [H5T_OPAQUE] = "an opaque type",
                                       [H5T_COMPOUND] = "a compound type",
                                       [H5T_REFERENCE] = "a reference",
                                       [H5T_ENUM] = "an enumeration or truth value",
                                       [H5T_VLEN] = "a variable-length type",
                                       [H5T_ARRAY] = "an array type"};
    return type_class >= 0 && type_class < (int)(sizeof text / sizeof *text) ? text[type_class]
                                                                             : "an unknown type";
}

const char *stencil_h5_version(void) {
    static char text[STENCIL_WORD_MAX];
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    return text;
}

hid_t stencil_h5_type(stencil_precision precision, bool in_file) {
    return precision == STENCIL_FLOAT64 ? in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE
           : in_file                    ? H5T_IEEE_F32LE
                                        : H5T_NATIVE_FLOAT;
}

bool stencil_h5_is_sound(hid_t type) {
    const size_t bits = 8 * H5Tget_size(type), width = H5Tget_precision(type);
    const int offset = H5Tget_offset(type);
    size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
    if (offset < 0 || width == 0 || width > bits || (size_t)offset > bits - width)
        return false;
    return H5Tget_class(type) == H5T_INTEGER ||
           (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
            sign < bits && exponent_bits > 0 && exponent_bits <= bits && exponent <= bits - exponent_bits &&
            mantissa_bits > 0 && mantissa_bits <= bits && mantissa <= bits - mantissa_bits);
}

/* Makes an item of an open object, and takes ownership of its id. */
static stencil_item item_of(hid_t id) {
    stencil_item item = {id, -1, -1, H5T_NO_CLASS, -1};
    const bool is_attribute = id >= 0 && H5Iget_type(id) == H5I_ATTR;
    if (id >= 0)
        item.type = is_attribute ? H5Aget_type(id) : H5Dget_type(id);
    if (item.type >= 0) {
        item.type_class = H5Tget_class(item.type);
        item.space = is_attribute ? H5Aget_space(id) : H5Dget_space(id);
    }
    if (item.space >= 0)
        item.count = H5Sget_simple_extent_npoints(item.space);
    return item;
}

stencil_item stencil_item_attribute(hid_t object, const char *name) {
    return H5Aexists(object, name) > 0 ? item_of(H5Aopen(object, name, H5P_DEFAULT))
                                       : (stencil_item){-1, -1, -1, H5T_NO_CLASS, 0};
}

stencil_item stencil_item_dataset(hid_t group, const char *name) {
    STENCIL_HANDLE object = H5Oopen(group, name, H5P_DEFAULT);
    return stencil_item_of(object);
}

stencil_item stencil_item_of(hid_t dataset) {
    const bool is_dataset = dataset >= 0 && H5Iget_type(dataset) == H5I_DATASET;
    return item_of(is_dataset && H5Iinc_ref(dataset) > 0 ? dataset : -1);
}

void stencil_item_close(const stencil_item *item) {
    stencil_handle_close(&item->space);
    stencil_handle_close(&item->type);
    stencil_handle_close(&item->id);
}

bool stencil_item_is_number(const stencil_item *item) {
    return item->count != 0 && (item->type_class == H5T_INTEGER || item->type_class == H5T_FLOAT) &&
           stencil_h5_is_sound(item->type);
}

bool stencil_item_refers(const stencil_item *item) {
    return item->type >= 0 && H5Tdetect_class(item->type, H5T_REFERENCE) > 0;
}

herr_t stencil_attribute_make(hid_t object, const char *name, hid_t file_type, hid_t space, hid_t type,
                              const void *values) {
    const hid_t made = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t failed = made < 0 ? -1 : H5Awrite(made, type, values);
    if (failed < 0)
        stencil_h5_reason();
    return made >= 0 && H5Aclose(made) < 0 ? -1 : failed;
}

herr_t stencil_item_copy(const stencil_item *from, hid_t to, const char *name, stencil_item_change *change,
                         void *context) {
    STENCIL_HANDLE type = H5Tcopy(from->type);
    void *values = type < 0 || from->count < 1 ? NULL : calloc((size_t)from->count, H5Tget_size(type));
    herr_t failed = values == NULL && from->count != 0 ? -1 : 0;
    if (values != NULL)
        failed = name != NULL ? H5Aread(from->id, type, values)
                              : H5Dread(from->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    if (failed >= 0) {
        if (change != NULL)
            change(context, type, values, (size_t)from->count);
        STENCIL_HANDLE made = name == NULL ? 0
                              : H5Aexists(to, name) > 0
                                  ? H5Aopen(to, name, H5P_DEFAULT)
                                  : H5Acreate2(to, name, type, from->space, H5P_DEFAULT, H5P_DEFAULT);
        if (made < 0)
            failed = -1;
        else if (values != NULL)
            failed = name != NULL ? H5Awrite(made, type, values)
                                  : H5Dwrite(to, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        if (failed < 0)
            stencil_h5_reason();
        if (values != NULL)
            H5Dvlen_reclaim(type, from->space, H5P_DEFAULT, values);
    }
    free(values);
    return failed;
}

bool stencil_file_holds(hid_t file, const char *name) {
    char here[PATH_MAX] = "", there[PATH_MAX] = "";
    STENCIL_HANDLE object = H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    return object >= 0 && H5Fget_name(file, here, sizeof here) > 0 &&
           H5Fget_name(object, there, sizeof there) > 0 && strcmp(here, there) == 0;
}

hid_t stencil_h5_group(hid_t file, const char *name) {
    return H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Gopen2(file, name, H5P_DEFAULT) : -1;
}

H5D_layout_t stencil_dataset_layout(hid_t dataset) {
    STENCIL_HANDLE create = H5Dget_create_plist(dataset);
    return create < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(create);
}

bool stencil_dataset_elsewhere(hid_t dataset) {
    STENCIL_HANDLE create = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = stencil_dataset_layout(dataset);
    return layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && H5Pget_external_count(create) > 0);
}

hid_t stencil_h5_create(hid_t file, const char *name, int rank, const int64_t *extent, hid_t file_type,
                        int64_t grows) {
    const hsize_t most = H5S_UNLIMITED, chunk = (hsize_t)grows;
    hsize_t size[3];
    for (int axis = 0; axis < rank; axis++)
        size[axis] = (hsize_t)extent[axis];
    STENCIL_HANDLE space = H5Screate_simple(rank, size, grows > 0 ? &most : NULL),
                   create = H5Pcreate(H5P_DATASET_CREATE);
    if (space < 0 || create < 0 || (grows > 0 && H5Pset_chunk(create, 1, &chunk) < 0) ||
        H5Pset_obj_track_times(create, false) < 0 || H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0)
        return -1;
    return H5Dcreate2(file, name, file_type, space, H5P_DEFAULT, create, H5P_DEFAULT);
}

stencil_status stencil_h5_check_written(bool written, const char *path, const char *what) {
    CHECK(written, IO, "cannot write '%s': %s: %s", path, what, stencil_h5_reason());
    return STENCIL_OK;
}

stencil_status stencil_h5_write(hid_t file, const char *path, const char *name, int rank,
                                const int64_t *extent, hid_t file_type, const void *values) {
    STENCIL_HANDLE native = H5Tget_native_type(file_type, H5T_DIR_ASCEND);
    const hid_t dataset = stencil_h5_create(file, name, rank, extent, file_type, 0);
    const bool written =
        dataset >= 0 && native >= 0 &&
        (extent[0] == 0 || H5Dwrite(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    if (!written)
        stencil_h5_reason();
    const bool closed = dataset < 0 || H5Dclose(dataset) >= 0;
    return stencil_h5_check_written(written && closed, path, name);
}

herr_t stencil_h5_box(hid_t dataset, const stencil_box *box, hid_t type, const stencil_cells *cells,
                      bool write) {
    const hsize_t room[3] = {(hsize_t)box->n[STENCIL_Z], (hsize_t)(cells->plane / cells->row),
                             (hsize_t)cells->row};
    const hsize_t origin[3] = {0, 0, 0};
    hsize_t start[3], count[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        start[axis] = (hsize_t)box->first[axis];
        count[axis] = (hsize_t)box->n[axis];
    }
    STENCIL_HANDLE file = H5Dget_space(dataset), memory = H5Screate_simple(3, room, NULL);
    const int rank = file < 0 ? -1 : H5Sget_simple_extent_ndims(file), skip = STENCIL_AXES - rank;
    if (rank < 0 || memory < 0 ||
        H5Sselect_hyperslab(memory, H5S_SELECT_SET, origin, NULL, count, NULL) < 0 ||
        H5Sselect_hyperslab(file, H5S_SELECT_SET, start + skip, NULL, count + skip, NULL) < 0)
        return -1;
    return write ? H5Dwrite(dataset, type, memory, file, H5P_DEFAULT, cells->at)
                 : H5Dread(dataset, type, memory, file, H5P_DEFAULT, cells->at);
}
