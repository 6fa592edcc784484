#include "inputs/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"
#include "inputs/inputs.h"
#include "inputs/reading.h"

void stencil_h5_quiet(void) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

typedef struct description {
    char text[240];
} description;

static herr_t first_description(unsigned n, const H5E_error2_t *error, void *data) {
    description *found = data;
    if (n == 0 && error->desc != NULL)
        snprintf(found->text, sizeof found->text, "%s", error->desc);
    return 0;
}

const char *stencil_h5_reason(void) {
    static _Thread_local description found = {"no details"};
    /* The next call of HDF5, a close say, empties its record: then the last description stands. */
    if (H5Eget_num(H5E_DEFAULT) > 0)
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_description, &found);
    for (char *c = found.text; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    return found.text;
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

bool stencil_h5_is_number(hid_t type) {
    const H5T_class_t type_class = H5Tget_class(type);
    return (type_class == H5T_INTEGER || type_class == H5T_FLOAT) && stencil_h5_is_sound(type);
}

/* What the user can do about a file that the system does not give. */
static const char *advice(int number) {
    return number == ENOENT   ? "check the name, or make the file with 'stencil new'"
           : number == EACCES ? "ask for the right to read it"
                              : "give another file";
}

/* Whether another program has opened the file for writing: HDF5 locks it then. Who turned locks off does not
 * ask. */
static bool is_locked(int fd) {
    const char *use = getenv("HDF5_USE_FILE_LOCKING");
    if (use != NULL && (strcmp(use, "FALSE") == 0 || strcmp(use, "0") == 0))
        return false;
    return flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; /* given back with the descriptor */
}

/* Checks the file as the system sees it, before HDF5 does: its errors tell less. */
static stencil_status check_file(const char *path) {
    struct stat file;
    CHECK(stat(path, &file) == 0, NO_INPUT, "cannot open '%s': %s; %s", path, strerror(errno), advice(errno));
    CHECK(!S_ISDIR(file.st_mode), NO_INPUT, "'%s' is a directory: give an HDF5 file", path);
    CHECK(S_ISREG(file.st_mode), NO_INPUT, "'%s' is not a regular file: give an HDF5 file", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0, NO_INPUT, "cannot open '%s': %s; %s", path, strerror(errno), advice(errno));
    const bool locked = is_locked(fd);
    close(fd);
    CHECK(!locked, NO_INPUT,
          "'%s' is locked: another program has it open for writing; close it there, or wait until it is done",
          path);
    CHECK(file.st_size > 0, BAD_DATA, "'%s' is empty: give an HDF5 file", path);
    return STENCIL_OK;
}

stencil_status stencil_h5_open(const char *path, hid_t *file) {
    *file = -1;
    TRY(check_file(path));
    stencil_h5_quiet();
    /* False for a file cut off within its first bytes as well: there is nothing left to know it by. */
    if (H5Fis_hdf5(path) <= 0)
        return stencil_h5_refuse_foreign(path);
    STENCIL_HANDLE access = stencil_h5_read_access();
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    H5Pset_file_locking(access, true, true); /* not every file system has locks */
#endif
    *file = access < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY, access);
    if (*file < 0)
        TRY(stencil_h5_check_version(path, ""));
    CHECK(*file >= 0, BAD_DATA, "'%s' is truncated or damaged, or still being written (%s): make it again",
          path, stencil_h5_reason());
    return STENCIL_OK;
}

