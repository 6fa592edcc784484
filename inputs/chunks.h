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

/* Reads a box, in indices of the dataset, as a native type: all threads unpack its chunks, or where these are
 * NULL, HDF5 reads it. Chunks that were read stay in memory, up to 256 MiB of them, for boxes that share
 * them. NULL, or what is wrong, valid until the next call of HDF5. */
const char *stencil_chunks_read(stencil_chunks *chunks, hid_t dataset, const stencil_box *box, hid_t type,
                                const stencil_cells *to);

/* Unpacks all chunks of such a dataset, and forgets them. NULL, or what is wrong with one. */
const char *stencil_chunks_check(hid_t dataset);

/* Tells whether a dataset has no chunk there, at that first element (index per axis). */
bool stencil_chunk_is_absent(hid_t dataset, const hsize_t *first);

/* The grid of chunks of any dataset. */
typedef struct stencil_chunk_grid {
    int rank;
    hsize_t extent[H5S_MAX_RANK], size[H5S_MAX_RANK]; /* of the dataset, and of a chunk, in cells; [rank] */
} stencil_chunk_grid;

/* False: there are no chunks. */
bool stencil_chunk_grid_read(stencil_chunk_grid *grid, hid_t dataset);

/* Counts the cells per axis of the chunk whose first cell that is, as far as the dataset goes. */
void stencil_chunk_part(const stencil_chunk_grid *grid, const hsize_t *first, hsize_t *count);

/* Goes to the first cell of the next chunk, in array order, of those that a box meets; false behind the last
 * one, and then at the first one again. */
bool stencil_chunk_next(const stencil_chunk_grid *grid, const hsize_t *from, const hsize_t *count,
                        hsize_t *first);
