/* The coefficients of a problem with /k, as its cells say. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Reads /k slab by slab, notes in problem->spec.k what its cells say together, and resolves the problem
 * again, with `spec` as it was stated: the largest stable dt and all that follows from it. Does nothing
 * without /k. To be called after stencil_problem_resolve(), and before the history and the classes of cells
 * are read. `from` borrows *problem. Errors: BAD_DATA where a cell that is not insulated has a k that is no
 * positive number, or weights leave the precision of the run; those of stencil_problem_resolve(); NO_MEMORY;
 * those of the reader. */
stencil_status stencil_coefficients_find(stencil_problem *problem, const stencil_spec *spec,
                                         const stencil_reader *from);
