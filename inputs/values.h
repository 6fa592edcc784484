/* Conversion of stored numbers to values, by the attributes of the conventions of netCDF ("Attribute
 * Conventions" of its User's Guide) and CF ("Packed data", "Missing data"). */
#pragma once

#include <hdf5.h>

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

enum { STENCIL_MARKERS_MAX = 16 };

typedef struct stencil_values {
    bool packed;                        /* a value is scale times the stored number, plus offset, in double */
    double scale, offset;               /* 1 and 0 by default */
    stencil_precision precision;        /* of unpacked values: the wider one of scale_factor and add_offset */
    int filled, marker_count;           /* number of markers from _FillValue, and of all markers */
    bool by_default;                    /* the last marker is HDF5's fill value, which no attribute names */
    double marker[STENCIL_MARKERS_MAX]; /* stored numbers of cells without a value; NaN as well */
    bool has_nan;                       /* whether NaN is a marker */
    double least, most;                 /* stored numbers that valid_range, valid_min and valid_max allow */
} stencil_values;

/* Reads the attributes that say how an open dataset's stored numbers become values; messages call it `name`.
 * Errors: BAD_DATA: an attribute has a value that is not valid for this. */
stencil_status stencil_values_read(stencil_values *values, hid_t dataset, const char *path, const char *name);

/* Converts a stored number to its value. */
static inline double stencil_values_unpack(const stencil_values *values, double stored) {
    return values->packed ? stored * values->scale + values->offset : stored;
}

/* Adapts the attributes of an unpacked copy of a dataset in another precision: removes scale_factor and
 * add_offset, converts markers and limits to its type. Errors: IO. */
stencil_status stencil_values_write(const stencil_values *values, hid_t dataset, stencil_precision precision,
                                    const char *path, const char *name);
