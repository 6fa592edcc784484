/* The meeting of all blocks of a loop of passes: one kernel has all barriers, and makes the one it needs anew
 * each time, as a launch does, so that nothing of it is kept in registers meanwhile. */
#pragma once

#include "kernels/persistent.cuh"
#include "sync/all.cuh"

namespace stencil {

/* Notes a moment of a pass of full depth, for attribution. */
__device__ __forceinline__ void note_pass(const stencil_kernel_args &s, const stencil_pass &pass,
                                          stencil_mark mark) {
    if (is_special(s) && pass.steps == s.depth)
        note_moment(s, pass.first / s.depth + 1, mark);
}

/* A fault comes after the barrier was made (blocks of a cluster wait for each other to make theirs), and once
 * in a pass. */
template <class Barrier>
__device__ __forceinline__ void meet_blocks(const stencil_kernel_args &s, const stencil_pass &pass,
                                            bool first) {
    const int64_t step = pass.first + pass.steps;
    Barrier barrier(s.barrier);
    if (first && (s.fault.delay_ns != 0 || s.fault.absent_step != 0))
        inject_fault(s, step, pass.steps);
    barrier.sync_all(step);
    barrier.leave();
    __syncthreads(); /* the next one begins where this one ends */
}

/* The barrier that all blocks pass: `Barrier`, or multi_grid_barrier in place of a local one. */
template <class Barrier>
using whole_barrier = std::conditional_t<Barrier::local, multi_grid_barrier, Barrier>;

/* All blocks wait for all, whatever the barrier. All is inlined: ptxas has no registers left for a call that
 * makes calls. */
__device__ __forceinline__ void meet_all(const stencil_kernel_args &s, const stencil_pass &pass, bool first) {
    switch (s.sync) {
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        meet_blocks<whole_barrier<id##_barrier>>(s, pass, first);                                            \
        break;
#include "sync/barriers.def"
    default:
        break;
    }
}

} // namespace stencil
