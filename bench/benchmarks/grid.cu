#include "bench/benchmarks/passes.cuh"

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

const void *const stencil_grid_kernels[][2] = {
    STENCIL_PASSES_OF(library_barrier),
#define STENCIL_BARRIER(id, name, capability, needs, text) STENCIL_PASSES_OF(stencil::id##_barrier),
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    STENCIL_PASSES_OF(hardware_cluster_barrier),
    STENCIL_PASSES_OF(unreleased_barrier),
};
