/* Datasets whose values stand in other files. */
#ifndef STENCIL_INPUTS_STORAGE_H
#define STENCIL_INPUTS_STORAGE_H

#include <hdf5.h>

#include "base/base.h"

/* BAD_DATA where a source of a virtual dataset or a file of an external one is missing or too short: HDF5
 * would read zeros. `name` is the dataset's, from the root on; it is not open. OK where there is none.
 * `depth`: 0, and one more for each virtual dataset that it is a source of. */
stencil_status stencil_storage_check(hid_t file, const char *path, const char *name, int depth);

/* Whether the values of the dataset stand in other files. */
bool stencil_storage_elsewhere(hid_t dataset);

/* Bytes of the values of a dataset, unpacked; INT64_MAX where they cannot be counted. */
int64_t stencil_storage_bytes(hid_t dataset);

#endif
