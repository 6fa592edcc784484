#include "bench/benchmarks/groups.cuh"
#include "bench/kernels.h"
#include "sync/all.cuh"

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
template <class Group> struct group_of {
    Group group;
    __device__ explicit group_of(const stencil_barrier_state &) {}
    __device__ void sync() {
        group.sync();
    }
};
struct whole_block {
    __device__ void sync() {
        __syncthreads();
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
static __global__ void __launch_bounds__(256) synchronise(const __grid_constant__ stencil_partial_work w) {
    Barrier barrier(w.state);
    if (Part::synchronises())
        barrier.sync();
    atomicAdd(w.done, 1u);
}

const void *const stencil_partial_kernels[] = {
    STENCIL_KERNEL(synchronise<half_of_the_lanes, group_of<stencil::whole_warp>>),
    STENCIL_KERNEL(synchronise<half_of_the_lanes, group_of<stencil::tile<32>>>),
    STENCIL_KERNEL(synchronise<half_of_the_lanes, group_of<stencil::coalesced>>),
    STENCIL_KERNEL(synchronise<half_of_the_lanes, group_of<whole_block>>),
    STENCIL_KERNEL(synchronise<half_of_the_warps, group_of<whole_block>>),
    STENCIL_KERNEL(synchronise<half_of_the_lanes, group_of<library_grid>>),
    STENCIL_KERNEL(synchronise<half_of_the_warps, group_of<library_grid>>),
    STENCIL_KERNEL(synchronise<half_of_the_blocks, group_of<library_grid>>),
    nullptr, /* STENCIL_BARRIER_none */
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    STENCIL_KERNEL(synchronise<half_of_the_blocks, limited<stencil::id##_barrier>>),
#include "sync/barriers.def"
#undef STENCIL_BARRIER
};
