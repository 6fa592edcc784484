/* Kernels of the benchmark grid. Internal to it. */
#ifndef STENCIL_BENCH_GRID_KERNELS_H
#define STENCIL_BENCH_GRID_KERNELS_H

#include "sync/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What stands beside the barriers of barriers.def: the library's grid.sync() as it is, and `cluster` with the
 * hardware's barrier, both without a time limit, to see what one costs; and a barrier that does not hold,
 * planted to see that it is found: it arrives without releasing what its block wrote, without waiting for it
 * even. */
enum {
    STENCIL_GRID_LIBRARY = STENCIL_BARRIER_none,
    STENCIL_GRID_HARDWARE = STENCIL_BARRIER_COUNT,
    STENCIL_GRID_FAULT,
    STENCIL_GRID_COUNT
};

/* Kernel with a stencil_passes that passes the barrier; with `verify`, everybody looks each time whether
 * those that it waits for have arrived, and some come late. */
const void *stencil_grid_kernel(int barrier, bool verify);

#ifdef __cplusplus
}
#endif
#endif
