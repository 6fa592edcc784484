/* The persistent loop of passes of several steps. A pass with a checked step is not among them: the host
 * launches it separately. */
#pragma once

#include "kernels/copies.cuh"
#include "kernels/meet.cuh"
#include "kernels/sweeps/pipeline_pass.cuh"

namespace stencil {

/* A turn of the loop: a pass, and what follows it. Between passes the first warp works alone, on behalf of
 * its block, all of whose threads have arrived (end_sweep(), end_turn()): in a loop in which whole blocks
 * branch and meet in several places, ptxas gives up uniform registers, and spills. */
struct loop_turn {
    stencil_pass pass;
    int64_t number;          /* of passes of full depth before this one, counted from step 0 */
    int32_t to_poll, before; /* steps until the host is polled, and of the pass before */
    bool poll, ends; /* whether the host is polled after the pass, and whether it is the launch's last one */
};
__device__ __forceinline__ loop_turn turn_of(const stencil_kernel_args &s, int64_t step, int from,
                                             int64_t number, int32_t to_poll, int32_t before) {
    const int64_t left = s.step_first + s.step_count - step;
    const int32_t steps = (int32_t)min(left, (int64_t)s.depth);
    return {{step, steps, from}, number, to_poll, before, to_poll <= steps, left == steps};
}
__device__ __forceinline__ loop_turn first_turn(const stencil_kernel_args &s) {
    return turn_of(s, s.step_first, (int)(s.step_first & 1), s.step_first / s.depth, s.poll_every, 0);
}
__device__ __forceinline__ loop_turn next_turn(const stencil_kernel_args &s, const loop_turn &turn) {
    const int32_t steps = turn.pass.steps;
    return turn_of(s, turn.pass.first + steps, !turn.pass.from, turn.number + 1,
                   turn.poll ? s.poll_every : turn.to_poll - steps, steps);
}

/* Ends the sweep of a pass: all blocks wait for each other. */
__device__ __forceinline__ void end_sweep(const stencil_kernel_args &s, const loop_turn &turn) {
    const int64_t step = turn.pass.first + turn.pass.steps;
    if (turn.poll && is_leader())
        relay_interrupt(s, step);
    note_alone(s, turn.pass, turn.number, STENCIL_MARK_SWEPT);
    if (s.trace.without_barrier)
        return;
    if (has_fault(s) && thread_in_block() == 0) {
        inject_fault(s, step, turn.pass.steps);
        note_alone(s, turn.pass, turn.number, STENCIL_MARK_SWEPT); /* a block that is late arrives now */
    }
    meet_alone(s, step);
}
/* Waits once more, behind copies of edge cells or before a pass that needs rows. */
static __device__ __noinline__ void meet_again(const stencil_kernel_args &s, int64_t step) {
    if (!s.trace.without_barrier)
        meet_alone(s, step);
}
/* Tells whether the loop goes on after a pass. */
__device__ __forceinline__ bool end_turn(const stencil_kernel_args &s, const loop_turn &turn) {
    const int64_t step = turn.pass.first + turn.pass.steps;
    note_alone(s, turn.pass, turn.number, STENCIL_MARK_LEFT);
    note_alone(s, turn.pass, turn.number, STENCIL_MARK_END);
    if (turn.poll && alarm_raised(s.barrier))
        return false;
    const bool leaves =
        (turn.poll && poll_host(s, step, STENCIL_REASON_NONE) != STENCIL_REASON_NONE) || turn.ends;
    if (leaves && is_leader() && !alarm_raised(s.barrier))
        s.mailbox->step = step;
    return !leaves;
}

/* Returns a condition that is the same in all lanes of a warp. The vote tells the compiler so. */
__device__ __forceinline__ bool all_lanes(bool condition) {
    return __any_sync(~0u, condition);
}

/* Makes up to step_count steps after step_first, in passes of `depth` steps; the last pass may be shorter.
 * The leader tells the host the last step: the end, or where the host asked the loop to leave; after an alarm
 * it tells neither. Before they meet, threads publish to copy engines what they have stored, and afterwards
 * see what other engines have. If edge cells have copies, these are made after all cells, and all blocks wait
 * a second time. */
template <class Sweep>
__global__ void __launch_bounds__(Sweep::threads, 1)
    pipeline_loop(const __grid_constant__ stencil_kernel_args s) {
#if STENCIL_HAS_BULK_COPIES
    __shared__ int32_t goes_on;
    if (all_lanes(is_over(s)))
        return;
    open_meeting(s);
    note_launch(s, STENCIL_LAUNCH_ENTERED);
    const bool copied = stencil_has_copies(&s.domain),
               publishes = copied || s.mirrors_rows || Sweep::copies();
    __shared__ loop_turn shared_turn;
    loop_turn own_turn, &turn = Sweep::shares_turns ? shared_turn : own_turn;
    if (!Sweep::shares_turns || threadIdx.x == 0)
        turn = first_turn(s);
#pragma unroll 1
    do {
        __syncthreads();
        if (threadIdx.x < 32)
            note_alone(s, turn.pass, turn.number, STENCIL_MARK_BEGIN);
        if (Sweep::needs_rows(s, turn.pass)) {
            Sweep::prepare(s, turn.pass);
            publish_all_to_bulk_copies();
            __syncthreads();
            if (threadIdx.x < 32)
                meet_again(s, turn.pass.first);
            __syncthreads();
            publish_all_to_bulk_copies();
        }
        if (!s.trace.without_compute) {
            Sweep::template run<true>(s, turn.pass, turn.before == turn.pass.steps);
            if (publishes)
                publish_all_to_bulk_copies();
            Sweep::end();
        }
        if (threadIdx.x < 32)
            end_sweep(s, turn);
        if (copied) {
            __syncthreads();
            copy_edges<typename Sweep::cell>(s.domain, !turn.pass.from);
            publish_all_to_bulk_copies();
            __syncthreads();
            if (threadIdx.x < 32)
                meet_again(s, turn.pass.first + turn.pass.steps);
        }
        if (threadIdx.x < 32) {
            const bool on = end_turn(s, turn);
            if (threadIdx.x == 0)
                goes_on = on;
        }
        __syncthreads();
        if (publishes)
            publish_all_to_bulk_copies();
        if (!Sweep::shares_turns || threadIdx.x == 0)
            turn = next_turn(s, turn);
    } while (all_lanes(goes_on != 0));
    note_launch(s, STENCIL_LAUNCH_LOOPED);
    close_meeting(s);
#else
    __trap();
#endif
}

} // namespace stencil
