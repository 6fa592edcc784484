/* The part of a series' file that changes: the index of its chunks, and the counts of its frames. */
#pragma once

#include "inputs/series.h"

/* Writes bytes into the file. Errors: IO. */
stencil_status stencil_series_put(const stencil_series *series, uint64_t at, const void *from, int64_t bytes);

/* Writes the roots of indices without chunks, behind what HDF5 made, and their addresses at the places
 * `index`. Errors: IO. */
stencil_status stencil_index_create(stencil_series *series, const uint64_t index[STENCIL_SERIES_DATASETS]);

/* Enters chunk `number` of a dataset, counted over all frames, whose first cell is `offset` (frame, z, y, x)
 * and which takes `bytes` bytes at `address`. What readers know of is not changed. Errors: IO. */
stencil_status stencil_index_add(stencil_series *series, int dataset, int64_t number, const int64_t offset[4],
                                 uint64_t address, int64_t bytes);

/* Shows readers `count` frames, all of which are in the file. Errors: IO. */
stencil_status stencil_index_show(stencil_series *series, int64_t count);

/* Has /VTKHDF/Steps/Values follow NSteps as stencil_series_settle() does; waits until it may. */
void stencil_index_settle_all(stencil_series *series);

/* Ends the file behind its last frame. */
void stencil_index_trim(stencil_series *series);

/* Checks that the file has what series->at says, and shows the frames of that count alone; what is behind
 * them goes. Returns false where the file is another one. */
bool stencil_index_restore(stencil_series *series);

/* Packs bytes as HDF5's filter deflate does; returns how many they become, at most `most`; 0 on failure. */
int64_t stencil_index_pack(void *to, int64_t most, const void *from, int64_t bytes);
