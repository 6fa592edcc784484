/* HDF5 as this room uses it: handles and files, datasets, attributes. */
#pragma once

#include <hdf5.h>

#include "inputs/inputs.h"
#include "solver/problem/problem.h"

/* "1.10.8": the HDF5 that runs, static. */
const char *stencil_h5_version(void);

/* Turns off HDF5's own error printing; called first by everything that uses HDF5. */
void stencil_h5_quiet(void);

/* HDF5's innermost description of its last failure, for messages; valid until the next call in this thread.
 * A successful call of HDF5 forgets failures: ask before closing anything, then it is remembered here. */
const char *stencil_h5_reason(void);

/* "a string", "a compound type", … for messages. */
const char *stencil_h5_class_text(H5T_class_t type_class);

/* Tells whether the bits of a type of integers or floating-point numbers lie within its bytes: HDF5 converts
 * others from what stands beside them in memory. */
bool stencil_h5_is_sound(hid_t type);

/* Closes what is open, whatever it is; 0 or negative: nothing is. A failure before stays known to
 * stencil_h5_reason(). */
static inline void stencil_handle_close(const hid_t *id) {
    if (*id <= 0)
        return;
    stencil_h5_reason();
    H5Idec_ref(*id);
}

/* A handle of HDF5 that is closed at the end of its scope. What is written closes
 * by hand, since that fails. */
#define STENCIL_HANDLE __attribute__((cleanup(stencil_handle_close))) const hid_t

/* An attribute or a dataset that is open, with its type and its dataspace: handles of the caller, negative
 * where there is none. */
typedef struct stencil_item {
    hid_t id, type, space;
    H5T_class_t type_class;
    hssize_t count; /* of values; 0: there is no such attribute; negative: it cannot be opened */
} stencil_item;

/* Open an attribute; the dataset of that name; a dataset that the caller has open, too. */
stencil_item stencil_item_attribute(hid_t object, const char *name);
stencil_item stencil_item_dataset(hid_t group, const char *name);
stencil_item stencil_item_of(hid_t dataset);
void stencil_item_close(const stencil_item *item);

/* One that is closed at the end of its scope. */
#define STENCIL_ITEM __attribute__((cleanup(stencil_item_close))) const stencil_item

/* Tells whether its values are numbers, or references to objects, or have some within. */
bool stencil_item_is_number(const stencil_item *item);
bool stencil_item_refers(const stencil_item *item);

/* Copies its values to the attribute of that name of another object, which is made where it is not there, or
 * (NULL) to another dataset; in memory they have the type that they have in the file, so that nothing is
 * converted, and may be changed (NULL: they are not). Negative on failure, with the reason remembered. */
typedef void stencil_item_change(void *context, hid_t type, char *values, size_t count);
herr_t stencil_item_copy(const stencil_item *from, hid_t to, const char *name, stencil_item_change *change,
                         void *context);

/* Makes an attribute with values of a type. Negative on failure, with the reason remembered. */
herr_t stencil_attribute_make(hid_t object, const char *name, hid_t file_type, hid_t space, hid_t type,
                              const void *values);

/* Tells whether an object of that name stands in this very file, and not in one that a link leads to. */
bool stencil_file_holds(hid_t file, const char *name);

/* A group of a file, to be closed; negative where there is none. */
hid_t stencil_h5_group(hid_t file, const char *name);

/* The layout of an open dataset. */
H5D_layout_t stencil_dataset_layout(hid_t dataset);

/* The native type, or in a file IEEE little endian; not to be closed. */
hid_t stencil_h5_type(stencil_precision precision, bool in_file);

/* Opens any HDF5 file for reading; *file is closed by the caller, negative on failure. NO_INPUT: missing,
 * unreadable, a directory or another special file, locked by a program that writes it. BAD_DATA: empty, not
 * HDF5, truncated. The message names the file and says what to do. */
stencil_status stencil_h5_open(const char *path, hid_t *file);

/* File access properties for reading, by a driver that opens regular files only; or for writing into the
 * descriptor of a sink (borrowed; NULL: none), which keeps failures. To be closed; negative on failure. */
hid_t stencil_h5_access(stencil_sink *sink);

/* Moves bytes of a file from `offset` on into `to`, or where that is NULL, there from `from`. How many there
 * were before its end; -1 on failure, with errno. */
int64_t stencil_h5_bytes(int fd, int64_t offset, void *to, const void *from, int64_t bytes);

/* Reads the state of an open file from the system; false on failure. */
bool stencil_file_state_read(int fd, stencil_file_state *state);

/* BAD_DATA where HDF5's last failure was a version that it does not know: a newer one made the file. `name`
 * is the part of the file that was asked for; "": all of it. */
stencil_status stencil_h5_check_version(const char *path, const char *name);

/* BAD_DATA where a dataset is packed with a filter that HDF5 does not have here. `failed`: it cannot be read,
 * and each filter of it may be why. */
stencil_status stencil_h5_check_filters(hid_t dataset, const char *path, const char *name, bool failed);

/* A new dataset without object times and fill values (all of it is going to be written): contiguous, or a
 * list that grows by chunks of so many elements (0: it does not). Negative on failure, reason remembered. */
