/* From a problem and its cut to what the kernels are told. Internal to solver/. */
#ifndef STENCIL_SOLVER_DOMAIN_H
#define STENCIL_SOLVER_DOMAIN_H

#include "kernels/sweep.h"
#include "solver/problem.h"

/* The two buffers of each part: bases of allocations with one layout. */
typedef struct stencil_buffers {
    void *u[STENCIL_PARTS_MAX][2];
} stencil_buffers;

/* Set `set` of the problem's cycle of weights, in its precision. */
void stencil_weights_round(stencil_weights *weights, const stencil_problem *problem, int set);

/* Extents, ghost cells and weights (of the cycle's first step) of part `part`. b may be NULL. `push`: the
 * sweep writes the ghost cells of the parts beyond; otherwise somebody copies them afterwards. Borrows
 * everything. `chunk` is left to the caller. */
void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, const stencil_cut *cut,
                         int part, const stencil_layout *layout, const stencil_buffers *buffers,
                         const void *b, bool push);

/* Values in all levels of folding together (at least 1). */
int64_t stencil_fold_scratch_count(int64_t chunk_count);

#endif
