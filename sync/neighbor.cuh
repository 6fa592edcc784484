/* No barrier for the whole grid: a block announces its step in a flag of its own and waits only for the
 * blocks whose cells it reads.
 *
 * Let N(b) be the blocks that own a cell, or write a ghost cell, that b reads; stencil shapes and ghost cells
 * are symmetric, so a in N(b) means b in N(a). Passing sync() number e, block b has seen flag e of all
 * N(b).
 *  - Reading is right: what b reads in step e+1 was written by N(b) (or b) in step e, before their flag e:
 * release, acquire, and __syncthreads() on both sides.
 *  - Overwriting is right: in step e+1, b writes the buffer that held the field before step e. Only N(b) read
 * those cells, in step e, and did so before they released flag e. So two buffers are enough, and neighbours
 * are never more than one step apart, though distant blocks may be. Whatever belongs to the whole grid
 * (residual, decisions, the host's wishes) goes through sync_all(): one counter, or across GPUs the barrier
 * of multi_grid.cuh.
 *
 * Across GPUs ghost cells may tell of themselves (LL exchange); then only blocks of the same part wait for
 * each other here. Where they are stored as they are nothing changes but the scope: a block that blocks of
 * other parts wait for also stores its flag, with a release at system scope, into the memory of each such
 * part, after its ghost cells of that part; it is polled there, in local memory, with an acquire at
 * system scope. Local neighbours need no more than device scope and do not wait for the link: another warp
 * stores the local flag. */
#pragma once

#include "sync/multi_grid.cuh"

#ifdef __CUDACC__
namespace stencil {

struct neighbor_barrier {
    static constexpr bool local = true;
    const stencil_barrier_state &s;
    uint32_t epoch;
    uint32_t *flag; /* that this thread watches, or stores to; NULL: none */

    /* Warps by role: none of the lanes of a warp has to take two ways. The last thread stores the local flag,
     * the warp before the last the remote ones, all others watch. In blocks of one or two warps the last
     * thread stores them all, and all other threads watch. */
    __device__ __forceinline__ static uint32_t threads() {
        return blockDim.x * blockDim.y;
    }
    __device__ __forceinline__ static uint32_t watchers() {
        return threads() > 64 ? threads() - 64 : threads() - 1;
    }
    /* The flag of an entry of this block's list; NULL behind its end. */
    __device__ __forceinline__ static uint32_t *watched(const stencil_barrier_state &s, uint32_t entry) {
        const uint32_t first = s.neighbor_first[blockIdx.x];
        return entry < s.neighbor_first[blockIdx.x + 1] - first
                   ? stencil_barrier_flag(&s, s.neighbor[first + entry])
                   : nullptr;
    }
    __device__ __forceinline__ static uint32_t *remote_flag(const stencil_barrier_state &s, uint32_t part) {
        return s.announce != nullptr && part < s.parts && (s.announce[blockIdx.x] >> part & 1) != 0
                   ? s.peer_words[part] + stencil_barrier_flag_at(s.first + blockIdx.x)
                   : nullptr;
    }

    /* Neither the list nor the addresses change: finding them again in every step would cost trips to L2. */
    __device__ explicit neighbor_barrier(const stencil_barrier_state &state)
        : s(state), epoch(*stencil_barrier_flag(&state, state.first + blockIdx.x)), flag(nullptr) {
        const uint32_t t = thread_in_block();
        if (t == threads() - 1)
            flag = stencil_barrier_flag(&s, s.first + blockIdx.x);
        else if (t >= watchers())
            flag = remote_flag(s, t - watchers());
        else
            flag = watched(s, watchers() - 1 - t);
    }

    /* Blocks of one or two warps have no warp to spare for this. A function of its own, it reads the state
     * from memory: called where nobody is to be told it would cost 0.25 us. */
    static __device__ __noinline__ void announce_alone(const stencil_barrier_state &s, uint32_t epoch) {
        for (uint32_t part = 0; part < s.parts; part++) {
            uint32_t *const there = remote_flag(s, part);
            if (there != nullptr)
                store_release_system(there, epoch);
        }
    }

    /* Some of those that are watched may store from another GPU. */
    static __device__ __forceinline__ void watch(const stencil_barrier_state &s, const uint32_t *other,
                                                 uint32_t epoch, int64_t step) {
        if (s.announce != nullptr)
            spin(s, step, [&] { return stencil_reached(load_acquire_system(other), epoch); });
        else
            spin(s, step, [&] { return stencil_reached(load_acquire(other), epoch); });
    }

    /* Watches the rest of a long list; called where any list of the part is longer than a block has watching
     * threads: that is a constant of the launch, which costs no trip to memory. It is a function of its own:
     * its registers are not the sweep's. */
    static __device__ __noinline__ void watch_more(const stencil_barrier_state &s, uint32_t epoch,
                                                   int64_t step) {
        const uint32_t *other;
        for (uint32_t i = 2 * watchers() - 1 - thread_in_block(); (other = watched(s, i)) != nullptr;
             i += watchers())
            watch(s, other, epoch, step);
    }

    __device__ __forceinline__ void arrive() {
        const uint32_t t = thread_in_block();
        epoch++;
        __syncthreads();
        if (t == threads() - 1) {
            store_release(flag, epoch);
            if (threads() <= 64 && s.announce != nullptr)
                announce_alone(s, epoch);
        } else if (flag != nullptr && t >= watchers()) {
            store_release_system(flag, epoch);
        }
    }
    __device__ __forceinline__ void wait(int64_t step) {
        const uint32_t t = thread_in_block();
        if (t < watchers() && flag != nullptr)
            watch(s, flag, epoch, step);
        if (s.neighbor_most > watchers() && t < watchers())
            watch_more(s, epoch, step);
        __syncthreads();
    }
    __device__ void sync(int64_t step) {
        arrive();
        wait(step);
    }

    /* Passes of all together are counted apart from the flags, in the words of the parts. */
    __device__ void sync_all(int64_t step) {
        uint32_t *const counted = stencil_barrier_epoch(&s) + blockIdx.x;
        __syncthreads();
        if (thread_in_block() < 32) {
            const uint32_t goal = *counted + gridDim.x;
            __syncwarp();
            if (s.parts > 1)
                all_parts_wait(s, peer_word(s), goal, part_epoch() + 1, step);
            else if (thread_in_block() == 0)
                count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
            if (thread_in_block() == 0)
                *counted = goal;
        }
        __syncthreads();
    }
    /* Stable while this block has not arrived: its own part's word waits for it. */
    __device__ __forceinline__ uint32_t part_epoch() const {
        return load_relaxed(stencil_barrier_part_words(&s) + s.part);
    }
    __device__ void leave() {}
};

} // namespace stencil
#else
static inline bool neighbor_team(const stencil_barrier_state *s, uint32_t thread) {
    uint32_t *flag = stencil_barrier_flag(s, thread);
    const uint32_t epoch = *flag + 1;
    team_store(flag, epoch);
    for (uint32_t i = s->neighbor_first[thread]; i < s->neighbor_first[thread + 1]; i++)
        if (!team_spin(s, thread, stencil_barrier_flag(s, s->neighbor[i]), epoch))
            return false;
    return true;
}
#endif
