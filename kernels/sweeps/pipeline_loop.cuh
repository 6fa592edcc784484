/* The persistent loop of passes of several steps. A pass with a checked step is not among them: the host
 * launches it separately. */
#pragma once

#include "kernels/copies.cuh"
#include "kernels/meet.cuh"
#include "kernels/sweeps/pipeline_pass.cuh"

namespace stencil {

/* Waits for all blocks, since which rows a line reads changes with the steps of a pass. Afterwards copy
 * engines see what other copy engines have stored and, if `all`, what threads have, and these see both. */
template <class Sweep>
__device__ __forceinline__ void meet_copied(const stencil_kernel_args &s, const stencil_pass &pass,
                                            bool first, bool all) {
    const bool publishes = all || Sweep::copies();
    if (publishes)
        publish_all_to_bulk_copies();
    meet_all(s, pass, first);
    if (publishes)
        publish_all_to_bulk_copies();
}

/* Ends a pass, before the next one reads cells. If edge cells have copies, these are made after all cells,
 * and all blocks wait a second time. */
template <class Sweep>
__device__ __forceinline__ void end_pass(const stencil_kernel_args &s, const stencil_pass &pass) {
    const bool copied = stencil_has_copies(&s.domain), all = copied || s.mirrors_rows;
#pragma unroll 1
    for (int round = 0; round <= copied; round++) {
        if (round > 0)
            copy_edges<typename Sweep::cell>(s.domain, !pass.from);
        if (!s.trace.without_barrier)
            meet_copied<Sweep>(s, pass, round == 0, all);
    }
}

/* Makes up to step_count steps after step_first, in passes of `depth` steps; the last pass may be shorter.
 * The leader tells the host the last step: the end, or where the host asked the loop to leave; after an alarm
 * it tells neither. */
template <class Sweep>
__global__ void __launch_bounds__(Sweep::threads, 1)
    pipeline_loop(const __grid_constant__ stencil_kernel_args s) {
#if STENCIL_HAS_BULK_COPIES
    __shared__ stencil_pass pass;       /* the current pass, in shared memory to leave registers free */
    __shared__ int32_t to_poll, before; /* steps until the host is polled, and of the pass before */
    if (is_over(s))
        return;
    if (threadIdx.x == 0) {
        pass = {s.step_first, (int32_t)min(s.step_count, (int64_t)s.depth), (int32_t)(s.step_first & 1)};
        to_poll = s.poll_every, before = 0;
    }
    note_launch(s, STENCIL_LAUNCH_ENTERED);
    for (;;) {
        __syncthreads();
        note_pass(s, pass, STENCIL_MARK_BEGIN);
        if (Sweep::needs_rows(s, pass)) {
            Sweep::prepare(s, pass);
            if (!s.trace.without_barrier)
                meet_copied<Sweep>(s, pass, false, true);
        }
        if (!s.trace.without_compute) {
            Sweep::template run<true>(s, pass, before == pass.steps);
            Sweep::end();
        }
        const int64_t step = pass.first + pass.steps, left = s.step_first + s.step_count - step;
        const bool poll = to_poll <= pass.steps;
        if (poll && is_leader())
            relay_interrupt(s, step);
        note_pass(s, pass, STENCIL_MARK_SWEPT);
        end_pass<Sweep>(s, pass);
        note_pass(s, pass, STENCIL_MARK_LEFT);
        note_pass(s, pass, STENCIL_MARK_END);
        if (poll && alarmed(s))
            return;
        if (left == 0 || (poll && poll_host(s, step, STENCIL_REASON_NONE) != STENCIL_REASON_NONE)) {
            note_launch(s, STENCIL_LAUNCH_LOOPED);
            if (is_leader() && !alarm_raised(s.barrier))
                s.mailbox->step = step;
            return;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            to_poll = poll ? s.poll_every : to_poll - pass.steps, before = pass.steps;
            pass = {step, (int32_t)min(left, (int64_t)s.depth), !pass.from};
        }
    }
#else
    __trap();
#endif
}

} // namespace stencil
