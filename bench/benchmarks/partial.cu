#include "bench/benchmarks/groups.cuh"
#include "bench/kernels.h"
#include "sync/all.cuh"

/* Who synchronises. */
struct half_of_the_lanes {
    static __device__ bool synchronises(const stencil_barrier_state &) {
        return threadIdx.x % 32 < 16;
    }
};
struct half_of_the_warps {
    static __device__ bool synchronises(const stencil_barrier_state &) {
        return threadIdx.x < blockDim.x / 2;
    }
};
struct half_of_the_blocks {
    static __device__ bool synchronises(const stencil_barrier_state &) {
        return blockIdx.x < gridDim.x / 2;
    }
};
struct half_of_the_parts {
    static __device__ bool synchronises(const stencil_barrier_state &s) {
        return s.part < s.parts / 2;
    }
};

/* With what. Groups are made while everybody is there. */
template <class Group> struct group_of {
    Group group;
    __device__ explicit group_of(const stencil_barrier_state &) {}
    __device__ void sync() {
        group.sync();
    }
};
struct library_grid {
    __device__ void sync() {
        cooperative_groups::this_grid().sync();
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
static __global__ void __launch_bounds__(256) synchronise(const __grid_constant__ stencil_passes p) {
    Barrier barrier(p.state);
    if (Part::synchronises(p.state))
        barrier.sync();
    atomicAdd(p.count, 1u);
}

template <class Part, class Barrier>
static stencil_partial_kernel row(const char *kind, const char *name, unsigned threads, bool grid,
                                  stencil_barrier_id barrier = STENCIL_BARRIER_none) {
    return {kind, name, STENCIL_KERNEL(synchronise<Part, Barrier>), threads, grid, barrier};
}

template <class Part, class Barrier>
static stencil_partial_kernel limited_row(const char *name, stencil_barrier_id barrier) {
    return row<Part, limited<Barrier>>("with a time limit", name, 256, true, barrier);
}

const stencil_partial_kernel stencil_partial_kernels[] = {
    row<half_of_the_lanes, group_of<stencil::whole_warp>>("warp", "__syncwarp, half the lanes", 32, false),
    row<half_of_the_lanes, group_of<stencil::tile<32>>>("warp", "tile, half the lanes", 32, false),
    row<half_of_the_lanes, group_of<stencil::coalesced>>("warp", "coalesced, half the lanes", 32, false),
    row<half_of_the_lanes, group_of<stencil::whole_block>>("block", "__syncthreads, half the lanes", 256,
                                                           false),
    row<half_of_the_warps, group_of<stencil::whole_block>>("block", "__syncthreads, half the warps", 256,
                                                           false),
    row<half_of_the_lanes, group_of<library_grid>>("grid", "grid.sync, half the lanes", 256, true),
    row<half_of_the_warps, group_of<library_grid>>("grid", "grid.sync, half the warps", 256, true),
    row<half_of_the_blocks, group_of<library_grid>>("grid", "grid.sync, half the blocks", 256, true),
    limited_row<half_of_the_parts, stencil::multi_grid_barrier>("multi-grid, half the GPUs",
                                                                STENCIL_BARRIER_multi_grid),
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    limited_row<half_of_the_blocks, stencil::id##_barrier>(name ", half the blocks", STENCIL_BARRIER_##id),
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    {},
};
