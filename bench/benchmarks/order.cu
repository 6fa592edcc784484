#include <cooperative_groups.h>

#include "bench/benchmarks/order_kernels.h"

namespace cg = cooperative_groups;
typedef cg::thread_block_tile<STENCIL_ORDER_LANES> whole_tile;

/* Barriers; the groups are made while the warp is together. Each hands on the value of the lane `next`. */
struct syncwarp {
    __device__ int operator()(int, int next) const {
        __syncwarp();
        return next;
    }
};
struct tile_sync {
    whole_tile group = cg::tiled_partition<STENCIL_ORDER_LANES>(cg::this_thread_block());
    __device__ int operator()(int, int next) const {
        group.sync();
        return next;
    }
};
struct coalesced_sync {
    cg::coalesced_group group = cg::coalesced_threads();
    __device__ int operator()(int, int next) const {
        group.sync();
        return next;
    }
};
struct tile_shuffle {
    whole_tile group = cg::tiled_partition<STENCIL_ORDER_LANES>(cg::this_thread_block());
    __device__ int operator()(int lane, int next) const {
        return group.shfl(lane, next);
    }
};
struct coalesced_shuffle {
    cg::coalesced_group group = cg::coalesced_threads();
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

extern "C" const void *stencil_order_kernel(stencil_order_barrier barrier) {
    switch (barrier) {
    case STENCIL_ORDER_SYNCWARP:
        return reinterpret_cast<const void *>(&one_warp<syncwarp>);
    case STENCIL_ORDER_TILE:
        return reinterpret_cast<const void *>(&one_warp<tile_sync>);
    case STENCIL_ORDER_COALESCED:
        return reinterpret_cast<const void *>(&one_warp<coalesced_sync>);
    case STENCIL_ORDER_SHUFFLE_TILE:
        return reinterpret_cast<const void *>(&one_warp<tile_shuffle>);
    case STENCIL_ORDER_SHUFFLE_COALESCED:
        return reinterpret_cast<const void *>(&one_warp<coalesced_shuffle>);
    case STENCIL_ORDER_NOTHING:
        return reinterpret_cast<const void *>(&one_warp<no_barrier>);
    default:
        return nullptr;
    }
}
