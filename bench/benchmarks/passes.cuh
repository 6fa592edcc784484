/* Timing and checking barriers of blocks, on one GPU or across several: what the benchmarks grid, multi-grid
 * and partial share. */
#pragma once

#include "bench/device.h"
#include "sync/host.h"

/* Argument of a kernel that passes a barrier. */
struct passes {
    stencil_barrier_state state;
    int64_t passes;
    uint32_t *word[STENCIL_PARTS_MAX]; /* of each part: a word for each block, zeroed; for verification */
    uint32_t *count; /* how often a block had not arrived when another one that waits for it went on; in
                        benchmark partial, threads that came to their end */
    uint32_t blocks; /* of each part */
};

/* A barrier and its kernels. [1] verifies: everybody looks each time whether those that it waits for have
 * arrived, on other GPUs first, and some come late. */
struct passes_kernel {
    stencil_barrier_info info;
    void (*kernel[2])(passes);
};

/* A barrier in a shape. */
struct passes_case {
    passes_kernel barrier;
    int gpus, blocks_per_sm, threads;
    stencil_grid grid; /* on each GPU */
    /* Not made where the row is skipped; device words, for verification. */
    uint32_t *word[STENCIL_GPUS_MAX];
    stencil_barrier memory;
};

/* Loads kernel[which] on each GPU, since nothing may be loaded lazily while kernels wait for each other, and
 * says whether all blocks can be resident at once; makes the words and the barrier, which stays where it is;
 * launches kernel[which] on each GPU; adds up what these have counted, once they have ended. */
stencil_status passes_load(const stencil_bench *b, const passes_case *c, int which, bool *resident);
stencil_status passes_make(stencil_bench *b, passes_case *c, double timeout_s);
stencil_status passes_launch(const passes_case *c, int64_t passes, int which);
stencil_status passes_count(const passes_case *c, uint32_t *count);
