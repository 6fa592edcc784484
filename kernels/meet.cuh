/* Where all blocks of a loop of passes meet: it makes the barrier anew each time, as a launch does, so that
 * nothing of it is kept in registers meanwhile. */
#pragma once

#include "kernels/persistent.cuh"

namespace stencil {

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

/* All blocks wait for all; for a barrier that waits for neighbours stands one of the whole grid. All is
 * inlined: ptxas has no registers left for a call that makes calls. */
__device__ __forceinline__ void meet_all(const stencil_kernel_args &s, const stencil_pass &pass, bool first) {
    with_barrier(s.sync, [&](auto of) {
        using barrier = typename decltype(of)::type;
        meet_blocks<std::conditional_t<barrier::local, multi_grid_barrier, barrier>>(s, pass, first);
    });
}

} // namespace stencil
