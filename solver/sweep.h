/* What the host has to know about a sweep: one C file each in sweeps/, ending in a table; kernels/sweeps.def
 * lists them. Its kernels and its CPU twin are kernels/sweeps/NAME.cuh. Internal to solver/. */
#pragma once

#include "solver/run.h"

/* Name and summary stand in the .def file. */
typedef struct stencil_sweep_host {
    int depth;    /* steps from one exchange of ghost cells to the next */
    bool streams; /* its CPU twin can store results past the cache */
    double guess; /* what a cell takes beside bytes and fma, where nobody has measured it; 0: 1 */
    /* Divides parts of up to n cells (z, y, x) among the blocks of a GPU that holds `slots` of the plan's
     * kernel at once: threads of a block (STENCIL_BLOCK_THREADS) and cells of a tile go into the plan. */
    void (*shape)(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3], int64_t slots);
    /* Bytes that must move per cell and step. NULL: every array once. */
    double (*traffic)(const stencil_problem *problem);
    /* "", or why it cannot run a problem. NULL: it can run them all. */
    const char *(*unavailable)(const stencil_problem *problem);
} stencil_sweep_host;

/* As in the table. */
double stencil_sweep_traffic(stencil_sweep_id sweep, const stencil_problem *problem);
const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem);
