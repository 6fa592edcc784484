/* Kernels that do nothing but synchronise, with the very barrier types that the persistent loops use. */
#include "bench/benchmarks/barrier.h"
#include "sync/all.cuh"
#include "sync/memory.cuh"

/* Passes the barrier `passes` times. With Verify, each block writes the number of the pass into its word
 * before the barrier, and looks after it whether those that it waits for have done so too; what is missing is
 * counted. */
template <class Barrier, bool Verify>
static __global__ void __launch_bounds__(256) pass(const __grid_constant__ stencil_barrier_passes p) {
    Barrier barrier(p.state);
    unsigned missing = 0;
    for (int64_t i = 1; i <= p.passes; i++) {
        if (Verify && threadIdx.x == blockDim.x - 1)
            p.word[blockIdx.x] = (uint32_t)i;
        barrier.sync(i);
        if (Verify) {
            /* The neighbours in a ring: everybody waits for at least these. */
            const uint32_t side = threadIdx.x % 2 == 0 ? 1 : gridDim.x - 1;
            missing += __ldcg(p.word + (blockIdx.x + side) % gridDim.x) < (uint32_t)i;
        }
    }
    barrier.leave();
    if (Verify && missing > 0)
        atomicAdd(p.missing, missing);
}

/* The vendor's barrier as it is, without a time limit. */
struct library_barrier {
    __device__ explicit library_barrier(const stencil_barrier_state &) {}
    __device__ void sync(int64_t) {
        cooperative_groups::this_grid().sync();
    }
    __device__ void leave() {}
};

extern "C" const void *stencil_barrier_pass_kernel(stencil_barrier_id id, bool verify) {
    switch (id) {
    case STENCIL_BARRIER_none:
        return verify ? reinterpret_cast<const void *>(&pass<library_barrier, true>)
                      : reinterpret_cast<const void *>(&pass<library_barrier, false>);
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        return verify ? reinterpret_cast<const void *>(&pass<stencil::id##_barrier, true>)                   \
                      : reinterpret_cast<const void *>(&pass<stencil::id##_barrier, false>);
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    default:
        return nullptr;
    }
}
