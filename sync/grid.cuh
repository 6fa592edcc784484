/* Cooperative groups' grid barrier, the vendor's own. Needs a cooperative launch. Every thread's writes before
 * sync() are visible to every thread after it: the library fences at device scope around its counter. */
#ifndef STENCIL_SYNC_GRID_CUH
#define STENCIL_SYNC_GRID_CUH

#include <cooperative_groups.h>

#include "sync/barrier.h"

namespace stencil {

struct grid_barrier {
    cooperative_groups::grid_group grid;
    __device__ explicit grid_barrier(const stencil_barrier_state &) : grid(cooperative_groups::this_grid()) {}
    __device__ void sync() { grid.sync(); }
};

} // namespace stencil
#endif
