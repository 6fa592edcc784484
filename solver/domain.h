/* From a problem and its cut to what the kernels are told. Internal to solver/. */
#ifndef STENCIL_SOLVER_DOMAIN_H
#define STENCIL_SOLVER_DOMAIN_H

#include "kernels/sweep.h"
#include "solver/boxes.h"
#include "solver/problem.h"

/* The arrays of all parts, of one layout: buffers that take turns, so that a step reads STENCIL_BUFFER_U +
 * its number % 2 and writes the other one, and the source term where there is one. */
enum { STENCIL_BUFFER_U, STENCIL_BUFFER_B = 2, STENCIL_BUFFERS };
typedef struct stencil_buffers {
    stencil_layout layout;
    int count; /* of each part: 2 or 3 */
    void *at[STENCIL_PARTS_MAX][STENCIL_BUFFERS];
} stencil_buffers;

/* Which of them holds an array of the problem after so many steps. */
static inline int stencil_buffer_of(stencil_array array, int64_t steps) {
    return array == STENCIL_ARRAY_U ? STENCIL_BUFFER_U + (int)(steps % 2) : STENCIL_BUFFER_B;
}

/* Cells of a part in one of them, from cell `first` of the part on. */
static inline stencil_cells stencil_buffer_cells(const stencil_buffers *buffers, int part, int buffer,
                                                 const int64_t first[3]) {
    return stencil_cells_in(&buffers->layout, buffers->at[part][buffer], first);
}

/* Set `set` of the problem's cycle of weights, in its precision. */
void stencil_weights_round(stencil_weights *weights, const stencil_problem *problem, int set);

/* Extents, ghost cells and weights (of the cycle's first step) of part `part`. `push`: the sweep writes the
 * ghost cells of the parts beyond; otherwise somebody copies them afterwards. Borrows everything. `chunk` is
 * left to the caller. */
void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, const stencil_cut *cut,
                         int part, const stencil_buffers *buffers, bool push);

#endif
