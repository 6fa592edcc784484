/* From a problem to what the kernels are told. Internal to solver/. */
#ifndef STENCIL_SOLVER_DOMAIN_H
#define STENCIL_SOLVER_DOMAIN_H

#include "kernels/sweep.h"
#include "solver/problem.h"

/* Extents, rims and weights of the whole problem; buffers are bases of allocations with problem->layout.
 * b may be NULL. Borrows everything. */
void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, void *u0, void *u1,
                         const void *b, double *chunk);

void stencil_schedule_init(stencil_schedule *schedule, const stencil_problem *problem);

/* Values in all levels of folding together (at least 1). */
int64_t stencil_fold_scratch_count(int64_t chunk_count);

#endif
