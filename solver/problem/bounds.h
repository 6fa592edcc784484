/* Bounds of the eigenvalues of a relaxation whose matrix is not that of a box (walls that exchange, a flux on
 * a side alone, insulated cells, fixed cells without a fixed axis): the largest one by Gershgorin's discs, a
 * bound; the least one by Lanczos' method, an estimate.
 *
 * I - J of the cells that are updated is symmetric in the inner product in which a cell counts half for each
 * wall that goes through it. Lanczos' method (C. Lanczos, J. Res. Natl. Bur. Stand. 45, 1950) makes from a
 * positive vector tridiagonal matrices T_k. Their least eigenvalue theta falls towards that of I - J: with
 * the last component s of its vector, some eigenvalue lies within beta_k |s| of it. The slowest mode has no
 * zeros where cells are joined, so that a positive vector always has a part of it. It ends where beta_k |s|
 * is under a twentieth of theta, and takes 0.9 (theta - beta_k |s|). No bound: where two rooms hardly differ,
 * another eigenvalue may be meant. Lost orthogonality makes copies of eigenvalues and moves none. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Tells whether the least eigenvalue of problem laplace or poisson is known by an estimate alone. With /k
 * there is none: the matrix is symmetric in another inner product, and only the bounds of cycle.c hold. */
bool stencil_bounds_are_estimated(const stencil_problem *problem);

/* Tells whether a run needs that estimate: for a bound on its error, or for its cycles. */
bool stencil_bounds_are_needed(const stencil_problem *problem);

/* Tells whether residuals of plain steps, or of cycles, show that an estimate is wrong: they fell by less in
 * exact arithmetic than with such eigenvalues they could. Residuals near the `resolution` of the precision
 * show nothing. The norm `max` and walls through cells, whose residuals need not fall evenly, show nothing
 * either. */
bool stencil_estimate_is_refuted(const stencil_problem *problem, const stencil_history *history,
                                 double resolution);

/* Makes the estimate: sets problem->estimate. To be called after stencil_classes_find(), from whose reader it
 * takes classes. Where a solution is known up to a constant at best (a pocket), where it takes more than
 * `most_updates` updates of cells, or memory lacks, it stays unknown, with its steps. All runs of a problem
 * find the same bits, with any number of threads. Errors: those of the reader. */
#define STENCIL_BOUNDS_UPDATES 3e10
stencil_status stencil_bounds_estimate(stencil_problem *problem, const stencil_reader *from,
                                       double most_updates);
