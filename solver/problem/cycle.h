/* Chebyshev acceleration of laplace and poisson: the damping of a step follows a cycle of length M, the
 * reciprocals of the roots of the Chebyshev polynomial that is smallest on the spectrum of I - J
 * (Richardson's method; Young 1954; as scheduled relaxation of Jacobi's method: Yang and Mittal, J. Comput.
 * Phys. 274, 2014, and Adsuara et al., J. Comput. Phys. 321, 2016). With eigenvalues from a to b a cycle
 * leaves at most 1/T of every part of the error, T = cosh(M acosh((b + a)/(b - a))), where M plain steps
 * leave (1 - a)^M.
 *
 * Roots near a have an omega in the thousands, which blows up whatever oscillates; others take it back, so a
 * field in mid-cycle is no approximation of anything. What rounding errors of a step go through is the
 * product of the factors of all later steps: in the order of Lebedev and Finogenov (USSR Comput. Math. Math.
 * Phys. 11, 1971) that stays small. M is a power of two, and from the order of M/2 roots each i becomes the
 * pair i, M + 1 - i. Root 1 is that nearest to a: in each pair the step with the large omega, whose own
 * rounding errors are as large, comes first, and the one that smooths follows. The other way round, residuals
 * ended 5 to 30 times higher. */
#pragma once

#include "solver/problem/problem.h"

enum { STENCIL_CYCLE_MOST = 65536 }; /* most steps of a cycle */

/* Parses "none" (length 1), "chebyshev" (0: as long as suits) or "chebyshev:M" (M). Errors: BAD_DATA. */
stencil_status stencil_accelerate_parse(const char *text, int64_t *length);

/* Sets the cycle of a problem whose boundary and updated cells are known by spec.accelerate, in which it
 * writes the length. Errors: BAD_DATA for other problems or another damping. */
stencil_status stencil_cycle_resolve(stencil_problem *problem);

/* Sets the eigenvalues of a cycle that are an estimate (bounds.h), once it is made. Until then `least` is 0,
 * and no step may be asked for. Errors: BAD_DATA where the cycle needs one and it is not known. */
stencil_status stencil_cycle_take_estimate(stencil_problem *problem);

/* Tells whether a cycle damps the steps of an accelerated problem; weights that are given step by step do
 * not. */
bool stencil_cycle_accelerates(const stencil_cycle *cycle);

/* Damping of the step that follows `step` steps, relative to the problem's own weights; 1 without a cycle. */
double stencil_cycle_omega(const stencil_problem *problem, int64_t step);

/* Weights and source factor of the step after `step` steps. */
stencil_step_weights stencil_cycle_step(const stencil_problem *problem, int64_t step);

/* The first step >= `step` that ends a cycle; INT64_MAX if that overflows. */
int64_t stencil_cycle_end(const stencil_problem *problem, int64_t step);

/* Factor by which a cycle shrinks the residual at its end at least; NaN without acceleration. */
double stencil_cycle_contraction(const stencil_problem *problem);

/* Factor by which the last change of a cycle, over its omega, can be larger than the residual at the end: the
 * field before that step lacks a root. NaN without acceleration. */
double stencil_cycle_excess(const stencil_problem *problem);
