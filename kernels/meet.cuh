/* Functions for the time between two passes of a loop, in which all blocks meet and moments are noted. */
#pragma once

#include "kernels/persistent.cuh"
#include "sync/all.cuh"

namespace stencil {

/* Notes a moment of a pass of full depth, for attribution (kernels/trace.h). */
__device__ __forceinline__ void note_pass(const stencil_kernel_args &s, const stencil_pass &pass,
                                          stencil_mark mark) {
    if (is_special(s) && pass.steps == s.depth)
        note_moment(s, pass.first / s.depth + 1, mark);
}

/* The same by the first warp on behalf of the block, all of whose threads have reached the moment; `number`
 * counts passes of full depth from step 0. */
__device__ __forceinline__ void note_alone(const stencil_kernel_args &s, const stencil_pass &pass,
                                           int64_t number, stencil_mark mark) {
    if (is_special(s) && pass.steps == s.depth && thread_in_block() == 0)
        write_alone(s, number + 1, mark);
}

/* Begins or ends a piece of time within a pass of full depth. */
__device__ __forceinline__ void note_part(const stencil_kernel_args &s, const stencil_pass &pass,
                                          stencil_spent spent, bool ends) {
    if (is_special(s) && pass.steps == s.depth)
        note_spent(s, pass.first / s.depth + 1, spent, ends);
}

/* Calls each(type) for the barrier that a loop passes in this launch: of_loop of the strategy's barrier. A
 * kernel contains all barriers. */
template <class Barrier> struct barrier_type { using of_loop = typename Barrier::of_loop; };
template <class Each> __device__ __forceinline__ void with_barrier(const stencil_kernel_args &s, Each each) {
    switch (s.sync) {
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        each(barrier_type<id##_barrier>());                                                                  \
        break;
#include "sync/barriers.def"
    default:
        break;
    }
}

/* Opens, before a loop, and closes, after it, the barrier between its passes; called by all threads. */
__device__ __forceinline__ void open_meeting(const stencil_kernel_args &s) {
    with_barrier(s, [](auto type) { decltype(type)::of_loop::open(); });
}
__device__ __forceinline__ void close_meeting(const stencil_kernel_args &s) {
    with_barrier(s, [](auto type) { decltype(type)::of_loop::close(); });
}

/* Passes a barrier on behalf of the block. It is constructed anew each time, so that no state of it stays in
 * registers during passes. */
template <class Barrier> __device__ __forceinline__ void meet_by(const stencil_kernel_args &s, int64_t step) {
    Barrier barrier(s.barrier);
    __syncwarp(); /* every lane has read the barrier's words before the first one counts the block */
    barrier.pass(step);
    barrier.leave();
    __syncwarp();
}

/* Waits for all blocks after step `step` on behalf of a block, all of whose threads have arrived; called by
 * its first warp. In place of barriers between neighbours multi_grid_barrier is passed. Functions that the
 * loop calls call none: ptxas would give up uniform registers in it. */
__device__ __forceinline__ void meet_alone(const stencil_kernel_args &s, int64_t step) {
    with_barrier(s, [&](auto type) { meet_by<typename decltype(type)::of_loop>(s, step); });
}
/* Makes all blocks wait for all others after step `step`; called by all threads. Two barriers are passed by
 * whole blocks, which is quicker: one's arrival is the library's then, in the other one all threads gather.
 */
__device__ __forceinline__ void meet_all(const stencil_kernel_args &s, int64_t step) {
    if (s.sync == STENCIL_BARRIER_grid) {
        grid_barrier(s.barrier).sync(step);
        return;
    }
    if (s.sync == STENCIL_BARRIER_lock_free) {
        lock_free_barrier barrier(s.barrier);
        barrier.sync(step);
        barrier.leave();
    } else {
        __syncthreads();
        if (thread_in_block() < 32)
            meet_alone(s, step);
    }
    __syncthreads(); /* the next barrier starts from the state that this one leaves */
}

} // namespace stencil
