/* Reading any HDF5 dataset as numbers, for the commands that compare files. */
#ifndef STENCIL_APP_H5FILE_H
#define STENCIL_APP_H5FILE_H

#include <hdf5.h>

#include "base/base.h"

/* A dataset of numbers in an open file. */
typedef struct h5_dataset {
    const char *path;   /* file name, borrowed */
    const char *name;   /* of the dataset, borrowed */
    const char *advice; /* what to do where it is not as it should be, borrowed */
    hid_t file, dataset;
    int rank;
    hsize_t extent[H5S_MAX_RANK];
    int64_t count; /* elements */
    char type[32]; /* "float64", "int32", "uint8" … */
} h5_dataset;

/* Opens a dataset of integers or floating-point numbers. Errors as stencil_h5_open(), BAD_DATA for the rest;
 * `advice` ends messages about the dataset.
 * *dataset is closed with h5_dataset_close() in any case. */
stencil_status h5_dataset_open(h5_dataset *dataset, const char *path, const char *name, const char *advice);

/* Reads the block [start, start+count) of every axis, in array order, converted to `memory_type`; `start`
 * NULL: all of it. */
stencil_status h5_dataset_read(const h5_dataset *dataset, const hsize_t *start, const hsize_t *count,
                               hid_t memory_type, void *values);

void h5_dataset_close(h5_dataset *dataset);

/* A whole number from an attribute or scalar dataset `name` of `group`. BAD_DATA where it is not there. */
stencil_status h5_read_integer(hid_t file, const char *path, const char *group, const char *name,
                               int64_t *value);

/* A text, likewise, into `text`; "" where it is not there. */
stencil_status h5_read_text(hid_t file, const char *path, const char *group, const char *name, char *text,
                            size_t size);

#endif
