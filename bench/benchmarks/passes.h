/* Timing and checking barriers of blocks, on one GPU or across several: what the benchmarks grid and
 * multi-grid share. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_PASSES_H
#define STENCIL_BENCH_PASSES_H

#include "bench/kernels.h"
#include "sync/barrier.h"

/* Argument of a kernel that passes a barrier (bench/benchmarks/passes.cuh). */
typedef struct stencil_passes {
    stencil_barrier_state state;
    int64_t passes;
    uint32_t *word[STENCIL_PARTS_MAX]; /* of each part: a word for each block, zeroed; for verification */
    uint32_t *missing; /* how often a block had not arrived when another one that waits for it went on */
    uint32_t *done;    /* blocks that came to their end, for kernels that count them */
    uint32_t blocks;   /* of each part */
} stencil_passes;

/* What benchmark grid measures beside the barriers of barriers.def: the library's grid.sync() as it is, and
 * `cluster` with the hardware's barrier, both without a time limit, to see what one costs. And what it plants
 * to see that it is found: a barrier that arrives without releasing what its block wrote, without waiting for
 * it even. */
enum {
    STENCIL_PASSES_LIBRARY = STENCIL_BARRIER_none,
    STENCIL_PASSES_HARDWARE = STENCIL_BARRIER_COUNT,
    STENCIL_PASSES_FAULT,
    STENCIL_PASSES_COUNT
};

/* And multi-grid: what it plants waits for the blocks of its own GPU and releases nothing to the others. Of
 * PART only the first `blocks` blocks pass the barrier, once. */
enum {
    STENCIL_MULTI_GRID_NEIGHBOR,
    STENCIL_MULTI_GRID_WHOLE,
    STENCIL_MULTI_GRID_FAULT,
    STENCIL_MULTI_GRID_PART,
    STENCIL_MULTI_GRID_KERNELS
};

/* Kernels with a stencil_passes. [1] verifies: everybody looks each time whether those that it waits for have
 * arrived, on other GPUs first, and some come late. */
STENCIL_KERNELS stencil_grid_kernels[STENCIL_PASSES_COUNT][2];
STENCIL_KERNELS stencil_multi_grid_kernels[STENCIL_MULTI_GRID_KERNELS][2];

#ifndef __cplusplus
#include "bench/device.h"
#endif
#if defined(STENCIL_HAVE_CUDA) && !defined(__cplusplus)
#include "sync/host.h"

enum { STENCIL_PASSES_BLOCKS_MAX = 32 /* on a multiprocessor */, STENCIL_PASSES_THREADS_MAX = 2048 };

/* A barrier in a shape. */
typedef struct stencil_passes_case {
    const stencil_barrier_info *info;
    const void *const *kernel; /* [2] */
    int gpus, blocks_per_sm, threads;
    stencil_grid grid;       /* on each GPU */
    stencil_barrier barrier; /* not made where the row is skipped */
} stencil_passes_case;

/* What stands behind stencil_bench.own. */
typedef struct stencil_passes_bench {
    const int *gpu;
    int gpu_count, sm_count, capability; /* the least of all GPUs */
    uint32_t *word[STENCIL_GPUS_MAX];    /* device */
} stencil_passes_bench;

/* Lets the first gpu_count GPUs of the options reach each other. */
stencil_status stencil_passes_begin(stencil_bench *b, stencil_passes_bench *p, int gpu_count);

/* A row of what `c` asks for: info, kernels, gpus, blocks_per_sm, threads. It is skipped where the GPUs
 * cannot have it. Its kernels are loaded on each GPU, since nothing may be loaded lazily while kernels wait
 * for each other. Barrier `neighbor` waits for both neighbours in a ring. gpus_axis: the number of GPUs is an
 * axis. */
stencil_status stencil_passes_add(stencil_bench *b, const stencil_passes_case *c, bool gpus_axis);

/* Makes the barrier of a case, which stays where it is until the benchmark ends. */
stencil_status stencil_passes_make(stencil_bench *b, stencil_passes_case *c, double timeout_s);

/* Launches kernel[verify] everywhere and waits. blocks: what each part is told, NULL: all of them. */
stencil_status stencil_passes_launch(const stencil_passes_bench *p, const stencil_passes_case *c,
                                     int64_t passes, bool verify, const uint32_t *blocks);

/* What the kernels of all parts have counted, added up. */
enum { STENCIL_PASSES_MISSING, STENCIL_PASSES_DONE };
stencil_status stencil_passes_counted(const stencil_passes_case *c, int which, uint32_t *sum);

/* Times all rows, then verifies them. */
stencil_status stencil_passes_measure(stencil_bench *b);
#endif

#endif
