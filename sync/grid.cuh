/* Cooperative groups' grid barrier, the vendor's own. The arrival is the library's, barrier_arrive(); the
 * library's wait has no time limit, so the word that it polls is polled here, in the same way. The library
 * adds with release, the polling acquires, both at device scope, and __syncthreads() stands on either side.
 * The word is the driver's and outlives the launch: after an alarm it is no longer to be trusted, and the
 * host resets the device. */
#pragma once

#include "sync/waits.h"

#ifdef __CUDACC__
#include <cooperative_groups.h>

namespace stencil {

struct grid_barrier {
    static constexpr bool local = false;
    using of_loop = grid_barrier;
    const stencil_barrier_state &s;
    __device__ explicit grid_barrier(const stencil_barrier_state &state) : s(state) {}

    __device__ void sync(int64_t step) {
        namespace cg = cooperative_groups;
        const cg::grid_group::arrival_token token = cg::this_grid().barrier_arrive();
        if (thread_in_block() == 0) {
            const unsigned int *word = &cg::details::get_grid_workspace()->barrier;
            spin(s, step, [&] { return cg::details::bar_has_flipped(token, load_acquire(word)); });
        }
        __syncthreads();
    }
    /* The same for the block's first warp alone, when all threads of the block have arrived. The library has
     * no arrival of a warp, so the addition is its own, made here: blocks add up to 2^31, which flips the
     * highest bit. */
    __device__ void pass(int64_t step) {
        namespace cg = cooperative_groups;
        unsigned int *const word = &cg::details::get_grid_workspace()->barrier;
        if (thread_in_block() == 0) {
            fence(); /* release: orders the block's writes before the addition */
            const unsigned int token = atomicAdd(word, blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u);
            spin(s, step, [&] { return cg::details::bar_has_flipped(token, load_acquire(word)); });
        }
    }
    __device__ void sync_all(int64_t step) {
        sync(step);
    }
    __device__ static void open() {}
    __device__ static void close() {}
    __device__ void leave() {}
};

} // namespace stencil
#else
/* The CPU twin: all threads count at one word, and the last to arrive releases the others by a second word.
 */
static inline bool grid_team(const stencil_barrier_state *s, uint32_t thread) {
    uint32_t *goal = &stencil_barrier_epoch(s)[thread], *released = stencil_barrier_counter(s, 1);
    *goal += s->participants;
    if (__atomic_add_fetch(stencil_barrier_counter(s, 0), 1, __ATOMIC_ACQ_REL) == *goal) {
        team_store(released, *goal);
        return true;
    }
    return team_spin(s, thread, released, *goal);
}
#endif
