/* The barrier between all blocks of a loop of passes: one kernel contains all barriers, and constructs the
 * one it needs anew each time, as a launch does, so that no barrier state stays in registers between
 * passes. */
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

/* Begins or ends a piece of time within a pass of full depth. */
__device__ __forceinline__ void note_part(const stencil_kernel_args &s, const stencil_pass &pass,
                                          stencil_spent spent, bool ends) {
    if (is_special(s) && pass.steps == s.depth)
        note_spent(s, pass.first / s.depth + 1, spent, ends);
}

/* Passes the barrier at the end of a pass. A fault is injected after the barrier was constructed (blocks of a
 * cluster wait for each other there), and once per pass. */
template <class Barrier>
__device__ __forceinline__ void meet_blocks(const stencil_kernel_args &s, const stencil_pass &pass,
                                            bool first) {
    const int64_t step = pass.first + pass.steps;
    Barrier barrier(s.barrier);
    if (first && (s.fault.delay_ns != 0 || s.fault.absent_step != 0))
        inject_fault(s, step, pass.steps);
    barrier.sync_all(step);
    barrier.leave();
    __syncthreads(); /* the next barrier starts from the state that this one leaves */
}

/* The barrier for all blocks: `Barrier`, or multi_grid_barrier where `Barrier` is local (between
 * neighbours). */
template <class Barrier>
using whole_barrier = std::conditional_t<Barrier::local, multi_grid_barrier, Barrier>;

/* Makes all blocks wait for all others, whatever the kind of the barrier. Everything is inlined: ptxas has no
 * registers left for a call that makes calls. */
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
