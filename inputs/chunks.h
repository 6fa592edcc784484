/* Reading of datasets of rank 1 to 3 whose chunks have passed filters, such as gzip. */
#pragma once

#include "inputs/h5.h"

typedef struct stencil_chunks stencil_chunks;

/* Opens a dataset; HDF5 caches none of its chunks where this code unpacks them. `usual`: access properties
 * for other datasets. Closed by the caller; negative on failure. */
hid_t stencil_chunks_dataset(hid_t file, const char *name, hid_t usual);

/* Prepares reading of a dataset (borrowed) by chunks. NULL: it has no filtered chunks, so that HDF5 reads it,
 * or memory ran out. */
stencil_chunks *stencil_chunks_open(hid_t dataset);
void stencil_chunks_close(stencil_chunks *chunks);

/* Reads a box (dataset indices) as a native type: all threads unpack its chunks; with `chunks` NULL, HDF5
 * reads it. Unpacked chunks, up to 256 MiB, stay in memory for boxes that share them. Returns NULL, or what
 * is wrong, valid until the next HDF5 call. */
const char *stencil_chunks_read(stencil_chunks *chunks, hid_t dataset, const stencil_box *box, hid_t type,
                                const stencil_cells *to);

/* Unpacks all chunks of a dataset with filters and discards them. Returns NULL, or what is wrong with a
 * chunk. */
const char *stencil_chunks_check(hid_t dataset);

/* Tells whether the chunk with that first element (index per axis) is not allocated in the file. */
bool stencil_chunk_is_absent(hid_t dataset, const hsize_t *first);

/* Extents of a dataset and of its chunks. */
typedef struct stencil_chunk_grid {
    int rank;
    hsize_t extent[H5S_MAX_RANK], size[H5S_MAX_RANK]; /* cells of the dataset and of a chunk, [rank] */
} stencil_chunk_grid;

/* Reads extents of a dataset and its chunks. False: the dataset is not chunked. */
bool stencil_chunk_grid_read(stencil_chunk_grid *grid, hid_t dataset);

/* Gets the cells per axis of the chunk with that first cell, clipped to the dataset. */
void stencil_chunk_part(const stencil_chunk_grid *grid, const hsize_t *first, hsize_t *count);

/* Advances `first` to the first cell of the next chunk, in array order, that intersects the box; after the
 * last chunk returns false and sets `first` to the first chunk. */
bool stencil_chunk_next(const stencil_chunk_grid *grid, const hsize_t *from, const hsize_t *count,
                        hsize_t *first);
