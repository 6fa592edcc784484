/* Tells whether the steps that a file counts were made with the arrays that stand in it. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Compares the cells with the digests of the spec that the problem was made from, where its origin counts
 * steps, and keeps what it finds in problem->origin.arrays. A history of other arrays is dropped: the count
 * begins anew, as for another problem. `cells`: those that the steps will be made of, before the first one,
 * such as those of an open run, which takes up the origin when it is driven; plans made before stay possible.
 * NO_MEMORY; what the reader fails with. */
stencil_status stencil_origin_check(stencil_problem *problem, const stencil_reader *cells);
