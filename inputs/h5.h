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

/* Closes what is open, whatever it is. A failure before stays known to stencil_h5_reason(). */
static inline void stencil_handle_close(const hid_t *id) {
    if (*id < 0)
        return;
    stencil_h5_reason();
    H5Idec_ref(*id);
}

/* A handle of HDF5 that is closed at the end of its scope; negative: nothing is open. What is written closes
 * by hand, since that fails. */
#define STENCIL_HANDLE __attribute__((cleanup(stencil_handle_close))) const hid_t

/* The native type, or in a file IEEE little endian; not to be closed. */
hid_t stencil_h5_type(stencil_precision precision, bool in_file);

/* Opens any HDF5 file for reading; *file is closed by the caller, negative on failure. NO_INPUT: missing,
 * unreadable, a directory or another special file, locked by a program that writes it. BAD_DATA: empty, not
 * HDF5, truncated. The message names the file and says what to do. */
stencil_status stencil_h5_open(const char *path, hid_t *file);

/* A new contiguous dataset without object times and fill values (all of it is going to be written); negative
 * on failure, with the reason remembered. */
hid_t stencil_h5_create(hid_t file, const char *name, int rank, const int64_t *extent, hid_t file_type);

/* The same in a file, written whole from values of the native type. IO. */
stencil_status stencil_h5_write(hid_t file, const char *path, const char *name, int rank,
                                const int64_t *extent, hid_t file_type, const void *values);

/* Reads or (write) writes a box of a dataset of rank 2 or 3, in indices of its own; negative on failure, with
 * the reason remembered. */
herr_t stencil_h5_box(hid_t dataset, const stencil_box *box, hid_t type, const stencil_cells *cells,
                      bool write);

#endif