hid_t stencil_h5_create(hid_t file, const char *name, int rank, const int64_t *extent, hid_t file_type,
                        int64_t grows);

/* IO where that part of a file was not written, with HDF5's reason. */
stencil_status stencil_h5_check_written(bool written, const char *path, const char *what);

/* A contiguous one, written whole from values of the native type. IO. */
stencil_status stencil_h5_write(hid_t file, const char *path, const char *name, int rank,
                                const int64_t *extent, hid_t file_type, const void *values);

/* Reads or (write) writes a box of a dataset of rank 2 or 3, in indices of its own; negative on failure, with
 * the reason remembered. */
herr_t stencil_h5_box(hid_t dataset, const stencil_box *box, hid_t type, const stencil_cells *cells,
                      bool write);

/* A dataset of numbers, of any shape and type, wherever its values stand. */
typedef struct stencil_dataset {
    const char *path, *name; /* of the file; of the dataset, from the root on; borrowed */
    hid_t id;                /* 0 or negative: not open */
    stencil_numbers is;
    size_t element_bytes;
    bool floating;
    int64_t unwritten;             /* elements that nobody wrote */
    struct stencil_chunks *chunks; /* see inputs/chunks.h; NULL: HDF5 reads it */
} stencil_dataset;

/* Opens a dataset of integers or floating-point numbers of an open file, which may not exist (id 0).
 * BAD_DATA: it is something else, or cannot be read whole, since a source of a virtual dataset or a file of
 * an external one is missing or too short (HDF5 would read zeros). `advice` ends messages about what the
 * dataset is; NULL: "give …", for a problem. */
stencil_status stencil_dataset_open(stencil_dataset *dataset, hid_t file, const char *path, const char *name,
                                    const char *advice);

/* Looks at the chunks of sources of a virtual dataset: HDF5 takes short ones for whole. BAD_DATA. */
stencil_status stencil_dataset_check_sources(hid_t file, const char *path, const char *name);

/* Reads the elements from number `first` on, counted in array order and converted to `memory_type`: as many
 * as are a block of the array, at most `most` (*count). BAD_DATA. */
stencil_status stencil_dataset_read(const stencil_dataset *dataset, int64_t first, int64_t most,
                                    hid_t memory_type, void *values, int64_t *count);

void stencil_dataset_close(stencil_dataset *dataset);

/* A variable that is closed at the end of its scope; initialise with {0}. */
#define STENCIL_DATASET __attribute__((cleanup(stencil_dataset_close))) stencil_dataset

/* Tells whether the values of an open dataset stand in other files. */
bool stencil_dataset_elsewhere(hid_t dataset);

/* Elements of an open dataset that is not virtual which were never written, as far as its layout tells: space
 * that was taken for them beforehand does not. `within`: of that selection of its dataspace; 0: of all. */
int64_t stencil_cells_unwritten(hid_t dataset, hid_t within);

/* Elements that no source of a virtual dataset gives, from its creation properties and its dataspace. */
int64_t stencil_cells_unmapped(hid_t create, hid_t space);

/* Bytes of a chunk of an open dataset, unpacked; 0: it has none. */
int64_t stencil_dataset_chunk_bytes(hid_t dataset);

/* Bytes of the values of an open dataset, unpacked; INT64_MAX where they cannot be counted. */
int64_t stencil_dataset_bytes(hid_t dataset);

/* Attributes of HDF5 objects, read tolerantly (scalar or array, any width, any kind of string) and written
 * plainly. What the values are in the program; in a file that we write: float64, int64, UTF-8. */
typedef enum stencil_attribute_type {
    STENCIL_ATTRIBUTE_TEXT, /* char[]; one */
    STENCIL_ATTRIBUTE_WORD, /* an enumeration, the index of a word */
    STENCIL_ATTRIBUTE_REAL, /* double */
    STENCIL_ATTRIBUTE_WHOLE /* int64_t, at most STENCIL_STEPS_MAX */
} stencil_attribute_type;

typedef struct stencil_attribute {
    const char *name;
    stencil_attribute_type type;
    size_t chars;             /* room of a TEXT, which is cut */
    const char *const *words; /* that a TEXT or WORD may be, "" not; NULL: anything */
    int64_t least;            /* that a WHOLE may be; a REAL: 1 means more than 0, -1 any */
    bool infinite;            /* a REAL may be infinite, too */
    int axes;                 /* a list: one value for all of them or one for each; 0: one value */
    const char *wanted;       /* what is allowed, beside words and limits */
} stencil_attribute;

/* *count is 0 where there is no such attribute. BAD_DATA with what is allowed: a wrong type, length or value.
 */
stencil_status stencil_attribute_read(hid_t object, const char *path, const stencil_attribute *attribute,
                                      void *values, int *count);

/* Reads an attribute of one text, which is cut; false, and "" where it is none. */
bool stencil_attribute_text(hid_t object, const char *name, char *text, size_t chars);

/* A new attribute: a scalar for count 1, else an array. IO on failure. */
stencil_status stencil_attribute_write(hid_t object, const char *path, const stencil_attribute *attribute,
                                       int count, const void *values);
