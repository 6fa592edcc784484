#include "meetings.h"

#include "kernels/address.cuh"
#include "sync/central.cuh"
#include "sync/cluster.cuh"
#include "sync/grid.cuh"
#include "sync/lock.cuh"
#include "sync/lock_free.cuh"
#include "sync/multi_grid.cuh"
#include "sync/neighbor.cuh"

/* Between two meetings neighbours wait for each other, where the barrier knows them. Barriers end and begin
 * again, as those of a run do between two passes. */
template <class Barrier> static __global__ void meet(const __grid_constant__ meetings m) {
    const uint32_t thread = stencil::thread_in_block(), all = m.state.parts * m.blocks;
    uint32_t wrong = 0;
    for (int64_t i = 1; i <= m.count;) {
        Barrier barrier(m.state);
        for (int k = 0; k < MEETINGS_PER_BARRIER && i <= m.count; k++, i++) {
            if (thread == 0)
                stencil::store_release_system(&m.come[m.state.part][blockIdx.x], (uint32_t)i);
            barrier.sync_all(i);
            if (thread < all) {
                const uint32_t come =
                    stencil::load_acquire_system(&m.come[thread / m.blocks][thread % m.blocks]);
                wrong += come != (uint32_t)i && come != (uint32_t)i + 1;
            }
            if constexpr (Barrier::local)
                barrier.sync(i);
        }
        barrier.leave();
        __syncthreads(); /* the next barrier starts from the state that this one leaves */
    }
    if (wrong > 0)
        atomicAdd(m.wrong, wrong);
}

const void *meetings_kernel(stencil_barrier_id id) {
    switch (id) {
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        return stencil::kernel_address(meet<stencil::id##_barrier>);
#include "sync/barriers.def"
    default:
        return nullptr;
    }
}
