/* Tells whether the steps that a file counts were made with the arrays that stand in it. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Compares the cells, before the first step, with the digests of the problem's spec, if its origin counts
 * steps, and sets problem->origin.arrays. The history of other arrays is dropped: the count begins anew, as
 * for another problem; existing plans stay valid. Errors: NO_MEMORY; those of the reader. */
stencil_status stencil_origin_check(stencil_problem *problem, const stencil_reader *cells);

/* Does the same with what another process has found: its problem->origin.arrays. */
stencil_status stencil_origin_take(stencil_problem *problem, stencil_origin_arrays arrays);
