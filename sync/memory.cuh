/* The bounded spin that every barrier waits with, and counting, on top of memory accesses with explicit order
 * (sync/ptx.cuh): at device scope or, for what other GPUs write or read, at system scope. */
#pragma once

#include "sync/barrier.h"
#include "sync/ptx.cuh"

namespace stencil {

__device__ __forceinline__ uint32_t thread_in_block() {
    return threadIdx.y * blockDim.x + threadIdx.x;
}

/* Tells whether a block of any part has given up waiting at a barrier. */
__device__ __forceinline__ bool alarm_raised(const stencil_barrier_state &s) {
    return (load_relaxed(s.alarm) | load_relaxed_system(s.alarm + STENCIL_ALARM_ELSEWHERE)) != 0;
}

/* Watchdog of a wait: returns whether to give up. The first block whose wait times out raises the alarm, and
 * blocks that see the alarm give up, too. The alarm names the block that waited in the earliest step. */
static __device__ __noinline__ bool give_up(const stencil_barrier_state &s, uint64_t *start_ns,
                                            int64_t step) {
    const uint64_t now_ns = device_clock_ns();
    if (*start_ns == 0)
        *start_ns = now_ns;
    const bool raised = alarm_raised(s);
    if (!raised && now_ns - *start_ns < s.timeout_ns)
        return false;
    /* A relaxed atomic suffices: the host reads the alarm after the launch. */
    atomicMax(reinterpret_cast<unsigned long long *>(s.alarm),
              (unsigned long long)stencil_alarm_of(s.first + blockIdx.x, step));
    for (uint32_t p = 0; !raised && p < s.parts && s.peer_alarm != nullptr; p++)
        if (p != s.part)
            store_relaxed_system(s.peer_alarm[p] + STENCIL_ALARM_ELSEWHERE, 1);
    return true;
}

/* Spins until done() or until the watchdog gives up. The watchdog reads the clock every WatchdogEvery polls,
 * which costs nothing measurable. */
template <uint32_t WatchdogEvery = 1024, class Done>
__device__ __forceinline__ void spin(const stencil_barrier_state &s, int64_t step, Done done) {
    uint64_t start_ns = 0;
    for (uint32_t polls = 1; !done(); polls++)
        if (polls % WatchdogEvery == 0 && give_up(s, &start_ns, step))
            return;
}

/* Adds 1 to a counter that only grows and waits until it has come as far as `goal`. The addition returns the
 * count, though only the last block to come needs it: that one goes on at once, and the others' polling
 * begins when their own addition is through and does not get in the way of it (0.86 us instead of 0.91 with
 * red on an H200). Additions release, polling acquires; each addition extends the release sequence of those
 * before it. */
__device__ __forceinline__ void count_and_wait(const stencil_barrier_state &s, uint32_t *counter,
                                               uint32_t goal, int64_t step) {
    if (count_in(counter) + 1 != goal)
        spin(s, step, [&] { return stencil_reached(load_acquire(counter), goal); });
}

/* Base of barriers whose blocks wait for all blocks: a goal that grows with each pass, kept between launches
 * in the block's epoch. Self::pass(), which moves it on, passes the barrier on behalf of a block: its first
 * warp calls it when all threads of the block have arrived, and these go on when it returns. */
template <class Self> struct counted_barrier {
    static constexpr bool local = false;
    using of_loop = Self;
    const stencil_barrier_state &s;
    uint32_t goal;

    __device__ explicit counted_barrier(const stencil_barrier_state &state)
        : s(state), goal(stencil_barrier_epoch(&state)[blockIdx.x]) {}

    __device__ static void open() {}
    __device__ static void close() {}
    __device__ void sync(int64_t step) {
        __syncthreads();
        if (thread_in_block() < 32)
            static_cast<Self *>(this)->pass(step);
        __syncthreads();
    }
    __device__ void sync_all(int64_t step) {
        static_cast<Self *>(this)->sync(step);
    }
    __device__ void leave() {
        if (thread_in_block() == 0)
            stencil_barrier_epoch(&s)[blockIdx.x] = goal;
    }
};

} // namespace stencil
