#include "long_lists.h"

#include "sync/neighbor.cuh"

static __global__ void pass(const __grid_constant__ long_lists_passes p) {
    stencil::neighbor_barrier barrier(p.state);
    uint32_t missing = 0;
    for (int64_t i = 1; i <= p.passes; i++) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            __nanosleep(50000);
            __stcg(p.done, (uint32_t)i);
        }
        barrier.sync(i);
        if (blockIdx.x == 1 && threadIdx.x == 0)
            missing += __ldcg(p.done) < (uint32_t)i;
    }
    barrier.leave();
    if (missing > 0)
        *p.missing = missing;
}

const void *long_lists_kernel(void) {
    return reinterpret_cast<const void *>(&pass);
}
