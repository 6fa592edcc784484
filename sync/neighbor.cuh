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
 * Across GPUs ghost cells may carry flags (LL exchange); then only blocks of the same part wait for each
 * other here. With plain ghost cells only the scope changes: a block that blocks of other parts wait for also
 * stores its flag, with a release at system scope, into the memory of each such part, after its ghost cells
 * of that part; the flag is polled there, in local memory, with an acquire at system scope. Local neighbours
 * need only device scope and do not wait for the link: another warp stores the local flag. */
#pragma once

#include "sync/multi_grid.cuh"

#ifdef __CUDACC__
namespace stencil {

struct neighbor_barrier {
    static constexpr bool local = true;
    using of_loop = multi_grid_barrier; /* a pass reads rows of blocks that change with its steps */
    const stencil_barrier_state &s;
    uint32_t epoch;
    uint32_t *flag; /* flag that this thread polls or stores to; NULL: none */

    /* Roles are assigned by warp, to avoid divergence: the last thread stores the block's local flag, the
     * warp before the last stores its flags on other GPUs, and all other threads poll. In blocks of one or
     * two warps the last thread stores all flags, and the other threads poll. */
    __device__ __forceinline__ static uint32_t threads() {
        return blockDim.x * blockDim.y;
    }
    __device__ __forceinline__ static uint32_t watchers() {
        return threads() > 64 ? threads() - 64 : threads() - 1;
    }
    /* Returns the flag of an entry of this block's neighbour list; NULL after the end of the list. */
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

    /* Finds flag addresses once: the neighbour list does not change, and rereading costs L2 accesses. */
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

    /* Stores the flags on other GPUs from one thread, in blocks of one or two warps. Not inlined, it reads
     * the state from memory, which costs 0.25 us; so it is called only where other parts wait for the block.
     */
    static __device__ __noinline__ void announce_alone(const stencil_barrier_state &s, uint32_t epoch) {
        for (uint32_t part = 0; part < s.parts; part++) {
            uint32_t *const there = remote_flag(s, part);
            if (there != nullptr)
                store_release_system(there, epoch);
        }
    }

    /* Polls a neighbour's flag, with system scope where the neighbour may be on another GPU. */
    static __device__ __forceinline__ void watch(const stencil_barrier_state &s, const uint32_t *other,
                                                 uint32_t epoch, int64_t step) {
        if (s.announce != nullptr)
            spin(s, step, [&] { return stencil_reached(load_acquire_system(other), epoch); });
        else
            spin(s, step, [&] { return stencil_reached(load_acquire(other), epoch); });
    }

    /* Polls the flags of a neighbour list beyond one per polling thread; called when the part's longest list
     * exceeds the polling threads of a block, a constant of the launch that needs no load. Not inlined, to
     * use no registers of the sweep. */
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

    /* Waits for all blocks; sync_all() calls are counted in the words of the parts, not in the flags. */
    __device__ void sync_all(int64_t step) {
        uint32_t *const counted = stencil_barrier_epoch(&s) + blockIdx.x;
        __syncthreads();
        if (thread_in_block() < 32) {
            const uint32_t goal = *counted + gridDim.x, epoch_all = s.parts > 1 ? part_epoch() + 1 : 0;
            __syncwarp(); /* every lane has read them before the first one counts the block */
            if (s.parts > 1)
                all_parts_wait(s, peer_word(s), goal, epoch_all, step);
            else if (thread_in_block() == 0)
                count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
            if (thread_in_block() == 0)
                *counted = goal;
        }
        __syncthreads();
    }
    /* Returns the word of this block's part, which cannot change before this block is counted. */
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
