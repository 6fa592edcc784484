/* Timing and verification of barriers between the blocks of all GPUs: for grid, multi-grid and partial. */
#pragma once

#include <cooperative_groups.h>

#include "bench/device.h"
#include "sync/host.h"
#include "sync/memory.cuh"

/* The barrier of cooperative groups, without a time limit. */
struct library_barrier {
    static constexpr bool local = false;
    __device__ explicit library_barrier(const stencil_barrier_state &) {}
    __device__ void sync(int64_t) {
        cooperative_groups::this_grid().sync();
    }
    __device__ void leave() {}
};

/* Most parts of a pass of a timed barrier; passes of a verification; seconds until a wait gives up. */
enum { PASSES_PARTS = 5, PASSES_VERIFIED = 200 };
static const double PASSES_TIMEOUT_S = 2;

/* Argument of a kernel that passes a barrier repeatedly. */
struct passes {
    stencil_barrier_state state;
    int64_t passes;
    uint32_t *word[STENCIL_PARTS_MAX]; /* for each GPU, a zeroed word for each block, for verification */
    uint32_t *count; /* times a thread left too early; in benchmark partial, threads that ended */
    uint32_t blocks; /* blocks on each GPU */
    int64_t *cycles; /* [PASSES_PARTS] of a timed barrier: cycles of each of its parts, in all passes */
};

/* Tells whether the block that this thread checks in pass i has arrived. The checked block varies over all
 * blocks of all GPUs; for a local barrier it is a neighbor in the ring of blocks. */
template <bool Local> static __device__ __forceinline__ bool arrived(const passes &p, int64_t i) {
    const uint32_t all = p.blocks * p.state.parts, mine = p.state.part * p.blocks + blockIdx.x;
    uint32_t ahead = 1 + threadIdx.x + (uint32_t)i * blockDim.x;
    if (Local)
        ahead = threadIdx.x % 2 == 0 ? 1 : all - 1;
    else if (threadIdx.x % 2 == 0 && p.state.parts > 1) /* checks a block of another GPU */
        ahead = p.blocks * (1 + (uint32_t)i % (p.state.parts - 1));
    const uint32_t other = (mine + ahead) % all;
    return stencil::load_relaxed_system(p.word[other / p.blocks] + other % p.blocks) >= (uint32_t)i;
}

/* Passes the barrier `passes` times. With Verify, the last thread of each block writes the number of the pass
 * into the block's word, one block in eight some microseconds late; after the barrier every thread checks the
 * word of a block that it has waited for, a different block in each pass. Launch bounds allow full
 * multiprocessors, except for local barriers, which need more registers. */
template <class Barrier, bool Verify>
static __global__ void __launch_bounds__(1024, Barrier::local ? 1 : 2)
    pass(const __grid_constant__ passes p) {
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
        atomicAdd(p.count, missing);
}

#define PASSES_OF(...)                                                                                       \
    { pass<__VA_ARGS__, false>, pass<__VA_ARGS__, true> }

/* A barrier and its kernels. kernel[1] verifies: some blocks arrive late, and after each pass every thread
 * checks that a block that it waits for has arrived. */
struct passes_kernel {
    stencil_barrier_info info;
    void (*kernel[2])(passes);
};

/* Case of a barrier with a number of GPUs, blocks per multiprocessor and threads per block. */
struct passes_case {
    passes_kernel barrier;
    int gpus, blocks_per_sm, threads;
    stencil_grid grid; /* grid on each GPU */
    /* Device words for verification, and memory of the barrier; not created for a skipped row. */
    uint32_t *word[STENCIL_GPUS_MAX];
    stencil_barrier memory;
    int64_t *cycles; /* [PASSES_PARTS] in device memory, of a timed barrier; else NULL */
};

/* passes_load() loads kernel[which] on each GPU, as lazy loading may deadlock kernels that wait for each
 * other, and tells whether all blocks can be resident at once. passes_make() creates words and barrier of *c,
 * which must not move. passes_launch() launches kernel[which] on each GPU; passes_count() sums counts. */
stencil_status passes_load(const stencil_bench *b, const passes_case *c, int which, bool *resident);
stencil_status passes_make(stencil_bench *b, passes_case *c, double timeout_s);
/* As passes_make(), and destroys the barrier when the benchmark ends. */
stencil_status passes_make_kept(stencil_bench *b, passes_case *c);
stencil_status passes_launch(const passes_case *c, int64_t passes, int which);
stencil_status passes_count(const passes_case *c, uint32_t *count);

/* Sampler of a passes_case: times `count` passes, after zeroing the words and restarting the barrier. Errors:
 * INTERNAL where the barrier does not hold. */
stencil_status passes_sample(stencil_bench *b, void *what, int64_t count, double *time_s);

/* Adds a row for each part of a pass of `lock` and `lock-free`, with one and with eight blocks per
 * multiprocessor. */
stencil_status passes_add_parts(stencil_bench *b);
/* Adds rows of the barrier between blocks that find out which of them are resident, in all shapes, and of how
 * many are found. */
stencil_status passes_add_discovery(stencil_bench *b);
