/* Kernels that do nothing but synchronise, with the very barrier types that the persistent loops use. */
#ifndef STENCIL_BENCH_PASSES_CUH
#define STENCIL_BENCH_PASSES_CUH

#include "bench/kernels.h"
#include "sync/all.cuh"
#include "sync/memory.cuh"

/* Whether the block whose turn it is to be looked at has arrived in pass i; all blocks of all parts in turn.
 * A local barrier waits only for its neighbours in the ring of all blocks. */
template <bool Local> static __device__ __forceinline__ bool arrived(const stencil_passes &p, int64_t i) {
    const uint32_t all = p.blocks * p.state.parts, mine = p.state.part * p.blocks + blockIdx.x;
    uint32_t ahead = 1 + threadIdx.x + (uint32_t)i * blockDim.x;
    if (Local)
        ahead = threadIdx.x % 2 == 0 ? 1 : all - 1;
    else if (threadIdx.x % 2 == 0 && p.state.parts > 1) /* another GPU */
        ahead = p.blocks * (1 + (uint32_t)i % (p.state.parts - 1));
    const uint32_t other = (mine + ahead) % all;
    return stencil::load_relaxed_system(p.word[other / p.blocks] + other % p.blocks) >= (uint32_t)i;
}

/* Passes the barrier `passes` times. With Verify, the last thread of each block writes the number of the pass
 * into the block's word, one block in eight some microseconds late; after the barrier every thread looks at
 * the word of a block that it has waited for, another one each time. The registers of a full multiprocessor
 * where every shape is measured; a local barrier, which needs more, in one. */
template <class Barrier, bool Verify>
static __global__ void __launch_bounds__(1024, Barrier::local ? 1 : 2)
    pass(const __grid_constant__ stencil_passes p) {
    Barrier barrier(p.state);
    unsigned missing = 0;
    for (int64_t i = 1; i <= p.passes; i++) {
        if (Verify && threadIdx.x == blockDim.x - 1) {
            if ((p.state.part + blockIdx.x + i) % 8 == 0)
                __nanosleep(p.state.parts > 1 ? 4000 : 2000);
            __stcg(p.word[p.state.part] + blockIdx.x, (uint32_t)i);
        }
        barrier.sync(i);
        if (Verify)
            missing += !arrived<Barrier::local>(p, i);
    }
    barrier.leave();
    if (Verify && missing > 0)
        atomicAdd(p.missing, missing);
}

/* A row of kernels: [0] times, [1] verifies. */
#define STENCIL_PASSES_OF(...)                                                                               \
    { STENCIL_KERNEL(pass<__VA_ARGS__, false>), STENCIL_KERNEL(pass<__VA_ARGS__, true>) }

#endif
