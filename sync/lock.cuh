/* The lock-based barrier of S. Xiao and W. Feng, "Inter-Block GPU Communication via Fast Barrier
 * Synchronization", IPDPS 2010, section V.A: one mutex; the leading thread of each block adds 1 to it and
 * busy-waits until it has reached the goal value, which grows by the number of blocks with every call.
 *
 * Its structure is kept: an atomic addition whose result is awaited, plain polling, goal value. Two things
 * are corrected for today's memory model. The published code relies on `volatile`, which orders nothing
 * between blocks: here a fence precedes the addition and another follows the polling, and both accesses are
 * relaxed atomics, so that the fences synchronise. And the published code waits for equality: a fast block
 * that enters the next barrier moves the mutex past the value that a slow block still waits for; here
 * stencil_reached() compares with "at least". */
#pragma once

#include "sync/waits.h"

#ifdef __CUDACC__
namespace stencil {

struct lock_barrier : counted_barrier<lock_barrier> {

    __device__ explicit lock_barrier(const stencil_barrier_state &state) : counted_barrier(state) {}

    __device__ void pass(int64_t step) {
        goal += gridDim.x;
        if (thread_in_block() == 0) {
            uint32_t *mutex = stencil_barrier_counter(&s, 0);
            fence(); /* release: orders the block's writes before the addition */
            const uint32_t seen = count_relaxed(mutex);
            if (!stencil_reached(seen + 1, goal))
                spin(s, step, [&] { return stencil_reached(load_relaxed(mutex), goal); });
            fence(); /* acquire: orders reads of other blocks' data after the polling */
        }
    }
};

} // namespace stencil
#else
/* The CPU twin. Its addition orders, not a fence: ThreadSanitizer does not know fences. */
static inline bool lock_team(const stencil_barrier_state *s, uint32_t thread) {
    uint32_t *goal = &stencil_barrier_epoch(s)[thread], *mutex = stencil_barrier_counter(s, 0);
    *goal += s->participants;
    const uint32_t seen = __atomic_fetch_add(mutex, 1, __ATOMIC_ACQ_REL);
    const bool last = stencil_reached(seen + 1, *goal);
    if (last)
        team_wake(mutex);
    return last || team_spin(s, thread, mutex, *goal);
}
#endif
