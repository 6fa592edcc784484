/* The file of a series as HDF5 makes it, without a frame, and the places in it that change with frames. Its
 * format is that of "HDF5 File Format Specification": superblock 1, object headers 1, B-trees 1. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inputs/axes.h"
#include "inputs/file.h"
#include "inputs/image.h"
#include "inputs/series.h"

enum { PAGE_BYTES = 4096, DATASPACE = 0x01, LAYOUT = 0x08, ATTRIBUTE = 0x0c, CONTINUATION = 0x10 };

static uint64_t number(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

/* Finds a message of an object header and returns the place of its body; 0: there is none. */
static uint64_t find_message(int fd, uint64_t header, unsigned type) {
    unsigned char block[PAGE_BYTES];
    uint64_t at = header + 16, bytes;
    if (stencil_h5_bytes(fd, (int64_t)header, block, NULL, 16) != 16 || block[0] != 1)
        return 0;
    bytes = number(block + 8, 4);
    while (bytes > 0) {
        uint64_t more = 0, more_bytes = 0;
        if (bytes > sizeof block ||
            stencil_h5_bytes(fd, (int64_t)at, block, NULL, (int64_t)bytes) != (int64_t)bytes)
            return 0;
        for (uint64_t i = 0; i + 8 <= bytes; i += 8 + number(block + i + 2, 2)) {
            if (number(block + i, 2) == type)
                return at + i + 8;
            if (number(block + i, 2) == CONTINUATION && i + 24 <= bytes) {
                more = number(block + i + 8, 8);
                more_bytes = number(block + i + 16, 8);
            }
        }
        at = more;
        bytes = more_bytes;
    }
    return 0;
}

/* Returns the place of the value of an attribute message: behind its name, type and space, each padded. */
static uint64_t value_of(int fd, uint64_t message) {
    unsigned char head[8];
    if (message == 0 || stencil_h5_bytes(fd, (int64_t)message, head, NULL, 8) != 8 || head[0] != 1)
        return 0;
    uint64_t at = message + 8;
    for (int i = 2; i < 8; i += 2)
        at += (number(head + i, 2) + 7) / 8 * 8;
    return at;
}

static uint64_t header_of(hid_t file, const char *name) {
    H5O_info_t info;
    return H5Oget_info_by_name1(file, name, &info, H5P_DEFAULT) >= 0 ? (uint64_t)info.addr : 0;
}

/* Creates a list of numbers without values; its space, which lies behind all headers, is allocated when the
 * first one is written. */
static hid_t create_list(hid_t file, const char *name, hid_t type, int64_t count) {
    const hsize_t size = (hsize_t)count;
    STENCIL_HANDLE space = H5Screate_simple(1, &size, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
    if (space < 0 || create < 0 || H5Pset_obj_track_times(create, false) < 0 ||
        H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0)
        return -1;
    return H5Dcreate2(file, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
}

const char *stencil_series_field(const stencil_problem *problem) {
    static const char *const taken[] = {"/time", "/step", "/z", "/y", "/x"};
    const char *name = stencil_spec_field(&problem->spec);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0)
            return "/u";
    return name;
}

enum { NAME_BYTES = STENCIL_FIELD_MAX + 32 };

/* Makes the name of a dataset in the file. */
static const char *name_dataset(const stencil_series *s, int dataset, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "%s%s", dataset < STENCIL_SERIES_ARRAYS ? "" : "/VTKHDF/PointData",
             dataset % STENCIL_SERIES_ARRAYS == STENCIL_SERIES_U ? stencil_series_field(s->problem)
                                                                 : "/residual");
    return name;
}

