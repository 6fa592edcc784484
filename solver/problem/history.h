#pragma once

#include "base/base.h"

/* Residuals of checked steps, in their order. Zero-initialise. */
typedef struct stencil_history {
    int64_t count;
    int64_t *step;    /* [count], owned */
    double *residual; /* [count], owned */
} stencil_history;

/* Appends the residual of a checked step. Errors: NO_MEMORY. */
stencil_status stencil_history_add(stencil_history *history, int64_t step, double residual);
/* The last residual; NaN for an empty history. */
double stencil_history_last(const stencil_history *history);
void stencil_history_destroy(stencil_history *history);
