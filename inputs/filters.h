/* The filters of a chunked dataset. This code undoes gzip, shuffle and fletcher32; HDF5 undoes other filters.
 */
#pragma once

#include "inputs/h5.h"

enum { STENCIL_FILTERS_MAX = 32, STENCIL_FILTER_VALUES = 8 };

typedef struct stencil_filters {
    int count;
    H5Z_filter_t id[STENCIL_FILTERS_MAX];                       /* filters in the order of writing */
    unsigned value[STENCIL_FILTERS_MAX][STENCIL_FILTER_VALUES]; /* the first parameters of each filter */
    uint32_t others;          /* bit mask of the filters that only HDF5 undoes */
    size_t elements, element; /* cells of a chunk; bytes of a stored cell */
} stencil_filters;

/* Reads the filters from creation properties. False: there are none, or one of them occurs twice. */
bool stencil_filters_read(stencil_filters *filters, hid_t create, size_t elements, size_t element);

/* Returns the most bytes that a packed chunk may have: gzip and similar filters add little to incompressible
 * cells. */
size_t stencil_filters_packed_most(const stencil_filters *filters);

/* The bytes of a chunk between filters. */
typedef struct stencil_bytes {
    unsigned char *at; /* owned by the caller, also after a failure; each filter may replace it */
    size_t count;
} stencil_bytes;

/* Undoes the filters in the reverse order of writing; `skipped`: bit mask of filters that the chunk has not
 * passed. Stops before the first filter that only HDF5 undoes, after checking that its input is long enough.
 * Returns NULL, or what is wrong. */
const char *stencil_filters_undo(const stencil_filters *filters, uint32_t skipped, stencil_bytes *bytes);

/* Text of the fault for failed allocations, here and in inputs/chunks.h. */
extern const char stencil_filters_no_memory[];

/* Tells whether stencil_filters_undo() detects every short chunk, also with filters that only HDF5 undoes. */
bool stencil_filters_are_checked(const stencil_filters *filters);
