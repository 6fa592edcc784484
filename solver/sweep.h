/* What the host has to know about a sweep. Its kernels and its CPU twin are kernels/sweeps/NAME.cuh;
 * kernels/sweeps.def lists them. Internal to solver/. */
#ifndef STENCIL_SOLVER_SWEEP_H
#define STENCIL_SOLVER_SWEEP_H

#include "solver/problem.h"
#include "solver/run.h"

/* Whether a thread walks through rows, on a GPU, and the CPU twin can store results past the cache. */
bool stencil_sweep_streams(stencil_sweep_id sweep);

/* How the plan's sweep divides parts among the blocks of a GPU: threads of a block (STENCIL_BLOCK_THREADS)
 * and cells of a tile. For parts of up to n cells (z, y, x), on a GPU that holds `slots` blocks of the plan's
 * kernel at once. */
void stencil_sweep_shape(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                         int64_t slots);

#endif
