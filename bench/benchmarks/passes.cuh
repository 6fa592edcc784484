/* Timing and verification of barriers between the blocks of all GPUs: for grid, multi-grid and partial. */
#pragma once

#include <cooperative_groups.h>

#include "bench/device.h"
#include "sync/host.h"

/* The barrier of cooperative groups, without a time limit. */
struct library_barrier {
    static constexpr bool local = false;
    __device__ explicit library_barrier(const stencil_barrier_state &) {}
    __device__ void sync(int64_t) {
        cooperative_groups::this_grid().sync();
    }
    __device__ void leave() {}
};

/* Argument of a kernel that passes a barrier repeatedly. */
struct passes {
    stencil_barrier_state state;
    int64_t passes;
    uint32_t *word[STENCIL_PARTS_MAX]; /* for each GPU, a zeroed word for each block, for verification */
    uint32_t *count; /* times a thread left too early; in benchmark partial, threads that ended */
    uint32_t blocks; /* blocks on each GPU */
};

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
};

/* passes_load() loads kernel[which] on each GPU, as lazy loading may deadlock kernels that wait for each
 * other, and tells whether all blocks can be resident at once. passes_make() creates words and barrier of *c,
 * which must not move. passes_launch() launches kernel[which] on each GPU; passes_count() sums counts. */
stencil_status passes_load(const stencil_bench *b, const passes_case *c, int which, bool *resident);
stencil_status passes_make(stencil_bench *b, passes_case *c, double timeout_s);
stencil_status passes_launch(const passes_case *c, int64_t passes, int which);
stencil_status passes_count(const passes_case *c, uint32_t *count);
