/* One counter that only grows: a block adds 1 when it arrives and waits until all blocks of this epoch have.
 *
 * Why it holds: thread 0's addition comes after __syncthreads(), so it releases what the whole block wrote;
 * the ld.acquire that sees the last addition synchronises with all of them, because each addition extends the
 * release sequence of the ones before it; the second __syncthreads() hands that on to the block. A block can
 * be at most one epoch ahead, so the counter is compared with "has come as far as", and wrapping around does
 * no harm. */
#pragma once

#include "sync/waits.h"

#ifdef __CUDACC__
namespace stencil {

struct central_barrier : counted_barrier<central_barrier> {

    __device__ explicit central_barrier(const stencil_barrier_state &state) : counted_barrier(state) {}

    __device__ void pass(int64_t step) {
        goal += gridDim.x;
        if (thread_in_block() == 0)
            count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
    }
};

} // namespace stencil
#else
static inline bool central_team(const stencil_barrier_state *s, uint32_t thread) {
    uint32_t *goal = &stencil_barrier_epoch(s)[thread];
    *goal += s->participants;
    team_add(stencil_barrier_counter(s, 0), 1);
    return team_spin(s, thread, stencil_barrier_counter(s, 0), *goal);
}
#endif
