/* HDF5 as used by the folder inputs/: handles and files, datasets, attributes. */
#pragma once

#include <hdf5.h>

#include "inputs/inputs.h"
#include "solver/problem/problem.h"

/* Returns the version of the HDF5 library that is loaded, such as "1.10.8"; a static string. */
const char *stencil_h5_version(void);

/* Turns off HDF5's error printing; everything that uses HDF5 calls this first. */
void stencil_h5_quiet(void);

/* Returns HDF5's innermost description of its last failure, for messages; valid until the next call in this
 * thread. A successful HDF5 call clears HDF5's error stack: call this before closing anything, since it keeps
 * the description. */
const char *stencil_h5_reason(void);

/* Names a class of HDF5 types in messages: "a string", "a compound type", … */
const char *stencil_h5_class_text(H5T_class_t type_class);

/* Tells whether the bits of an integer or floating-point type lie within its bytes. For other types, HDF5's
 * conversion reads adjacent memory. */
bool stencil_h5_is_sound(hid_t type);

/* Closes an HDF5 handle of any kind; 0 or negative: none is open. stencil_h5_reason() still knows a failure
 * from before. */
static inline void stencil_handle_close(const hid_t *id) {
    if (*id <= 0)
        return;
    stencil_h5_reason();
    H5Idec_ref(*id);
}

/* An HDF5 handle that is closed at the end of its scope. Code that writes files closes handles explicitly,
 * since closing may fail. */
#define STENCIL_HANDLE __attribute__((cleanup(stencil_handle_close))) const hid_t

/* An open attribute or dataset with its type and its dataspace; the caller closes these handles, which are
 * negative where nothing is open. */
typedef struct stencil_item {
    hid_t id, type, space;
    H5T_class_t type_class;
    hssize_t count; /* number of values; 0: no such attribute; negative: cannot be opened */
} stencil_item;

/* Open an attribute of `object`, the dataset `name`, or another handle of the caller's open dataset. */
stencil_item stencil_item_attribute(hid_t object, const char *name);
stencil_item stencil_item_dataset(hid_t group, const char *name);
stencil_item stencil_item_of(hid_t dataset);
void stencil_item_close(const stencil_item *item);

/* A stencil_item that is closed at the end of its scope. */
#define STENCIL_ITEM __attribute__((cleanup(stencil_item_close))) const stencil_item

/* Tell whether an item's values are numbers; whether its values are or contain references to objects. */
bool stencil_item_is_number(const stencil_item *item);
bool stencil_item_refers(const stencil_item *item);

/* stencil_item_copy() copies an item's values to the attribute `name` of another object (created if missing),
 * or (`name` NULL) to another dataset. In memory, values keep their type in the file, so that nothing is
 * converted; `change` (may be NULL) may modify them there. Negative on failure, with stencil_h5_reason() set.
 */
typedef void stencil_item_change(void *context, hid_t type, char *values, size_t count);
herr_t stencil_item_copy(const stencil_item *from, hid_t to, const char *name, stencil_item_change *change,
                         void *context);

/* Creates an attribute of `file_type` from values of `type` in memory. Negative on failure, with
 * stencil_h5_reason() set. */
herr_t stencil_attribute_make(hid_t object, const char *name, hid_t file_type, hid_t space, hid_t type,
                              const void *values);

/* Tells whether an object `name` lies in this file, and not in another file that a link leads to. */
bool stencil_file_holds(hid_t file, const char *name);

/* Opens a group of a file; closed by the caller; negative where it does not exist. */
hid_t stencil_h5_group(hid_t file, const char *name);

H5D_layout_t stencil_dataset_layout(hid_t dataset);

/* Returns the HDF5 type of a precision: the native type, or IEEE little endian (in_file); not to be closed.
 */
hid_t stencil_h5_type(stencil_precision precision, bool in_file);

/* Opens any HDF5 file for reading; *file is closed by the caller, negative on failure. Errors: NO_INPUT: the
 * file is missing, unreadable, a directory or another special file, or locked by a program that writes it.
 * BAD_DATA: it is empty, not HDF5, or truncated. The message names the file and says what to do. */
stencil_status stencil_h5_open(const char *path, hid_t *file);

/* Makes HDF5's file access properties: for reading by a driver that opens regular files only (`sink` NULL),
 * or for writing into the descriptor of `sink` (borrowed), which records failures. Closed by the caller;
 * negative on failure. */
hid_t stencil_h5_access(stencil_sink *sink);

/* Reads bytes of a file from `offset` on into `to`, or where `to` is NULL, writes them from `from`. Returns
 * how many were moved before the end of the file; -1 on failure, with errno. */
int64_t stencil_h5_bytes(int fd, int64_t offset, void *to, const void *from, int64_t bytes);

/* Gets size, modification time and identity of an open file from the system; false on failure. */
bool stencil_file_state_read(int fd, stencil_file_state *state);

/* Errors: BAD_DATA where HDF5's last failure was an unknown format version: a newer HDF5 made the file.
 * `name` is the part of the file that was asked for; "": the whole file. */
stencil_status stencil_h5_check_version(const char *path, const char *name);

/* Errors: BAD_DATA where a dataset is packed with a filter that this HDF5 lacks. `failed`: reading the
 * dataset failed, and each of its filters may be the cause. */
stencil_status stencil_h5_check_filters(hid_t dataset, const char *path, const char *name, bool failed);

/* Creates a dataset without object times and fill values (all of it is going to be written): contiguous
 * (`grows` 0), or an extensible list with chunks of `grows` elements. Negative on failure, with
 * stencil_h5_reason() set. */
