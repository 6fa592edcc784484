/* A file of the differences between two datasets, which programs read as they read results. */
#pragma once

#include "inputs/inputs.h"

/* One of the two datasets: an open file, of which it is the dataset opened last, and its name there. */
typedef struct stencil_differing {
    stencil_input *input;
    const stencil_numbers *is;
    const char *name;
} stencil_differing;

typedef struct stencil_difference {
    stencil_differing a, b;   /* of the same shape, of rank 2 or 3 */
    const stencil_spec *like; /* the problem of `a`, for spacing and boundary; NULL: unknown */
    const char *path;         /* file to write, as stencil_sink_open() does */
    bool force;
    const char *command_line;
} stencil_difference;

/* Writes a - b of each cell, in double, as the field /difference: 0 where the two are equal, two NaN
 * included, NaN where only one is. The file has coordinates, /VTKHDF and /provenance. Errors: BAD_DATA: no
 * field, or under 3 cells along an axis; CANNOT_CREATE, IO, NO_MEMORY. */
stencil_status stencil_difference_write(const stencil_difference *difference);
