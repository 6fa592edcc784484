/* Values behind stored numbers, by the attributes of the conventions of netCDF ("Attribute Conventions" of
 * its User's Guide) and CF ("Packed data", "Missing data"). */
#pragma once

#include <hdf5.h>

#include "base/words.h"
#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

enum { STENCIL_MARKERS_MAX = 16 };

typedef struct stencil_values {
    bool packed;                 /* a value is scale times the stored number, plus offset, in double */
    double scale, offset;        /* 1 and 0 where they are not given */
    stencil_precision precision; /* of packed numbers: that of the wider of the two attributes */
    int filled, marker_count;    /* markers that _FillValue gives, and with missing_value all of them */
    bool by_default;             /* the last one is HDF5's fill value, which no attribute names */
    double marker[STENCIL_MARKERS_MAX]; /* stored numbers of cells without a value; NaN as well */
    bool has_nan;                       /* among them */
    double least, most;                 /* stored numbers that valid_range, valid_min and valid_max allow */
} stencil_values;

/* Reads the attributes of an open dataset that say what its stored numbers mean; messages call it `name`.
 * BAD_DATA: an attribute whose value can have no such meaning. */
stencil_status stencil_values_read(stencil_values *values, hid_t dataset, const char *path, const char *name);

/* The value of a stored number. */
static inline double stencil_values_unpack(const stencil_values *values, double stored) {
    return values->packed ? stored * values->scale + values->offset : stored;
}

/* Notes that an array is packed, and what becomes of it. */
void stencil_values_note(const stencil_values *values, const char *name, const char *result,
                         stencil_notes *notes);

/* The same attributes of a copy of the dataset in another precision, whose values are unpacked: what it was
 * packed with is gone, markers and limits have its type. IO. */
stencil_status stencil_values_write(const stencil_values *values, hid_t dataset, stencil_precision precision,
                                    const char *path, const char *name);