hid_t stencil_h5_create(hid_t file, const char *name, int rank, const int64_t *extent, hid_t file_type,
                        int64_t grows);

/* Errors: IO with HDF5's reason where `written` is false; `what` names the part of the file. */
stencil_status stencil_h5_check_written(bool written, const char *path, const char *what);

/* Creates a contiguous dataset and writes all of it from values of the native type. Errors: IO. */
stencil_status stencil_h5_write(hid_t file, const char *path, const char *name, int rank,
                                const int64_t *extent, hid_t file_type, const void *values);

/* Reads or (write) writes a box, in the dataset's indices, of a dataset of rank 2 or 3; negative on failure,
 * with stencil_h5_reason() set. */
herr_t stencil_h5_box(hid_t dataset, const stencil_box *box, hid_t type, const stencil_cells *cells,
                      bool write);

/* A dataset of numbers of any shape, type and storage layout. */
typedef struct stencil_dataset {
    const char *path, *name; /* path of the file; name of the dataset from the root on; borrowed */
    hid_t id;                /* 0 or negative: not open */
    stencil_numbers is;
    size_t element_bytes;
    bool floating;
    int64_t unwritten;             /* elements that were never written */
    struct stencil_chunks *chunks; /* inputs/chunks.h reads the dataset by these; NULL: HDF5 reads it */
} stencil_dataset;

/* Opens a dataset of integers or floating-point numbers of an open file; id 0 where it does not exist.
 * Errors: BAD_DATA: it has another type, or cannot be read whole, since a source of a virtual dataset or a
 * file of an external one is missing or too short (HDF5 would read zeros). `advice` ends messages about the
 * dataset's type; NULL: "give …", for a problem. */
stencil_status stencil_dataset_open(stencil_dataset *dataset, hid_t file, const char *path, const char *name,
                                    const char *advice);
/* Opens a dataset of truth values (as h5py writes them: enumerations) or integers; no floating-point numbers.
 */
stencil_status stencil_dataset_open_truths(stencil_dataset *dataset, hid_t file, const char *path,
                                           const char *name);

/* Unpacks the chunks of a virtual dataset's sources to find short ones, which HDF5 takes for whole. Errors:
 * BAD_DATA. */
stencil_status stencil_dataset_check_sources(hid_t file, const char *path, const char *name);

/* Reads elements of a dataset from number `first` on, in array order, converted to `memory_type`: *count
 * elements, as many as form a block of the array, at most `most`. Errors: BAD_DATA. */
stencil_status stencil_dataset_read(const stencil_dataset *dataset, int64_t first, int64_t most,
                                    hid_t memory_type, void *values, int64_t *count);

void stencil_dataset_close(stencil_dataset *dataset);

/* A stencil_dataset that is closed at the end of its scope; initialise with {0}. */
#define STENCIL_DATASET __attribute__((cleanup(stencil_dataset_close))) stencil_dataset

/* Tells whether the values of an open dataset are stored in other files. */
bool stencil_dataset_elsewhere(hid_t dataset);

/* Counts the elements of an open, not virtual dataset that were never written, as far as its layout tells
 * (not in storage that was allocated early). `within`: a selection of its dataspace to count in; 0: all. */
int64_t stencil_cells_unwritten(hid_t dataset, hid_t within);

/* Counts the elements of a virtual dataset that no source maps to, from its creation properties and its
 * dataspace. */
int64_t stencil_cells_unmapped(hid_t create, hid_t space);

/* Returns the unpacked bytes of a chunk of an open dataset; 0: the dataset is not chunked. */
int64_t stencil_dataset_chunk_bytes(hid_t dataset);

/* Returns the unpacked bytes of an open dataset's values; INT64_MAX where they cannot be counted. */
int64_t stencil_dataset_bytes(hid_t dataset);

/* Types in memory of attributes' values. Attributes are read tolerantly (scalar or array, any width, any kind
 * of string) and written as float64, int64 or UTF-8. */
typedef enum stencil_attribute_type {
    STENCIL_ATTRIBUTE_TEXT, /* char[]; a single text */
    STENCIL_ATTRIBUTE_WORD, /* an enumeration, the index of a word */
    STENCIL_ATTRIBUTE_REAL, /* double */
    STENCIL_ATTRIBUTE_WHOLE /* int64_t, at most STENCIL_STEPS_MAX */
} stencil_attribute_type;

typedef struct stencil_attribute {
    const char *name;
    stencil_attribute_type type;
    size_t chars;             /* size of the buffer of a TEXT, which is truncated to it */
    const char *const *words; /* allowed values of a TEXT or WORD, never ""; NULL: anything */
    int64_t least;            /* least allowed WHOLE; for a REAL, 1: only above 0, -1: any */
    bool infinite;            /* a REAL may be infinite, too */
    int axes;           /* axes of a list, which has one value for all axes or one for each; 0: one value */
    const char *wanted; /* tells in messages what is allowed in addition to words and limits */
} stencil_attribute;

/* Reads an attribute; *count is the number of its values, 0 where it does not exist. Errors: BAD_DATA with
 * what is allowed: a wrong type, length or value. */
stencil_status stencil_attribute_read(hid_t object, const char *path, const stencil_attribute *attribute,
                                      void *values, int *count);

/* Reads an attribute of one text, truncated to `chars`; false, and "", where there is no such text. */
bool stencil_attribute_text(hid_t object, const char *name, char *text, size_t chars);

/* Creates an attribute: a scalar for count 1, else an array. Errors: IO. */
stencil_status stencil_attribute_write(hid_t object, const char *path, const stencil_attribute *attribute,
                                       int count, const void *values);
