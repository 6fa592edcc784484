/* The filters that chunks of a dataset have passed. gzip, shuffle and fletcher32 are undone here, others are
 * HDF5's affair. */
#pragma once

#include "inputs/h5.h"

enum { STENCIL_FILTERS_MAX = 32, STENCIL_FILTER_VALUES = 8 };

typedef struct stencil_filters {
    int count;
    H5Z_filter_t id[STENCIL_FILTERS_MAX];                       /* in the order of writing */
    unsigned value[STENCIL_FILTERS_MAX][STENCIL_FILTER_VALUES]; /* the first parameters of each */
    uint32_t others;                                            /* bits of those that are HDF5's affair */
    size_t elements, element; /* cells of a chunk; bytes of one as it is stored */
} stencil_filters;

/* False: there are none, or one of them is there twice. */
bool stencil_filters_read(stencil_filters *filters, hid_t create, size_t elements, size_t element);

/* The most bytes that a packed chunk has: gzip and its like add less to cells that they cannot pack. */
size_t stencil_filters_packed_most(const stencil_filters *filters);

/* Bytes of a chunk, on their way through the filters. */
typedef struct stencil_bytes {
    unsigned char *at; /* owned by the caller, whatever comes; replaced on the way */
    size_t count;
} stencil_bytes;

/* Undoes the filters in the reverse order of writing; `skipped`: bits of those that the chunk has not passed.
 * Ends before the first one that is HDF5's affair, once the bytes can be all that this one needs. NULL, or
 * what is wrong. */
const char *stencil_filters_undo(const stencil_filters *filters, uint32_t skipped, stencil_bytes *bytes);

/* The fault that is told where there is no memory, here and in inputs/chunks.h. */
extern const char stencil_filters_no_memory[];

/* Tells whether that finds out about a short chunk, whichever filters are HDF5's affair. */
bool stencil_filters_are_checked(const stencil_filters *filters);