static hid_t create_frames(const stencil_series *s, hid_t file, int dataset) {
    const stencil_series_array *array = &s->array[dataset];
    char name[NAME_BYTES];
    hsize_t size[4] = {1}, chunk[4] = {1};
    for (int k = 0; k < array->axes; k++) {
        size[1 + k] = (hsize_t)s->at.n[array->axis[k]];
        chunk[1 + k] = (hsize_t)array->chunk[array->axis[k]];
    }
    STENCIL_HANDLE space = H5Screate_simple(array->axes + 1, size, NULL),
                   create = H5Pcreate(H5P_DATASET_CREATE);
    if (space < 0 || create < 0 || H5Pset_chunk(create, array->axes + 1, chunk) < 0 ||
        H5Pset_obj_track_times(create, false) < 0 || H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0 ||
        (s->at.compress && H5Pset_deflate(create, 1) < 0))
        return -1;
    return H5Dcreate2(file, name_dataset(s, dataset, name), stencil_h5_type(array->precision, true), space,
                      H5P_DEFAULT, create, H5P_DEFAULT);
}

/* Creates all datasets of frames. */
static herr_t create_all_frames(const stencil_series *s, hid_t file) {
    for (int d = 0; d < STENCIL_SERIES_DATASETS; d++) {
        STENCIL_HANDLE made = stencil_series_has(s, d) ? create_frames(s, file, d) : 0;
        if (made < 0)
            return -1;
    }
    return 0;
}

/* Writes element `i` of a list. */
static herr_t write_element(hid_t list, int64_t i, double value) {
    const hsize_t at = (hsize_t)i, one = 1;
    STENCIL_HANDLE there = H5Dget_space(list), here = H5Screate_simple(1, &one, NULL);
    return there < 0 || here < 0 || H5Sselect_elements(there, H5S_SELECT_SET, 1, &at) < 0
               ? -1
               : H5Dwrite(list, H5T_NATIVE_DOUBLE, here, there, H5P_DEFAULT, &value);
}

/* Creates the coordinates of the saved cells along an axis. */
static herr_t write_coordinates(const stencil_series *s, hid_t file, int axis, const char *name) {
    STENCIL_HANDLE made = create_list(file, name, H5T_IEEE_F64LE, s->at.n[axis]);
    return made < 0 || stencil_axes_describe(made, name, NULL) < 0
               ? -1
               : stencil_axes_fill(made, s->problem, axis, s->at.first[axis], s->at.n[axis],
                                   s->at.stride[axis]);
}

/* Writes what describes a dataset of frames: its unit, and its axes. */
static herr_t describe_frames(const stencil_series *s, hid_t file, int dataset) {
    static const char *const names[] = {"z", "y", "x"};
    const stencil_series_array *array = &s->array[dataset];
    const char *scale[STENCIL_AXES + 1] = {"time"};
    char what[NAME_BYTES], name[NAME_BYTES];
    for (int k = 0; k < array->axes; k++)
        scale[1 + k] = names[array->axis[k]];
    snprintf(what, sizeof what, "change of %s in a plain step", stencil_series_field(s->problem) + 1);
    STENCIL_HANDLE frames = H5Dopen2(file, name_dataset(s, dataset, name), H5P_DEFAULT);
    return frames < 0 || stencil_text_write(frames, "units", "1") < 0 ||
                   (dataset % STENCIL_SERIES_ARRAYS == STENCIL_SERIES_RESIDUAL &&
                    stencil_text_write(frames, "long_name", what) < 0)
               ? -1
               : stencil_axes_list(file, frames, array->axes + 1, scale);
}

/* Writes the attributes of the file. */
static herr_t describe_file(const stencil_series *s, hid_t file) {
    const char *field = stencil_series_field(s->problem);
    char what[STENCIL_FIELD_MAX + 16];
    snprintf(what, sizeof what, "frames of %s", field + 1);
    return stencil_text_write(file, "format", "stencil 2") < 0 ||
                   stencil_text_write(file, "series", what) < 0 ||
                   (strcmp(field, "/u") != 0 && stencil_text_write(file, "field", field) < 0)
               ? -1
               : stencil_text_write(file, "fingerprint", s->problem->fingerprint);
}

/* Writes the image, whose data are the flat datasets, or links to those of the arrays. */
static herr_t describe_image(const stencil_series *s, hid_t file) {
    const char *field = s->flat ? NULL : stencil_series_field(s->problem);
    if (stencil_image_write(file, s->problem, field, s->at.first, s->at.n, s->at.stride) < 0)
        return -1;
    return s->flat || s->arrays == 1
               ? 0
               : H5Lcreate_soft("/residual", file, "VTKHDF/PointData/residual", H5P_DEFAULT, H5P_DEFAULT);
}

