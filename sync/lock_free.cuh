/* The lock-free barrier of S. Xiao and W. Feng (IPDPS 2010, section V.C): two arrays, one element per block,
 * and no atomic addition. The leading thread of block i writes the goal value to Arrayin[i] and waits for
 * Arrayout[i]; the threads of one block watch all of Arrayin, meet at __syncthreads(), and write all of
 * Arrayout.
 *
 * Its structure is kept; the goal value counts up by one. Corrected for today's memory model: the published
 * `volatile` becomes st.release and ld.acquire. Each gathering thread acquires what one block released,
 * __syncthreads() brings them together, and the releases to Arrayout publish all of it to all. More blocks
 * than threads: a thread watches several. */
#pragma once

#include "sync/waits.h"

#ifdef __CUDACC__
namespace stencil {

struct lock_free_barrier : counted_barrier<lock_free_barrier> {

    __device__ explicit lock_free_barrier(const stencil_barrier_state &state) : counted_barrier(state) {}

    /* Waits for the arrival of all blocks and then releases all; called by `threads` threads of one block,
     * which meet() in between. */
    template <class Meet>
    __device__ __forceinline__ void gather(int64_t step, uint32_t threads, Meet meet) const {
        uint32_t *arrived = stencil_barrier_arrived(&s), *released = stencil_barrier_released(&s);
        for (uint32_t b = thread_in_block(); b < gridDim.x; b += threads)
            spin(s, step, [&] { return stencil_reached(load_acquire(arrived + b), goal); });
        meet();
        for (uint32_t b = thread_in_block(); b < gridDim.x; b += threads)
            store_release(released + b, goal);
    }
    __device__ __forceinline__ void arrive() const {
        if (thread_in_block() == 0)
            store_release(stencil_barrier_arrived(&s) + blockIdx.x, goal);
    }
    __device__ __forceinline__ void await_release(int64_t step) const {
        if (thread_in_block() == 0) {
            const uint32_t *mine = stencil_barrier_released(&s) + blockIdx.x;
            spin(s, step, [&] { return stencil_reached(load_acquire(mine), goal); });
        }
    }

    __device__ void pass(int64_t step) {
        goal++;
        arrive();
        if (blockIdx.x == 0)
            gather(step, 32, [] { __syncwarp(); });
        await_release(step);
    }
    /* All threads of the first block gather, as published. */
    __device__ void sync(int64_t step) {
        goal++;
        __syncthreads();
        arrive();
        if (blockIdx.x == 0)
            gather(step, blockDim.x * blockDim.y, [] { __syncthreads(); });
        await_release(step);
        __syncthreads();
    }
};

} // namespace stencil
#else
static inline bool lock_free_team(const stencil_barrier_state *s, uint32_t thread) {
    const uint32_t goal = ++stencil_barrier_epoch(s)[thread];
    uint32_t *arrived = stencil_barrier_arrived(s), *released = stencil_barrier_released(s);
    team_store(&arrived[thread], goal);
    if (thread == 0) {
        for (uint32_t t = 0; t < s->participants; t++)
            if (!team_spin(s, thread, &arrived[t], goal))
                return false;
        for (uint32_t t = 0; t < s->participants; t++)
            team_store(&released[t], goal);
    }
    return team_spin(s, thread, &released[thread], goal);
}
#endif
