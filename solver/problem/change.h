/* The residual as a field: the change u' - u that a plain step makes from a field, cell by cell. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* The field that steps are to be made from, whose source the reader reads, too: the context of a
 * stencil_reader with stencil_change_read(). */
typedef struct stencil_change {
    const stencil_problem *problem;
    stencil_reader from;
    int64_t steps; /* steps that the field has gone through */
} stencil_change;

/* Reads, in float64, (double)u' - (double)u of the cells of a box, 0 in boundary cells and in cells that keep
 * their values. The sweep that runs on CPUs makes u' in the precision of the problem, with the weights of a
 * plain step (omega = 1 of an accelerated problem): the norm of all cells, summed as kernels/residual.h says,
 * is the residual of a plain step that follows, to the last bit. `array` is STENCIL_ARRAY_U. Errors:
 * NO_MEMORY; those of the reader. */
stencil_status stencil_change_read(void *change, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);
