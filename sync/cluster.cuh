/* Two levels: the hardware barrier of a thread-block cluster (compute capability 9.0), and one counter
 * between the clusters. The first block of a cluster arrives and waits for all of it.
 *
 * barrier.cluster.arrive releases and barrier.cluster.wait acquires at cluster scope; between the two cluster
 * barriers the leader's addition and ld.acquire at device scope carry what the cluster wrote to the others
 * and back (causality order is transitive). The hardware part has no time limit of its own: it only waits for
 * blocks of the same cluster, and nothing that they do between two barriers waits without a limit. */
#ifndef STENCIL_SYNC_CLUSTER_CUH
#define STENCIL_SYNC_CLUSTER_CUH

#include "sync/barrier.h"

#ifdef __CUDACC__
#include "sync/counted.cuh"

namespace stencil {

struct cluster_barrier : counted_barrier<cluster_barrier> {

    __device__ explicit cluster_barrier(const stencil_barrier_state &state) : counted_barrier(state) {}

    __device__ __forceinline__ static uint32_t size() {
        uint32_t blocks;
        asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
        return blocks;
    }
    __device__ __forceinline__ static uint32_t rank() {
        uint32_t rank;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        return rank;
    }
    __device__ __forceinline__ static void meet() {
        asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                         : "memory");
    }

    __device__ void sync(int64_t step) {
#if __CUDA_ARCH__ >= 900 /* refused by the host on older devices */
        goal += gridDim.x / size();
        meet();
        if (rank() == 0 && thread_in_block() == 0)
            count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
        meet();
#endif
    }
};

} // namespace stencil
#else
#include "sync/team.h"

/* Pairs of threads stand for clusters: the second of a pair meets the first, the first ones meet at a
 * counter. */
static inline bool cluster_team(const stencil_barrier_state *s, uint32_t thread, bool all) {
    (void)all;
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
#endif
