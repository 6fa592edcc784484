/* What reader, writer and generator share of HDF5. */
#ifndef STENCIL_INPUTS_H5_H
#define STENCIL_INPUTS_H5_H

#include <hdf5.h>

#include "solver/problem.h"

/* Turns off HDF5's own error printing; called first by everything that uses HDF5. */
void stencil_h5_quiet(void);

/* HDF5's innermost description of its last failure, for messages; valid until the next call in this thread.
 * A successful call of HDF5 forgets failures: ask before closing anything, then it is remembered here. */
const char *stencil_h5_reason(void);

/* "a string", "a compound type", … for messages. */
const char *stencil_h5_class_text(H5T_class_t type_class);

hid_t stencil_h5_native_type(stencil_precision precision); /* not to be closed */
hid_t stencil_h5_file_type(stencil_precision precision);   /* IEEE little endian, not to be closed */

/* Opens any HDF5 file for reading; *file is closed by the caller, negative on failure. NO_INPUT: missing,
 * unreadable, a directory or another special file, locked by a program that writes it. BAD_DATA: empty, not
 * HDF5, truncated. The message names the file and says what to do. */
stencil_status stencil_h5_open(const char *path, hid_t *file);

/* Whether `name` (an absolute path, or one relative to `file`) is a link that leads nowhere. */
bool stencil_h5_dangling(hid_t file, const char *name);

/* A new contiguous dataset without object times and fill values (all of it is going to be written); negative
 * on failure, with the reason remembered. */
hid_t stencil_h5_create(hid_t parent, const char *name, int rank, const hsize_t *size, hid_t file_type);

/* The same, written as well: the selection of `memory` (may be H5S_ALL) is the whole dataset. */
herr_t stencil_h5_write(hid_t parent, const char *name, int rank, const hsize_t *size, hid_t file_type,
                        hid_t memory_type, hid_t memory, const void *values);

/* Memory space of the window of a padded field that holds the array (the cells of /u, rims of fixed axes
 * included), and the address it is relative to. The space is closed by the caller; negative on failure. */
hid_t stencil_h5_window_space(const stencil_problem *problem, stencil_field *field, void **base);

/* A box of cells of an array, in (z, y, x); a 2D array has one plane. Zero-initialise before the first call.
 */
typedef struct stencil_h5_block {
    int64_t first[3], count[3];
    int64_t cells;
} stencil_h5_block;

/* Goes on to the next box of at most `cells_max` cells; together they cover the array once, each a contiguous
 * run of cells in array order. false after the last one. */
bool stencil_h5_block_next(stencil_h5_block *block, const int64_t extent[3], int64_t cells_max);

/* Most cells of any block: size of a buffer for all of them. */
int64_t stencil_h5_block_cells(const int64_t extent[3], int64_t cells_max);

/* Reads or writes the block of a dataset of rank 2 or 3 from a dense buffer of block->cells values. */
herr_t stencil_h5_block_read(hid_t dataset, int rank, const stencil_h5_block *block, hid_t type,
                             void *values);
herr_t stencil_h5_block_write(hid_t dataset, int rank, const stencil_h5_block *block, hid_t type,
                              const void *values);

#endif
