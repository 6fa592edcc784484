/* The kernels that run a sweep: one pass per launch, and the persistent loop with its barrier, residual and
 * decision to stop. */
#pragma once

#include "kernels/classes.cuh"
#include "kernels/ll.cuh"
#include "kernels/residual.cuh"
#include "kernels/tiles.cuh"
#include "kernels/trace.cuh"
#include "sync/memory.cuh"

namespace stencil {

/* Tells whether this is the first thread of the grid, which writes what the host reads. */
__device__ __forceinline__ bool is_leader() {
    return blockIdx.x == 0 && threadIdx.x == 0 && threadIdx.y == 0;
}

/* Combines a set of partial sums with all blocks of all parts; every thread gets the residual. Levels with
 * more than one group are distributed and end with a barrier: the first level over the parts, which write
 * their groups' values to all parts, further levels over the blocks of each part, the same in every part. The
 * last level is short, so every block computes all of it. */
template <class Barrier>
__device__ double grid_residual(const stencil_kernel_args &s, uint32_t set, Barrier &barrier, int64_t step) {
    const stencil_norm norm = s.schedule.norm;
    const read_partials partials{s, set};
    const uint32_t thread = thread_in_block();
    const int64_t count = s.domain.partial_count;
    if (count <= STENCIL_COMBINE_VALUES)
        return stencil_residual_finish(count > 1 ? combine_values(partials, count, 0, norm) : partials(0),
                                       s.schedule.updated_cells, norm);
    for (int64_t g = s.result_first + blockIdx.x; g < s.result_end; g += gridDim.x) {
        const double value = combine_values(partials, count, g, norm);
        if (s.peers == nullptr && thread == 0)
            s.level[g] = value;
        else if (s.peers != nullptr && thread < s.barrier.parts)
            s.peers->level[thread][g] = value;
    }
    barrier.sync_all(step);
    const int64_t groups = stencil_level_count(count);
    stencil_level level = stencil_level_first(s.level, groups, s.level + groups);
    for (; level.count > STENCIL_COMBINE_VALUES; level = stencil_level_next(&level)) {
        for (int64_t g = blockIdx.x; g < level.results; g += gridDim.x) {
            const double value = combine_values(read_values{level.from}, level.count, g, norm);
            if (thread == 0)
                level.to[g] = value;
        }
        barrier.sync_all(step);
    }
    return stencil_residual_finish(combine_values(read_values{level.from}, level.count, 0, norm),
                                   s.schedule.updated_cells, norm);
}

/* Injects a test's fault before the barrier of a pass that ends with `step`: the block arrives late, or not
 * before all watchdogs have seen an alarm. If it arrived right after the first alarm, blocks that wait for it
 * would continue without having raised theirs. Called by the block's first thread, or by all. */
static __device__ __noinline__ void inject_fault(const stencil_kernel_args &s, int64_t step, int steps) {
    const stencil_fault &d = s.fault;
    const uint32_t participant = s.barrier.first + blockIdx.x;
    const uint64_t late_ns = stencil_lateness_ns(&d, participant, step), start_ns = device_clock_ns();
    while (device_clock_ns() - start_ns < late_ns) /* a sleep does not keep its time */
        __nanosleep(100);
    const bool absent = d.absent_part != 0 ? s.barrier.part + 1 == d.absent_part : participant == d.absent;
    if (absent && step - steps < d.absent_step && d.absent_step <= step) {
        constexpr uint64_t noticed_ns = 10000000; /* the time in which all watchdogs poll the alarm */
        while (!alarm_raised(s.barrier) && device_clock_ns() - start_ns < 4 * s.barrier.timeout_ns)
            __nanosleep(1000);
        for (const uint64_t raised_ns = device_clock_ns(); device_clock_ns() - raised_ns < noticed_ns;)
            __nanosleep(1000);
    }
}

/* Tells whether a test's fault is to be injected before a barrier. */
__device__ __forceinline__ bool has_fault(const stencil_kernel_args &s) {
    return s.fault.delay_ns != 0 || s.fault.absent_step != 0;
}

/* Tells whether a check before this launch, which the host did not know yet, has ended the run. */
__device__ __forceinline__ bool is_over(const stencil_kernel_args &s) {
    return s.undecided != nullptr && __ldcg(s.undecided) != STENCIL_REASON_NONE;
}

/* Tells whether any block has given up waiting at the barrier; all threads of a block get the same answer. */
__device__ __forceinline__ bool alarmed(const stencil_kernel_args &s) {
    return __syncthreads_or(thread_in_block() == 0 && alarm_raised(s.barrier));
}

/* Forwards the host's request to leave to all parts. The write comes before the barrier of `step` and
 * contains `step`, so that no block applies the request to an earlier step. */
static __device__ __noinline__ void relay_interrupt(const stencil_kernel_args &s, int64_t step) {
    if (s.barrier.part != 0 || !s.mailbox->interrupt)
        return;
    if (s.peers == nullptr)
        s.control->interrupt = step;
    else
        for (uint32_t p = 0; p < s.barrier.parts; p++)
            s.peers->control[p]->interrupt = step;
}

/* Updates the tile of this block in a launch for one step; reads buffer `from`. */
template <class Sweep> __device__ __forceinline__ void make_launched(const stencil_kernel_args &s, int from) {
    const int64_t step = s.step_first + 1, every = s.schedule.check_every;
    if constexpr (Sweep::classed) {
        put_factors<typename Sweep::cell>(s, s.step_first, from);
        __syncthreads();
    }
    /* The test of stencil_schedule_checks(), which itself would take 9 more registers. */
    if ((s.step_first / every + 1) * every == step || step == s.schedule.check_step)
        launched_step<Sweep, true>(s, blockIdx.x, from, s.domain.partial + s.domain.partial_first);
    else
        launched_step<Sweep, false>(s, blockIdx.x, from, nullptr);
}

/* The kernel of a launch per step; the host reads the step's residual. */
template <class Sweep>
__global__ void __launch_bounds__(block_threads, Sweep::blocks)
    step_kernel(const __grid_constant__ stencil_kernel_args s) {
    await_launch_before();
    make_launched<Sweep>(s, (int)(s.step_first & 1));
}

/* The kernel of a launch per step for attribution: it notes the moments of its step. In a grid with several
 * rows of tiles (blockIdx.y), each row makes one step, and nothing orders these steps. It is separate from
 * step_kernel, which has no register left. */
template <class Sweep>
__global__ void __launch_bounds__(block_threads, Sweep::blocks)
    traced_kernel(const __grid_constant__ stencil_kernel_args s) {
    await_launch_before();
    if (s.trace.without_compute)
        return;
    note_launched(s, s.step_first + 1, STENCIL_MARK_BEGIN);
    make_launched<Sweep>(s, (int)((s.step_first + blockIdx.y) & 1));
    note_launched(s, s.step_first + 1, STENCIL_MARK_SWEPT);
}

/* Returns the block's lists of cells to send and receive, complete after a __syncthreads(); NULL without LL
 * exchange. */
template <bool Ll> __device__ __forceinline__ ll_lists *lists_of_block(const stencil_ll &ll) {
    if constexpr (Ll) {
        __shared__ ll_lists lists;
        start_lists(ll, lists);
        return &lists;
    }
    return nullptr;
}

/* Ends `step` for a block: exchanges ghost cells by LL and passes the barrier. all: no block passes before
 * all have arrived. Returns false where a block has given up; the host reads the alarm. */
template <class T, bool Ll, class Barrier>
__device__ __forceinline__ bool end_step(const stencil_kernel_args &s, Barrier &barrier,
                                         const ll_lists *lists, int64_t step, bool all) {
    if (all) {
        if constexpr (Ll) {
            const stencil_ll_entry first = first_send(*lists);
            __syncthreads();
            exchange_ll<T>(s, *lists, first, step);
            if (is_special(s))
                note_moment(s, step, STENCIL_MARK_EXCHANGED);
        }
        barrier.sync_all(step);
        return !alarmed(s);
    }
    if constexpr (Ll) {
        const stencil_ll_entry first = first_send(*lists);
        barrier.arrive();
        exchange_ll<T>(s, *lists, first, step);
        if (is_special(s))
            note_moment(s, step, STENCIL_MARK_EXCHANGED);
        barrier.wait(step);
    } else {
        barrier.sync(step);
    }
    return true;
}

/* Computes the residual of a checked step; returns the reason to stop or NONE, the same in all threads. */
template <class Barrier>
__device__ __forceinline__ uint32_t judge_step(const stencil_kernel_args &s, uint32_t set, Barrier &barrier,
                                               int64_t step, uint32_t checks) {
    const double residual = grid_residual(s, set, barrier, step);
    if (is_leader()) {
        s.history[checks] = residual;
        s.mailbox->residual = residual;
    }
    return stencil_schedule_decide(&s.schedule, residual);
}

/* Reads, after the barrier of a step that polls, the host's request to leave, and tells the host the step.
 * Returns INTERRUPTED where the host asked to leave and there is no other reason, else `reason`. */
__device__ __forceinline__ uint32_t poll_host(const stencil_kernel_args &s, int64_t step, uint32_t reason) {
    if (reason == STENCIL_REASON_NONE && *(volatile int64_t *)&s.control->interrupt == step)
        reason = STENCIL_REASON_INTERRUPTED;
    if (is_leader())
        s.mailbox->step = step;
    return reason;
}

/* Writes the number of steps, the number of checks and the reason to stop of a launch for the host. */
__device__ __forceinline__ void leave_results(const stencil_kernel_args &s, int64_t step, uint32_t checks,
                                              uint32_t reason) {
    s.control->step = step;
    s.control->history_count = checks;
    s.control->reason = reason;
}

/* The persistent loop: all steps of a launch. Ll: ghost cells of other parts travel as words with a step
 * number (kernels/ll.cuh). */
template <class Sweep, class Barrier, bool Ll>
__global__ void __launch_bounds__(block_threads, Sweep::blocks)
    persistent_kernel(const __grid_constant__ stencil_kernel_args s) {
    Barrier barrier(s.barrier);
    const stencil_domain &d = s.domain;
    int64_t step = s.step_first;
    uint32_t reason = STENCIL_REASON_NONE, checks = 0;
    const int64_t checks_before = step / s.schedule.check_every;
    int64_t to_check = (checks_before + 1) * s.schedule.check_every - step;
    int32_t to_poll = s.poll_every;
    /* A slow block, of this part or another, may still read the partial sums of the last check when the next
     * check writes: two sets alternate, over all launches. */
    uint32_t set = (uint32_t)checks_before & 1;
    __shared__ tile_start start;
    if (thread_in_block() == 0)
        start = start_of(s);
    int place = 0; /* of the step in a cycle of weights */
    if constexpr (Sweep::classed) {
        put_factors<typename Sweep::cell>(s, step, (int)(step & 1));
        start_weights<typename Sweep::cell>(s);
        place = (int)(step % s.cycle_length);
    }
    ll_lists *const lists = lists_of_block<Ll>(s.ll);
    __syncthreads();
    note_launch(s, STENCIL_LAUNCH_ENTERED);
    for (const int64_t end = step + s.step_count; step < end && reason == STENCIL_REASON_NONE;) {
        const int from = (int)(step & 1);
        if (is_special(s))
            note_turn(s, step, step > s.step_first);
        step++;
        if constexpr (Sweep::classed) { /* those of the next step: the barrier of this one is in between */
            put_factors<typename Sweep::cell>(s, step, !from);
            place = place + 1 < s.cycle_length ? place + 1 : 0;
            if (s.cycle_length > 1)
                copy_weights<typename Sweep::cell>(s, place, !from);
        }
        to_check--;
        const bool check = to_check == 0 || step == s.schedule.check_step;
        if (check) {
            persistent_step<Sweep, true>(s, start, from, d.partial + d.partial_first + set * d.partial_set);
            to_check = s.schedule.check_every;
        } else {
            persistent_step<Sweep, false>(s, start, from, nullptr);
        }
        if constexpr (Sweep::classed)
            await_copies<0>();
        const bool poll = --to_poll == 0;
        if (poll && is_leader())
            relay_interrupt(s, step);
        if (is_special(s)) {
            if (has_fault(s)) /* even an empty call costs time */
                inject_fault(s, step, 1);
            note_moment(s, step, STENCIL_MARK_SWEPT);
        }
        if (!s.trace.without_barrier &&
            !end_step<typename Sweep::cell, Ll>(s, barrier, lists, step, check || poll))
            return;
        if (is_special(s))
            note_moment(s, step, STENCIL_MARK_LEFT);
        if (check) {
            reason = judge_step(s, set, barrier, step, checks++);
            set ^= 1;
        }
        if (poll) {
            reason = poll_host(s, step, reason);
            to_poll = s.poll_every;
        }
    }
    if (is_special(s))
        note_moment(s, step, STENCIL_MARK_END);
    note_launch(s, STENCIL_LAUNCH_LOOPED);
    if (is_leader())
        leave_results(s, step, checks, reason);
    barrier.leave();
}

} // namespace stencil
