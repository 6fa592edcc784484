/* Kernels that do nothing but synchronise, with the very barrier types that the persistent loops use. */
#include "bench/benchmarks/grid_kernels.h"
#include "sync/all.cuh"
#include "sync/memory.cuh"

/* The vendor's barrier as it is, without a time limit. */
struct library_barrier {
    static constexpr bool local = false;
    __device__ explicit library_barrier(const stencil_barrier_state &) {}
    __device__ void sync(int64_t) {
        cooperative_groups::this_grid().sync();
    }
    __device__ void leave() {}
};

/* Barrier `cluster` with the hardware's barrier inside the cluster, which has no time limit. */
struct hardware_cluster_barrier : stencil::counted_barrier<hardware_cluster_barrier> {
    using stencil::counted_barrier<hardware_cluster_barrier>::counted_barrier;
    __device__ __forceinline__ static void cluster_sync() {
        asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                         : "memory");
    }
    __device__ void sync(int64_t step) {
#if __CUDA_ARCH__ >= 900 /* refused by the host on older devices */
        goal += gridDim.x / stencil::cluster_size();
        cluster_sync();
        if (stencil::cluster_rank() == 0 && stencil::thread_in_block() == 0)
            stencil::count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
        cluster_sync();
#endif
    }
};

/* The central barrier without its release: the first thread counts its block in at once. */
struct unreleased_barrier {
    static constexpr bool local = false;
    const stencil_barrier_state &s;
    uint32_t goal = 0;
    __device__ explicit unreleased_barrier(const stencil_barrier_state &state) : s(state) {}
    __device__ void sync(int64_t step) {
        goal += gridDim.x;
        if (stencil::thread_in_block() == 0) {
            uint32_t *counter = stencil_barrier_counter(&s, 0);
            asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
            stencil::spin(s, step, [&] { return stencil_reached(stencil::load_relaxed(counter), goal); });
        }
        __syncthreads();
    }
    __device__ void leave() {}
};

/* Passes the barrier `passes` times. With Verify, the last thread of each block writes the number of the pass
 * into the block's word, one block in eight some microseconds late; after the barrier every thread looks at
 * the word of a block that it has waited for, another one each time. */
template <class Barrier, bool Verify>
static __global__ void __launch_bounds__(1024, Barrier::local ? 1 : 2)
    pass(const __grid_constant__ stencil_grid_passes p) {
    Barrier barrier(p.state);
    unsigned missing = 0;
    uint32_t ahead = 1 + threadIdx.x;
    for (int64_t i = 1; i <= p.passes; i++) {
        if (Verify && threadIdx.x == blockDim.x - 1) {
            if ((blockIdx.x + i) % 8 == 0)
                __nanosleep(2000);
            __stcg(p.word + blockIdx.x, (uint32_t)i);
        }
        barrier.sync(i);
        if (Verify) {
            /* A local barrier waits only for its neighbours in a ring. */
            if (Barrier::local)
                ahead = threadIdx.x % 2 == 0 ? 1 : gridDim.x - 1;
            missing += __ldcg(p.word + (blockIdx.x + ahead) % gridDim.x) < (uint32_t)i;
            ahead += blockDim.x;
        }
    }
    barrier.leave();
    if (Verify && missing > 0)
        atomicAdd(p.missing, missing);
}

template <class Barrier> static const void *kernel(bool verify) {
    return verify ? reinterpret_cast<const void *>(&pass<Barrier, true>)
                  : reinterpret_cast<const void *>(&pass<Barrier, false>);
}

extern "C" const void *stencil_grid_kernel(int barrier, bool verify) {
    switch (barrier) {
    case STENCIL_GRID_LIBRARY:
        return kernel<library_barrier>(verify);
    case STENCIL_GRID_HARDWARE:
        return kernel<hardware_cluster_barrier>(verify);
    case STENCIL_GRID_FAULT:
        return kernel<unreleased_barrier>(verify);
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        return kernel<stencil::id##_barrier>(verify);
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    default:
        return nullptr;
    }
}