/* Writes what describes the series: attributes of the file, coordinates, the image. */
static herr_t describe(const stencil_series *s, hid_t file) {
    static const char *const names[] = {"z", "y", "x"}, *const by_time[] = {"time"};
    for (int axis = STENCIL_AXES - s->problem->rank; axis < STENCIL_AXES; axis++)
        if (write_coordinates(s, file, axis, names[axis]) < 0)
            return -1;
    STENCIL_HANDLE time = H5Dopen2(file, "time", H5P_DEFAULT), step = H5Dopen2(file, "step", H5P_DEFAULT);
    if (describe_file(s, file) < 0 ||
        stencil_axes_describe(time, "time", stencil_image_time_name(s->problem)) < 0 ||
        stencil_axes_list(file, step, 1, by_time) < 0)
        return -1;
    for (int d = 0; d < STENCIL_SERIES_DATASETS; d++)
        if (stencil_series_has(s, d) && describe_frames(s, file, d) < 0)
            return -1;
    return describe_image(s, file);
}

static herr_t create_objects(const stencil_series *s, hid_t file, int pad) {
    const int64_t none = 0;
    char text[PAGE_BYTES] = "";
    memset(text, ' ', (size_t)pad);
    STENCIL_HANDLE image = H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    STENCIL_HANDLE data =
        image < 0 ? -1 : H5Gcreate2(image, "PointData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (data < 0 || (pad > 0 && stencil_text_write(image, "padding", text) < 0))
        return -1;
    STENCIL_HANDLE steps = H5Gcreate2(image, "Steps", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (steps < 0 || stencil_numbers_write(steps, "NSteps", H5T_STD_I64LE, H5T_NATIVE_INT64, 0, &none) < 0 ||
        create_all_frames(s, file) < 0)
        return -1;
    STENCIL_HANDLE step = create_list(file, "step", H5T_STD_I64LE, s->at.capacity),
                   time = step < 0 ? -1 : create_list(file, "time", H5T_IEEE_F64LE, s->at.capacity);
    STENCIL_HANDLE values = time < 0 ? -1 : create_list(steps, "Values", H5T_IEEE_F64LE, s->at.capacity);
    return values < 0 || write_element(step, 0, 0) < 0 || write_element(time, 0, 0) < 0 ||
                   write_element(values, 0, 0) < 0
               ? -1
               : describe(s, file);
}

/* Finds the places of a dataset of frames by its header. */
static bool find_frames(stencil_series *s, int dataset, uint64_t header, uint64_t *index) {
    const uint64_t space = find_message(s->sink.fd, header, DATASPACE),
                   layout = find_message(s->sink.fd, header, LAYOUT);
    *stencil_series_extent(&s->at, dataset) = space + 8; /* behind version, rank, flags and reserved bytes */
    *index = layout + 3;                                 /* behind version, class and rank */
    return space != 0 && layout != 0;
}

/* Finds the places of a list by its header. */
static bool find_list(const stencil_series *s, uint64_t header, uint64_t *extent, uint64_t *values,
                      uint64_t *bytes) {
    const int fd = s->sink.fd;
    const uint64_t space = find_message(fd, header, DATASPACE), layout = find_message(fd, header, LAYOUT);
    unsigned char body[18];
    if (space == 0 || layout == 0 ||
        stencil_h5_bytes(fd, (int64_t)layout, body, NULL, sizeof body) != sizeof body || body[0] != 3 ||
        body[1] != 1)
        return false;
    *extent = space + 8;
    *values = number(body + 2, 8);
    *bytes = layout + 10;
    return true;
}

/* Objects of the file whose places are found. */
enum { STEP = STENCIL_SERIES_DATASETS, TIME, STEPS, VALUES, OBJECTS };

/* Finds the places by the headers of the objects, before the file is closed. */
static bool find_places(stencil_series *s, const uint64_t header[OBJECTS],
                        uint64_t index[STENCIL_SERIES_DATASETS]) {
    stencil_series_places *at = &s->at;
    at->steps_count = value_of(s->sink.fd, find_message(s->sink.fd, header[STEPS], ATTRIBUTE));
    for (int d = 0; d < STENCIL_SERIES_DATASETS; d++)
        if (stencil_series_has(s, d) && !find_frames(s, d, header[d], &index[d]))
            return false;
    return at->steps_count != 0 && find_list(s, header[STEP], &at->step_extent, &at->step, &at->step_bytes) &&
           find_list(s, header[TIME], &at->time_extent, &at->time, &at->time_bytes) &&
           find_list(s, header[VALUES], &at->vtk_extent, &at->vtk, &at->vtk_bytes);
}

/* Tells whether `bytes` bytes lie within the page of /step's extent. */
static bool is_in_page(const stencil_series *s, uint64_t at, uint64_t bytes) {
    const uint64_t page = s->at.step_extent / PAGE_BYTES;
    return at / PAGE_BYTES == page && (at + bytes - 1) / PAGE_BYTES == page;
}

/* Tells whether all that changes with a frame lies within a page, largest extents included. */
static bool in_one_page(stencil_series *s) {
    const stencil_series_places *at = &s->at;
    bool fits = is_in_page(s, at->step_extent, 16) && is_in_page(s, at->time_extent, 16) &&
                is_in_page(s, at->step_bytes, 8) && is_in_page(s, at->time_bytes, 8) &&
                is_in_page(s, at->steps_count, 8);
    for (int d = 0; d < STENCIL_SERIES_DATASETS; d++)
        if (stencil_series_has(s, d))
            fits = fits &&
                   is_in_page(s, *stencil_series_extent(&s->at, d), 8 * (uint64_t)(s->array[d].axes + 2));
    return fits && at->vtk_extent / PAGE_BYTES == (at->vtk_bytes + 7) / PAGE_BYTES &&
           at->vtk_extent < at->vtk_bytes;
}

stencil_status stencil_series_lay_out(stencil_series *s, int pad, uint64_t index[STENCIL_SERIES_DATASETS],
                                      bool *fits) {
    enum { METADATA_BLOCK = 32 << 10 };
    stencil_sink *sink = &s->sink;
    char name[STENCIL_SERIES_DATASETS][NAME_BYTES];
    const char *names[OBJECTS] = {
        [STEP] = "/step", [TIME] = "/time", [STEPS] = "/VTKHDF/Steps", [VALUES] = "/VTKHDF/Steps/Values"};
    uint64_t header[OBJECTS];
    for (int d = 0; d < STENCIL_SERIES_DATASETS; d++)
        names[d] = name_dataset(s, d, name[d]);
    stencil_h5_quiet();
    sink->eoa = sink->closed_eoa = 0;
    STENCIL_HANDLE access = stencil_h5_access(sink), create = H5Pcreate(H5P_FILE_CREATE);
    const bool set = access >= 0 && create >= 0 && H5Pset_meta_block_size(access, METADATA_BLOCK) >= 0 &&
                     H5Pset_istore_k(create, STENCIL_SERIES_NODE_CHUNKS / 2) >= 0;
    sink->file = set ? H5Fcreate(sink->path, H5F_ACC_TRUNC, create, access) : -1;
    const herr_t made = sink->file < 0 ? -1 : create_objects(s, sink->file, pad);
    for (int i = 0; i < OBJECTS && made >= 0; i++)
        header[i] = header_of(sink->file, names[i]);
    TRY(stencil_sink_state(sink));
    CHECK(made >= 0, IO, "cannot write '%s': %s", sink->path, stencil_h5_reason());
    TRY(stencil_sink_finish(sink));
    CHECK(find_places(s, header, index), INTERNAL, "'%s': HDF5 has made it in an unknown form", sink->path);
    *fits = in_one_page(s);
    s->at.end = (sink->eoa + 7) / 8 * 8;
    return STENCIL_OK;
}
