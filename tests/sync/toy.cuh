/* A barrier for a test: blocks count in, and who comes last opens the door by a word of its own. */
#ifndef STENCIL_SYNC_TOY_CUH
#define STENCIL_SYNC_TOY_CUH

#include "sync/waits.h"

#ifdef __CUDACC__
namespace stencil {

struct toy_barrier : counted_barrier<toy_barrier> {

    __device__ explicit toy_barrier(const stencil_barrier_state &state) : counted_barrier(state) {}

    __device__ void pass(int64_t step) {
        goal += gridDim.x;
        if (thread_in_block() == 0) {
            uint32_t *door = stencil_barrier_counter(&s, 1);
            if (count_in(stencil_barrier_counter(&s, 0)) + 1 == goal)
                store_release(door, goal);
            else
                spin(s, step, [&] { return stencil_reached(load_acquire(door), goal); });
        }
    }
};

} // namespace stencil
#else
static inline bool toy_team(const stencil_barrier_state *s, uint32_t thread) {
    uint32_t *goal = &stencil_barrier_epoch(s)[thread], *door = stencil_barrier_counter(s, 1);
    *goal += s->participants;
    if (__atomic_fetch_add(stencil_barrier_counter(s, 0), 1, __ATOMIC_ACQ_REL) + 1 == *goal)
        team_store(door, *goal);
    return team_spin(s, thread, door, *goal);
}
#endif
#endif
