/* The persistent loop of the resident sweep: cells are loaded on chip at the start of a launch and stored at
 * its end; in between only ghost cells move, and residuals of checked steps are summed and judged. */
#pragma once

#include "kernels/copies.cuh"
#include "kernels/meet.cuh"
#include "kernels/sweeps/resident_check.cuh"

namespace stencil {

/* Returns the steps of the pass that follows place.step, `left` steps before the end of the launch; called by
 * one thread. busy: as in plan_pass(). In 3D a pass ends with a checked step, as it does nothing else. */
template <class Block>
__device__ __forceinline__ int next_steps(const stencil_kernel_args &s, int64_t left, bool busy) {
    auto &place = Block::place();
    if constexpr (!Block::each_step)
        return plan_pass(s.schedule, place.check, place.step, left, s.depth, busy);
    const int64_t to_check = place.check.next - place.step,
                  steps = min(min(left, (int64_t)s.depth), to_check);
    place.check.busy = steps == to_check;
    return (int)steps;
}

/* Begins the check of a step, whose cells the tile has made and stored, or summed (Block::each_step). */
template <class Block>
__device__ __forceinline__ void begin_check(const stencil_kernel_args &s, int64_t step, bool works) {
    auto &check = Block::place().check;
    __syncthreads(); /* waits until all threads have stored, and have read what is changed here */
    if (threadIdx.x == 0) {
        check.step = step, check.stage = check_sum;
        check.begun = check.begun + 1;
        if constexpr (Block::each_step) {
            next_check(s.schedule, check);
        } else {
            const int64_t passes = (check.next - step) / s.depth;
            const bool spaced = passes >= 2 * check_obey;
            const int64_t exchanges = passes - (spaced ? 2 : 1) * check_obey;
            const int batches = sum_share_of<Block::sums_at_once>(s.domain).batches();
            check.sums = 0, check.spaced = check.rests = spaced;
            check.sums_most = exchanges > 1 ? max(2, (int)((batches + exchanges - 1) / exchanges)) : batches;
            if (works)
                count_check(s, STENCIL_CHECK_KEPT);
        }
    }
    __syncthreads();
}

/* Injects a test's fault after `steps` steps that end with `step`, and notes again that a pass has swept: a
 * block that is late arrives now. */
__device__ __forceinline__ void be_late(const stencil_kernel_args &s, const stencil_pass &pass, int64_t step,
                                        int steps) {
    inject_fault(s, step, steps);
    if (steps > 1)
        note_pass(s, pass, STENCIL_MARK_SWEPT);
}

/* Ends the steps between two exchanges of ghost cells: a pass (2D), or one step (Block::each_step). Sends
 * ghost cells, and waits for all blocks at the end of the launch, when the host is polled, and always unless
 * the barrier is the neighbour barrier, which the numbers in the words replace. Then makes a stage of the
 * residual check (2D), or all of them (3D, Checked). busy: there is one, or a checked step in the pass.
 * Returns whether another step follows. */
template <class Block, bool Checked>
__device__ __forceinline__ bool end_steps(const stencil_kernel_args &s, Block &block, bool works) {
    auto &place = Block::place();
    const stencil_pass pass = {place.step, place.steps, 0};
    const int steps = Block::each_step ? 1 : pass.steps, made = block.count_steps(pass.steps);
    const int64_t step = pass.first + made;
    const uint32_t number = block.next_exchange();
    const bool ends = !Block::each_step || made == pass.steps, last = ends && place.left == made,
               poll = ends && place.to_poll <= made;
    const bool busy = Block::each_step ? Checked : place.check.busy != 0;
    int at = 0, pending = check_none; /* the checked step of the pass; the stage of the check before */
    bool rests = false, hurries = busy && (Block::each_step || last || place.check.hurries);
    if (busy && Block::each_step)
        at = made;
    else if (busy)
        at = place.check.at, pending = place.check.stage, rests = place.check.rests != 0;
    if constexpr (Block::each_step && Checked)
        if (works)
            block.sum_terms(s, number - 1);
    if (poll && is_leader())
        relay_interrupt(s, step);
    if (ends)
        note_pass(s, pass, STENCIL_MARK_SWEPT);
    const bool meets = last || poll || s.sync != STENCIL_BARRIER_neighbor;
    if (!meets && has_fault(s))
        be_late(s, pass, step, steps);
    if (works)
        block.end_step();
    __syncthreads(); /* waits until all threads of the block have read the ghost cells */
    if (works && !last)
        block.send(s.resident, number);
    if (!Block::each_step) /* in 3D a call more would take registers from the steps */
        note_pass(s, pass, STENCIL_MARK_EXCHANGED);
    if (at != 0)
        begin_check<Block>(s, pass.first + at, works);
    if (meets && !s.trace.without_barrier) {
        if (has_fault(s))
            be_late(s, pass, step, steps);
        meet_all(s, step);
    }
    if (Block::each_step && ends)
        __syncthreads();
    if (busy && poll) /* a loop that leaves decides before */
        hurries = hurries || is_asked_to_leave(s, step);
    uint32_t reason = STENCIL_REASON_NONE;
    /* A check begins its stages after the next pass, unless it has to be decided now. */
    if ((pending != check_none && !rests) || (hurries && (pending != check_none || at != 0))) {
        if (!Block::each_step)
            note_part(s, pass, STENCIL_SPENT_CHECK, false);
        reason = Block::make_check(s, place.check, hurries);
        if (!Block::each_step)
            note_part(s, pass, STENCIL_SPENT_CHECK, true);
    }
    const bool leaves =
        last || reason != STENCIL_REASON_NONE ||
        (poll && (alarmed(s) || (reason = poll_host(s, step, reason)) != STENCIL_REASON_NONE));
    if (ends && threadIdx.x == 0) { /* done here, while words of other tiles arrive */
        place.exchanges = number - last;
        place.to_poll = poll ? s.poll_every : place.to_poll - made;
        if (pending != check_none && rests)
            place.check.rests = 0;
        const int64_t left = place.left - made;
        place.step = step, place.left = left;
        place.steps = next_steps<Block>(s, left, busy);
    }
    if (leaves && threadIdx.x == 0)
        place.check.reason = reason;
    if (works && !leaves) {
        block.prepare(s, step);
        block.receive(s, number, step,
                      s.sync == STENCIL_BARRIER_neighbor && !s.trace.without_barrier && !s.fault.unordered);
    }
    if (ends) {
        note_pass(s, pass, STENCIL_MARK_LEFT);
        note_pass(s, pass, STENCIL_MARK_END);
    }
    if constexpr (Block::each_step) {
        if constexpr (Checked)
            block.fetch_again(works); /* so that no register holds cells during a check */
        block.begin_pass(ends);
        return !leaves;
    } else {
        __syncthreads();
        return !__any_sync(~0u, leaves);
    }
}

/* Makes the steps of a launch where tiles exchange ghost cells after each step. The inner loop has no code of
 * checks, so that ptxas takes no registers from it for them. */
template <class Block>
__device__ __forceinline__ void loop_steps(const stencil_kernel_args &s, Block &block, bool works) {
    auto &place = Block::place();
    bool goes_on, checked;
    do {
        do {
            __syncthreads();
            if (block.begins())
                note_pass(s, {place.step, place.steps, 0}, STENCIL_MARK_BEGIN);
            if (works && !s.trace.without_compute)
                block.make_steps(s);
            checked = block.made + 1 == place.steps && place.check.busy != 0;
            goes_on = !checked && end_steps<Block, false>(s, block, works);
        } while (goes_on);
        if (checked)
            goes_on = end_steps<Block, true>(s, block, works);
    } while (goes_on);
}

/* Makes the steps of a launch where tiles exchange ghost cells after each pass. A pass with a checked step is
 * made in parts. */
template <class Block>
__device__ __forceinline__ void loop_passes(const stencil_kernel_args &s, Block &block, bool works) {
    note_pass(s, {Block::place().step, Block::place().steps, 0}, STENCIL_MARK_BEGIN);
    for (;;) {
        __syncthreads();
        const int part = Block::place().check.part;
        const bool checked = __any_sync(~0u, part == check_step);
        if (checked) {
            note_part(s, {Block::place().step, Block::place().steps, 0}, STENCIL_SPENT_KEPT, false);
            if (works && !s.trace.without_compute)
                block.make_checked_step(s);
        } else if (works && !s.trace.without_compute) {
            block.make_steps(s);
        }
        if (__any_sync(~0u, part != check_rest)) {
            __syncthreads();
            if (threadIdx.x == 0)
                next_part(Block::place().check, Block::place().steps);
            if (checked)
                note_part(s, {Block::place().step, Block::place().steps, 0}, STENCIL_SPENT_KEPT, true);
        } else {
            if (!end_steps<Block, true>(s, block, works))
                break;
            note_pass(s, {Block::place().step, Block::place().steps, 0}, STENCIL_MARK_BEGIN);
            if (works)
                block.begin_steps(s);
        }
    }
}

/* Makes up to step_count steps after step_first, and the checks among them. The leader tells the host the
 * last step: the end, a checked step that ends the run, or where the host asked the loop to leave; after an
 * alarm it tells nothing. */
template <class Block>
__global__ void __launch_bounds__(32 * Block::shape.warps, 1)
    resident_loop(const __grid_constant__ stencil_kernel_args s) {
    Block block;
    const int from = (int)(s.step_first & 1); /* the launch leaves its cells in the other buffer */
    const bool works = blockIdx.x < stencil_resident_tiles(&s.resident);
    if (threadIdx.x == 0) { /* blocks without a tile take part in barriers and in checks */
        auto &place = Block::place();
        place.step = s.step_first, place.left = s.step_count;
        place.to_poll = s.poll_every;
        start_checks(s.schedule, place.check, s.step_first);
        if constexpr (!Block::each_step)
            place.check.latest =
                stencil_resident_latest(Block::radius, stencil_resident_reach(Block::radius, s.depth));
        place.steps = next_steps<Block>(s, s.step_count, false);
        if (works)
            Block::find_place(s);
    }
    __syncthreads();
    open_meeting(s);
    note_launch(s, STENCIL_LAUNCH_ENTERED);
    if (works)
        block.enter(s);
    note_launch(s, STENCIL_LAUNCH_LOADED);
    if constexpr (Block::each_step)
        loop_steps(s, block, works);
    else
        loop_passes(s, block, works);
    note_launch(s, STENCIL_LAUNCH_LOOPED);
    if (alarmed(s))
        return;
    const auto &check = Block::place().check;
    const uint32_t reason = check.reason;
    const bool checked = reason != STENCIL_REASON_NONE && reason != STENCIL_REASON_INTERRUPTED;
    if constexpr (!Block::each_step)
        if (works && checked)
            block.restore_checked(s);
    if (works)
        block.store(s.domain, from ^ 1);
    if (works && threadIdx.x == 0)
        s.resident.exchanges[blockIdx.x] = Block::place().exchanges;
    if (is_leader()) {
        const int64_t step = checked ? check.step : Block::place().step;
        s.mailbox->step = step;
        leave_results(s, step, check.begun, reason);
    }
    if (stencil_has_copies(&s.domain)) {
        meet_all(s, Block::place().step);
        copy_edges<typename Block::T>(s.domain, from ^ 1);
    }
    note_launch(s, STENCIL_LAUNCH_STORED);
    close_meeting(s);
}

} // namespace stencil
