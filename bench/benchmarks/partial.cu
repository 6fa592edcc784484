#include "bench/benchmarks/partial.h"
#include "sync/all.cuh"

namespace cg = cooperative_groups;

/* Who synchronises. */
struct half_of_the_lanes {
    static __device__ bool synchronises() {
        return threadIdx.x % 32 < 16;
    }
};
struct half_of_the_warps {
    static __device__ bool synchronises() {
        return threadIdx.x < blockDim.x / 2;
    }
};
struct half_of_the_blocks {
    static __device__ bool synchronises() {
        return blockIdx.x < gridDim.x / 2;
    }
};

/* With what. Groups are made while everybody is there. */
struct syncwarp {
    __device__ explicit syncwarp(const stencil_barrier_state &) {}
    __device__ void sync() {
        __syncwarp(0xffffffffu);
    }
};
struct tile_sync {
    cg::thread_block_tile<32> group = cg::tiled_partition<32>(cg::this_thread_block());
    __device__ explicit tile_sync(const stencil_barrier_state &) {}
    __device__ void sync() {
        group.sync();
    }
};
struct coalesced_sync {
    cg::coalesced_group group = cg::coalesced_threads();
    __device__ explicit coalesced_sync(const stencil_barrier_state &) {}
    __device__ void sync() {
        group.sync();
    }
};
struct syncthreads {
    __device__ explicit syncthreads(const stencil_barrier_state &) {}
    __device__ void sync() {
        __syncthreads();
    }
};
struct library_grid {
    __device__ explicit library_grid(const stencil_barrier_state &) {}
    __device__ void sync() {
        cg::this_grid().sync();
    }
};
template <class Barrier> struct limited {
    Barrier barrier;
    __device__ explicit limited(const stencil_barrier_state &state) : barrier(state) {}
    __device__ void sync() {
        barrier.sync(0);
        barrier.leave();
    }
};

template <class Part, class Barrier>
static __global__ void __launch_bounds__(256) synchronise(const __grid_constant__ stencil_partial_work w) {
    Barrier barrier(w.state);
    if (Part::synchronises())
        barrier.sync();
    atomicAdd(w.done, 1u);
}

template <class Part, class Barrier> static const void *kernel() {
    return reinterpret_cast<const void *>(&synchronise<Part, Barrier>);
}

extern "C" const void *stencil_partial_kernel(int which) {
    switch (which) {
    case STENCIL_PARTIAL_SYNCWARP:
        return kernel<half_of_the_lanes, syncwarp>();
    case STENCIL_PARTIAL_TILE:
        return kernel<half_of_the_lanes, tile_sync>();
    case STENCIL_PARTIAL_COALESCED:
        return kernel<half_of_the_lanes, coalesced_sync>();
    case STENCIL_PARTIAL_BLOCK_LANES:
        return kernel<half_of_the_lanes, syncthreads>();
    case STENCIL_PARTIAL_BLOCK_WARPS:
        return kernel<half_of_the_warps, syncthreads>();
    case STENCIL_PARTIAL_GRID_LANES:
        return kernel<half_of_the_lanes, library_grid>();
    case STENCIL_PARTIAL_GRID_WARPS:
        return kernel<half_of_the_warps, library_grid>();
    case STENCIL_PARTIAL_GRID_BLOCKS:
        return kernel<half_of_the_blocks, library_grid>();
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_PARTIAL_LIMITED + STENCIL_BARRIER_##id:                                                     \
        return kernel<half_of_the_blocks, limited<stencil::id##_barrier>>();
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    default:
        return nullptr;
    }
}
