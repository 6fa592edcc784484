#include "bench/benchmarks/groups.cuh"
#include "bench/kernels.h"

/* Barriers; the groups are made while the warp is together. Each hands on the value of the lane `next`. */
template <class Group> struct barrier {
    Group group;
    __device__ int operator()(int, int next) const {
        group.sync();
        return next;
    }
};
template <class Group> struct shuffle {
    Group group;
    __device__ int operator()(int lane, int next) const {
        return group.shfl(lane, next);
    }
};
struct no_barrier {
    __device__ int operator()(int, int next) const {
        return next;
    }
};

/* if (lane == 0) … else if (lane == 1) …, 000 Fig. 17. What each branch stores besides differs, so that they
 * are not made one again. */
template <class Barrier, int Lane> struct branches {
    static __device__ __forceinline__ void take(int lane, const Barrier &barrier, stencil_order_seen *seen) {
        if (lane == Lane) {
            const long long before = clock64();
            const int value = barrier(lane, (lane + 1) % STENCIL_ORDER_LANES);
            const long long after = clock64();
            seen->before[Lane] = before;
            seen->after[Lane] = after;
            seen->value[Lane] = value;
        } else {
            branches<Barrier, Lane + 1>::take(lane, barrier, seen);
        }
    }
};
template <class Barrier> struct branches<Barrier, STENCIL_ORDER_LANES> {
    static __device__ __forceinline__ void take(int, const Barrier &, stencil_order_seen *) {}
};

template <class Barrier> static __global__ void one_warp(stencil_order_seen *seen) {
    const Barrier barrier;
    branches<Barrier, 0>::take((int)threadIdx.x, barrier, seen);
}

const stencil_order_kernel stencil_order_kernels[] = {
    {"__syncwarp", STENCIL_KERNEL(one_warp<barrier<stencil::whole_warp>>), false},
    {"tile", STENCIL_KERNEL(one_warp<barrier<stencil::tile<32>>>), false},
    {"coalesced", STENCIL_KERNEL(one_warp<barrier<stencil::coalesced>>), false},
    {"shuffle, tile", STENCIL_KERNEL(one_warp<shuffle<stencil::tile<32>>>), true},
    {"shuffle, coalesced", STENCIL_KERNEL(one_warp<shuffle<stencil::coalesced>>), true},
    {"no barrier", STENCIL_KERNEL(one_warp<no_barrier>), false},
    {nullptr, nullptr, false},
};
