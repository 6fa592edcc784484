/* A dataset of numbers, of any shape and type, wherever its values stand. */
#ifndef STENCIL_INPUTS_DATASET_H
#define STENCIL_INPUTS_DATASET_H

#include <hdf5.h>

#include "base/base.h"

typedef struct stencil_dataset {
    const char *path, *name; /* of the file; of the dataset, from the root on; borrowed */
    hid_t id;                /* 0 or negative: not open */
    int rank;
    int64_t extent[H5S_MAX_RANK];
    int64_t count; /* elements */
    size_t element_bytes;
    bool floating;
    char type[32]; /* "float64", "int32", "uint8" … */
} stencil_dataset;

/* Opens a dataset of integers or floating-point numbers of an open file; its id is 0 where there is none.
 * BAD_DATA: it is something else, or cannot be read whole, since a source of a virtual dataset or a file of
 * an external one is missing or too short (HDF5 would read zeros). `advice` ends messages about what the
 * dataset is; NULL: "give …", for a problem. */
stencil_status stencil_dataset_open(stencil_dataset *dataset, hid_t file, const char *path, const char *name,
                                    const char *advice);

/* Reads the elements from number `first` on, counted in array order and converted to `memory_type`: as many
 * as are a block of the array, at most `most` (*count). BAD_DATA. */
stencil_status stencil_dataset_read(const stencil_dataset *dataset, int64_t first, int64_t most,
                                    hid_t memory_type, void *values, int64_t *count);

/* The index of an element per axis. */
void stencil_dataset_index(const stencil_dataset *dataset, int64_t element, int64_t index[H5S_MAX_RANK]);

void stencil_dataset_close(stencil_dataset *dataset);

/* A variable that is closed at the end of its scope; initialise with {0}. */
#define STENCIL_DATASET __attribute__((cleanup(stencil_dataset_close))) stencil_dataset

/* Whether the values of an open dataset stand in other files. */
bool stencil_dataset_elsewhere(hid_t dataset);

/* Bytes of the values of an open dataset, unpacked; INT64_MAX where they cannot be counted. */
int64_t stencil_dataset_bytes(hid_t dataset);

#endif
