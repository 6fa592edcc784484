/* Kernels of the benchmark multi-grid. Internal to it. */
#ifndef STENCIL_BENCH_MULTI_GRID_KERNELS_H
#define STENCIL_BENCH_MULTI_GRID_KERNELS_H

#include <stdbool.h>

#include "sync/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What stands beside the barriers of barriers.def: one that does not hold, planted to see that it is found.
 * It waits for the blocks of its own GPU and releases nothing to the others. */
enum { STENCIL_MULTI_GRID_FAULT = STENCIL_BARRIER_COUNT };

/* Kernel with a stencil_passes that passes the barrier; with `verify`, everybody looks each time
 * whether those that it waits for have arrived, on other GPUs first, and some come late. */
const void *stencil_multi_grid_kernel(int barrier, bool verify);

/* Kernel with a stencil_passes in which only the first `blocks` blocks pass the barrier, once. */
const void *stencil_multi_grid_part_kernel(void);

#ifdef __cplusplus
}
#endif
#endif
