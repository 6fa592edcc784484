/* Reading of datasets of rank 1 to 3 whose chunks have passed filters, such as gzip. */
#pragma once

#include "inputs/h5.h"

typedef struct stencil_chunks stencil_chunks;

/* Opens a dataset so that HDF5 keeps no chunks of it where they are read here; `usual`: its access properties
 * otherwise. Closed by the caller; negative on failure. */
hid_t stencil_chunks_dataset(hid_t file, const char *name, hid_t usual);

/* NULL: the dataset is stored otherwise (HDF5 reads it), or there is no memory. It is borrowed. */
stencil_chunks *stencil_chunks_open(hid_t dataset);
void stencil_chunks_close(stencil_chunks *chunks);

/* Reads a box, in indices of the dataset, as a native type: all threads unpack. Chunks that were read stay in
 * memory, up to 256 MiB of them, for boxes that share them. NULL, or what is wrong, valid until the next call
 * of HDF5. */
const char *stencil_chunks_read(stencil_chunks *chunks, const stencil_box *box, hid_t type,
                                const stencil_cells *to);

/* Unpacks all chunks of such a dataset, and forgets them. NULL, or what is wrong with one. */
const char *stencil_chunks_check(hid_t dataset);

/* Tells whether a dataset has no chunk there, at that first element (index per axis). */
bool stencil_chunk_is_absent(hid_t dataset, const hsize_t *first);

/* The fault that stencil_chunks_read() returns where there is no memory. */
extern const char stencil_chunks_no_memory[];
