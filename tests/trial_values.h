/* Arrays of a trial: cells (z, y, x) of its extent, in its precision. */
#pragma once

#include "trial.h"

static inline void trial_store(stencil_precision precision, void *array, int64_t at, double value) {
    if (precision == STENCIL_FLOAT64)
        ((double *)array)[at] = value;
    else
        ((float *)array)[at] = (float)value;
}

static inline double trial_load(stencil_precision precision, const void *array, int64_t at) {
    return precision == STENCIL_FLOAT64 ? ((const double *)array)[at] : (double)((const float *)array)[at];
}

static inline int64_t trial_cells(const trial *t) {
    return t->reference.extent[0] * t->reference.extent[1] * t->reference.extent[2];
}
