/* Two levels: inside a thread-block cluster (compute capability 9.0) an mbarrier in the shared memory of each
 * block, and one counter between the clusters. Every block arrives at the mbarrier of the first block of its
 * cluster, the leader; the leader waits there, passes the counter for all of them and arrives at the mbarrier
 * of each other block, which waits at its own.
 *
 * Why it holds, in the order of a pass: __syncthreads() hands what a block has written to its thread 0, whose
 * mbarrier.arrive releases it at cluster scope; the leader's try_wait, which acquires at cluster scope and
 * returns true for the phase that these arrivals complete, synchronises with all of them. The addition to the
 * counter releases it at device scope, and the ld.acquire that sees the last addition acquires what all
 * clusters have released (central.cuh). __syncwarp() hands that to the lanes, each of which releases it at
 * cluster scope by its arrival at the mbarrier of one block, where thread 0 acquires it; the last
 * __syncthreads() hands it on. Causality order is transitive over all these scopes.
 *
 * Phases: both mbarriers complete one phase in each pass, so one parity serves both. A block arrives again
 * only after it was released, and is released only after the leader has seen the phase complete: no mbarrier
 * is ever more than one phase ahead of the block that waits there, which is all that a parity can tell. After
 * an alarm that is no longer so; then a wait may end at once or not at all, and its limit ends it.
 *
 * Every wait for work has a limit: try_wait suspends the thread for some microseconds at the most, and after
 * some of these the watchdog reads the clock and the alarm. The hardware barrier of the cluster, which has
 * no limit, stands only where no block works: at the start, after the mbarriers are made and before a block
 * arrives at one (the hardware starts the blocks of a cluster together); and at the end, however a block
 * reaches it, so that its shared memory exists while other blocks may arrive at its mbarriers; their arrivals
 * are ordered before it by its release. A block that never ended would keep the launch from ending anyway; a
 * block that has ended is not waited for. */
#pragma once

#include "sync/waits.h"

#ifdef __CUDACC__
namespace stencil {

/* The barrier between open() and close(), which all threads of all blocks of a launch call. */
struct open_cluster_barrier : counted_barrier<open_cluster_barrier> {
    /* Longest time for which the hardware suspends a waiting thread, in ns; number of such waits after which
     * the watchdog reads clock and alarm. */
    static constexpr uint32_t suspend_ns = 2000, watchdog_every = 16;
    /* Words of shared memory: the mbarriers of arrivals (only the leader's is used) and of the release, and
     * the parity of their phases. Addresses are the same in all blocks of a cluster. */
    struct words {
        uint64_t arrived, released;
        uint32_t parity;
    };
    uint32_t parity; /* parity of the mbarrier phase that the next pass() completes */

    __device__ __forceinline__ static words &own() {
        __shared__ words of_block;
        return of_block;
    }
    __device__ __forceinline__ static uint32_t arrived() {
        return shared_address(&own().arrived);
    }
    __device__ __forceinline__ static uint32_t released() {
        return shared_address(&own().released);
    }
    __device__ static void open() {
#if __CUDA_ARCH__ >= 900
        if (thread_in_block() == 0) {
            init_barrier(arrived(), (int)cluster_size());
            init_barrier(released(), 1);
            publish_barriers();
            own().parity = 0;
        }
        cluster_hardware_sync();
#else
        __trap(); /* never launched: the host checks the barrier's `capability` in barriers.def */
#endif
    }
    __device__ static void close() {
#if __CUDA_ARCH__ >= 900
        cluster_hardware_sync();
        if (thread_in_block() == 0) {
            drop_barrier(arrived());
            drop_barrier(released());
        }
#endif
    }

    __device__ explicit open_cluster_barrier(const stencil_barrier_state &state)
        : counted_barrier(state), parity(own().parity) {}

    __device__ __forceinline__ void wait_at(uint32_t mbarrier, int64_t step) const {
        spin<watchdog_every>(s, step, [&] { return try_wait_cluster(mbarrier, parity, suspend_ns); });
    }
    __device__ void meet(int64_t step) const {
        const uint32_t lane = thread_in_block(), blocks = cluster_size();
        if (lane == 0)
            arrive_at(arrived(), 0);
        if (cluster_rank() != 0) {
            if (lane == 0)
                wait_at(released(), step);
            return;
        }
        if (lane == 0) {
            wait_at(arrived(), step);
            count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
        }
        __syncwarp();
        if (lane > 0 && lane < blocks)
            arrive_at(released(), lane);
    }
    __device__ void pass(int64_t step) {
#if __CUDA_ARCH__ >= 900
        goal += gridDim.x / cluster_size();
        meet(step);
        parity ^= 1;
#endif
    }
    __device__ void leave() {
        counted_barrier::leave();
        if (thread_in_block() == 0)
            own().parity = parity;
    }
};

/* The barrier of a launch, which is open while the object exists; several may follow each other. */
struct cluster_barrier : open_cluster_barrier {
    __device__ explicit cluster_barrier(const stencil_barrier_state &state) : open_cluster_barrier(state) {
        open();
        parity = 0;
    }
    __device__ ~cluster_barrier() {
        close();
    }
};

} // namespace stencil
#else
/* The CPU twin. Pairs of threads stand for clusters: the first thread of a pair waits for the second, waits
 * at a counter for the first threads of all pairs, and then releases the second. */
static inline bool cluster_team(const stencil_barrier_state *s, uint32_t thread) {
    uint32_t *goal = &stencil_barrier_epoch(s)[thread];
    uint32_t *arrived = stencil_barrier_arrived(s), *released = stencil_barrier_released(s);
    const uint32_t epoch = ++*stencil_barrier_flag(s, thread);
    *goal += (s->participants + 1) / 2;
    if (thread % 2 != 0) {
        team_store(&arrived[thread], epoch);
        return team_spin(s, thread, &released[thread], epoch);
    }
    const bool pair = thread + 1 < s->participants;
    if (pair && !team_spin(s, thread, &arrived[thread + 1], epoch))
        return false;
    team_add(stencil_barrier_counter(s, 0), 1);
    if (!team_spin(s, thread, stencil_barrier_counter(s, 0), *goal))
        return false;
    if (pair)
        team_store(&released[thread + 1], epoch);
    return true;
}
#endif
