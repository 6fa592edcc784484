/* No barrier for the whole grid: a block announces its step in a flag of its own and waits only for the
 * blocks whose cells it reads.
 *
 * Let N(b) be the blocks that own a cell, or write a copy of one into a rim, that b reads; stencil shapes and
 * rims are symmetric, so a in N(b) means b in N(a). Passing sync() number e, block b has seen flag e of all
 * N(b).
 *  - Reading is right: what b reads in step e+1 was written by N(b) (or b) in step e, before their flag e:
 * release, acquire, and __syncthreads() on both sides.
 *  - Overwriting is right: in step e+1, b writes the buffer that held the field before step e. Only N(b) read
 * those cells, in step e, and did so before they released flag e. So two buffers are enough, and neighbours
 * are never more than one step apart, though distant blocks may be. Whatever belongs to the whole grid
 * (residual, decisions, the host's wishes) goes through sync_all(), a central counter. */
#ifndef STENCIL_SYNC_NEIGHBOR_CUH
#define STENCIL_SYNC_NEIGHBOR_CUH

#include "sync/barrier.h"

#ifdef __CUDACC__
#include "sync/memory.cuh"

namespace stencil {

struct neighbor_barrier {
    static constexpr bool local = true;
    const stencil_barrier_state &s;
    uint32_t epoch, goal;
    const uint32_t *flag; /* that this thread watches; NULL: none */
    uint32_t rest, end;   /* entries of the list beyond one for each thread */

    __device__ explicit neighbor_barrier(const stencil_barrier_state &state)
        : s(state), epoch(*stencil_barrier_flag(&state, blockIdx.x)),
          goal(stencil_barrier_epoch(&state)[blockIdx.x]), flag(nullptr) {
        /* The list does not change: reading it again in every step would cost two trips to L2. */
        const uint32_t mine = s.neighbor_first[blockIdx.x] + thread_in_block();
        end = s.neighbor_first[blockIdx.x + 1];
        rest = mine + blockDim.x * blockDim.y;
        if (mine < end)
            flag = stencil_barrier_flag(&s, s.neighbor[mine]);
    }

    __device__ void sync(int64_t step) {
        epoch++;
        __syncthreads();
        /* By another warp than the first ones that wait: none of its lanes has to take both ways. */
        if (thread_in_block() == blockDim.x * blockDim.y - 1)
            store_release(stencil_barrier_flag(&s, blockIdx.x), epoch);
        if (flag != nullptr)
            spin(s, step, [&] { return stencil_reached(load_acquire(flag), epoch); });
        for (uint32_t i = rest; i < end; i += blockDim.x * blockDim.y) {
            const uint32_t *other = stencil_barrier_flag(&s, s.neighbor[i]);
            spin(s, step, [&] { return stencil_reached(load_acquire(other), epoch); });
        }
        __syncthreads();
    }

    __device__ void sync_all(int64_t step) {
        goal += gridDim.x;
        __syncthreads();
        if (thread_in_block() == 0)
            count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
        __syncthreads();
    }
    __device__ void leave() {
        if (thread_in_block() == 0)
            stencil_barrier_epoch(&s)[blockIdx.x] = goal;
    }
};

} // namespace stencil
#else
#include "sync/team.h"

static inline bool neighbor_team(const stencil_barrier_state *s, uint32_t thread, bool all) {
    if (all) {
        uint32_t *goal = &stencil_barrier_epoch(s)[thread];
        *goal += s->participants;
        team_add(stencil_barrier_counter(s, 0), 1);
        return team_spin(s, thread, stencil_barrier_counter(s, 0), *goal);
    }
    uint32_t *flag = stencil_barrier_flag(s, thread);
    const uint32_t epoch = *flag + 1;
    team_store(flag, epoch);
    for (uint32_t i = s->neighbor_first[thread]; i < s->neighbor_first[thread + 1]; i++)
        if (!team_spin(s, thread, stencil_barrier_flag(s, s->neighbor[i]), epoch))
            return false;
    return true;
}
#endif
#endif
