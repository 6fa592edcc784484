/* What the host has to know about a sweep: one C file each in sweeps/, ending in a table; kernels/sweeps.def
 * lists them. Its kernels and its CPU twin are kernels/sweeps/NAME.cuh. Internal to solver/. */
#ifndef STENCIL_SOLVER_SWEEP_H
#define STENCIL_SOLVER_SWEEP_H

#include "kernels/table.h"
#include "solver/run.h"

/* How a sweep divides a part among the blocks of a GPU. */
typedef struct stencil_sweep_shape {
    int block_x, block_y; /* threads of a block: STENCIL_BLOCK_THREADS */
    int64_t tile[3];      /* cells of a tile (z, y, x) */
} stencil_sweep_shape;

/* Name and summary stand in the .def file. */
typedef struct stencil_sweep_host {
    int depth;    /* steps from one exchange of ghost cells to the next */
    bool streams; /* its CPU twin can store results past the cache */
    /* For parts of up to n cells (z, y, x), on a GPU that holds `slots` blocks of the plan's kernel at once.
     */
    void (*shape)(stencil_sweep_shape *shape, const stencil_problem *problem, const stencil_plan *plan,
                  const int64_t n[3], int64_t slots);
    /* Bytes that must move per cell and step. NULL: every array once. */
    double (*traffic)(const stencil_problem *problem);
    /* "", or why it cannot run a problem. NULL: it can run them all. */
    const char *(*unavailable)(const stencil_problem *problem);
} stencil_sweep_host;

const stencil_sweep_host *stencil_sweep_row(stencil_sweep_id sweep);

/* Cells of the halo along an axis that points reach `radius` far. */
int stencil_sweep_halo_width(stencil_sweep_id sweep, int radius);
/* As in the table. */
double stencil_sweep_traffic(stencil_sweep_id sweep, const stencil_problem *problem);
const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem);

#endif