hid_t stencil_h5_create(hid_t file, const char *name, int rank, const int64_t *extent, hid_t file_type) {
    hsize_t size[3];
    for (int axis = 0; axis < rank; axis++)
        size[axis] = (hsize_t)extent[axis];
    STENCIL_HANDLE space = H5Screate_simple(rank, size, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
    if (space < 0 || create < 0 || H5Pset_obj_track_times(create, false) < 0 ||
        H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0)
        return -1;
    return H5Dcreate2(file, name, file_type, space, H5P_DEFAULT, create, H5P_DEFAULT);
}

stencil_status stencil_h5_write(hid_t file, const char *path, const char *name, int rank,
                                const int64_t *extent, hid_t file_type, const void *values) {
    STENCIL_HANDLE native = H5Tget_native_type(file_type, H5T_DIR_ASCEND);
    const hid_t dataset = stencil_h5_create(file, name, rank, extent, file_type);
    herr_t failed = dataset < 0 || native < 0 ? -1 : 0;
    if (failed >= 0 && extent[0] > 0)
        failed = H5Dwrite(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    if (failed < 0)
        stencil_h5_reason();
    if (dataset >= 0 && H5Dclose(dataset) < 0)
        failed = -1;
    CHECK(failed >= 0, IO, "cannot write '%s': %s: %s", path, name, stencil_h5_reason());
    return STENCIL_OK;
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

enum { WANTED_CHARS = 320 };

/* An attribute while it is being read. */
typedef struct opened {
    const stencil_attribute *is;
    const char *path;
    hid_t id, type, space;
    int count;
} opened;

/* "'path': attribute 'name' <what is wrong>; give <what is allowed>". */
__attribute__((format(printf, 2, 3))) static stencil_status refuse(const opened *a, const char *format, ...) {
    const stencil_attribute *is = a->is;
    char wrong[2 * STENCIL_WORD_MAX], wanted[WANTED_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wrong, sizeof wrong, format, arguments);
    va_end(arguments);
    snprintf(wanted, sizeof wanted, "%s", is->wanted != NULL ? is->wanted : "one of");
    if (is->type == STENCIL_ATTRIBUTE_WHOLE)
        snprintf(wanted, sizeof wanted, "a whole number from %" PRId64 " to %" PRId64, is->least,
                 STENCIL_STEPS_MAX);
    if (is->words != NULL)
        stencil_names_add(stencil_text_add(wanted, sizeof wanted, ": "), sizeof wanted, is->words);
    FAIL(BAD_DATA, "'%s': attribute '%s' %s; give %s", a->path, is->name, wrong, wanted);
}

static stencil_status read_as(const opened *a, hid_t type, void *values) {
    CHECK(type >= 0 && H5Aread(a->id, type, values) >= 0, BAD_DATA, "'%s': cannot read attribute '%s' (%s)",
          a->path, a->is->name, stencil_h5_reason());
    return STENCIL_OK;
}

static stencil_status store_text(const opened *a, int index, const char *text, void *values) {
    const stencil_attribute *is = a->is;
    const int found = is->words != NULL ? stencil_name_find(text, is->words) : 0;
    if (found < 0 || (is->words != NULL && text[0] == '\0'))
        return refuse(a, "is '%.*s'", STENCIL_WORD_MAX - 1, text);
    if (is->type == STENCIL_ATTRIBUTE_WORD)
        ((int *)values)[index] = found;
    else
        snprintf(values, is->chars, "%s", text);
    return STENCIL_OK;
}

static stencil_status read_texts(const opened *a, void *values) {
    const bool variable = H5Tis_variable_str(a->type) > 0;
    const size_t size = variable ? sizeof(char *) : H5Tget_size(a->type) + 1;
    STENCIL_HANDLE type = H5Tcopy(H5T_C_S1);
    /* HDF5 converts widths and paddings, but not character sets. */
    const bool made = type >= 0 && H5Tset_cset(type, H5Tget_cset(a->type)) >= 0 &&
                      H5Tset_size(type, variable ? H5T_VARIABLE : size) >= 0;
    char *found = calloc((size_t)a->count, size);
    CHECK(found != NULL, NO_MEMORY, "no memory for attribute '%s'", a->is->name);
    const stencil_status read = read_as(a, made ? type : -1, found);
    stencil_status status = read;
    for (int i = 0; i < a->count && status == STENCIL_OK; i++) {
        const char *text = variable ? ((char **)(void *)found)[i] : found + (size_t)i * size;
        status = store_text(a, i, text != NULL ? text : "", values);
    }
    if (read == STENCIL_OK && variable)
        H5Dvlen_reclaim(type, a->space, H5P_DEFAULT, found);
    free(found);
    return status;
}

/* Whole numbers of the format are exact in double. */
static stencil_status read_numbers(const opened *a, void *values) {
    const stencil_attribute *is = a->is;
    const bool whole = is->type == STENCIL_ATTRIBUTE_WHOLE;
    double number[STENCIL_AXES];
    TRY(read_as(a, H5T_NATIVE_DOUBLE, number));
    for (int i = 0; i < a->count; i++) {
        const double value = number[i], least = (double)is->least;
        if (whole ? !(value == floor(value) && value >= least && value <= (double)STENCIL_STEPS_MAX)
                  : !((isfinite(value) || (is->infinite && !isnan(value))) &&
                      (is->least < 0 || value > 0 || value == least)))
            return H5Tget_class(a->type) == H5T_INTEGER ? refuse(a, "is %.0f", value)
                                                        : refuse(a, "is %g", value);
        if (whole)
            *(int64_t *)values = (int64_t)value;
        else
            ((double *)values)[i] = value;
    }
    return STENCIL_OK;
}

stencil_status stencil_attribute_read(hid_t object, const char *path, const stencil_attribute *attribute,
                                      void *values, int *count) {
    const char *name = attribute->name;
    stencil_reading_at("attribute '%s'", name);
    const htri_t exists = H5Aexists(object, name);
    *count = 0;
    if (exists < 0)
        TRY(stencil_h5_check_version(path, ""));
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot read its attributes (%s)", path,
          stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    STENCIL_HANDLE id = H5Aopen(object, name, H5P_DEFAULT);
    STENCIL_HANDLE type = id < 0 ? -1 : H5Aget_type(id);
    STENCIL_HANDLE space = type < 0 ? -1 : H5Aget_space(id);
    if (space < 0)
        TRY(stencil_h5_check_version(path, name));
    CHECK(space >= 0, BAD_DATA, "'%s' is damaged: cannot read attribute '%s' (%s)", path, name,
          stencil_h5_reason());
    const hssize_t points = H5Sget_simple_extent_npoints(space);
    const opened a = {attribute, path, id, type, space, (int)points};
    if (points <= 0)
        return refuse(&a, "is empty");
    if (points != 1 && points != attribute->axes)
        return refuse(&a, "has %lld values", (long long)points);
    *count = a.count;
    const H5T_class_t type_class = H5Tget_class(type);
    const bool text = attribute->type <= STENCIL_ATTRIBUTE_WORD;
    if (text ? type_class != H5T_STRING : type_class != H5T_FLOAT && type_class != H5T_INTEGER)
        return refuse(&a, "is %s", stencil_h5_class_text(type_class));
    CHECK(text || stencil_h5_is_sound(type), BAD_DATA,
          "'%s' is damaged: attribute '%s' has a type that cannot be", path, name);
    return text ? read_texts(&a, values) : read_numbers(&a, values);
}

stencil_status stencil_attribute_write(hid_t object, const char *path, const stencil_attribute *attribute,
                                       int count, const void *values) {
    const hsize_t size = (hsize_t)count;
    STENCIL_HANDLE space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    STENCIL_HANDLE string = H5Tcopy(H5T_C_S1);
    CHECK(string >= 0 && H5Tset_size(string, H5T_VARIABLE) >= 0 && H5Tset_cset(string, H5T_CSET_UTF8) >= 0,
          INTERNAL, "HDF5 makes no string type: %s", stencil_h5_reason());
    const hid_t types[][2] = {[STENCIL_ATTRIBUTE_TEXT] = {string, string},
                              [STENCIL_ATTRIBUTE_WORD] = {string, string},
                              [STENCIL_ATTRIBUTE_REAL] = {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE},
                              [STENCIL_ATTRIBUTE_WHOLE] = {H5T_STD_I64LE, H5T_NATIVE_INT64}};
    const char *text[STENCIL_AXES] = {values};
    for (int i = 0; i < count && attribute->type == STENCIL_ATTRIBUTE_WORD; i++)
        text[i] = attribute->words[((const int *)values)[i]];
    const hid_t id =
        H5Acreate2(object, attribute->name, types[attribute->type][0], space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t written = id < 0
                               ? -1
                               : H5Awrite(id, types[attribute->type][1],
                                          attribute->type <= STENCIL_ATTRIBUTE_WORD ? (void *)text : values);
    if (written < 0)
        stencil_h5_reason();
    const herr_t closed = id < 0 ? -1 : H5Aclose(id);
    CHECK(written >= 0 && closed >= 0, IO, "cannot write '%s': attribute '%s': %s", path, attribute->name,
          stencil_h5_reason());
    return STENCIL_OK;
}
