/* Timing and checking barriers of blocks, on one GPU or across several: what the benchmarks grid and
 * multi-grid share. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_PASSES_H
#define STENCIL_BENCH_PASSES_H

#include "bench/kernels.h"
#include "bench/device.h"
#include "sync/host.h"

#ifdef STENCIL_HAVE_CUDA

/* A barrier in a shape. */
typedef struct stencil_passes_case {
    stencil_passes_kernel barrier;
    int gpus, blocks_per_sm, threads;
    stencil_grid grid;                /* on each GPU */
    uint32_t *word[STENCIL_GPUS_MAX]; /* device, for verification */
    stencil_barrier memory;           /* not made where the row is skipped */
} stencil_passes_case;

/* Loads kernel[which] on each GPU, since nothing may be loaded lazily while kernels wait for each other, and
 * says whether all blocks can be resident at once; makes the barrier, which stays where it is; launches
 * kernel[which] on each GPU; adds up what these have counted, once they have ended. */
stencil_status stencil_passes_load(const stencil_bench *b, const stencil_passes_case *c, int which,
                                   bool *resident);
stencil_status stencil_passes_make(stencil_bench *b, stencil_passes_case *c, double timeout_s);
stencil_status stencil_passes_launch(const stencil_passes_case *c, int64_t passes, int which);
stencil_status stencil_passes_count(const stencil_passes_case *c, uint32_t *count);

/* Skips the benchmark where the first gpu_count GPUs cannot do what it takes, or else lets them reach each
 * other, has add_cases() add rows, times and then verifies them all. */
stencil_status stencil_passes_run(stencil_bench *b, int gpu_count, stencil_benchmark_function add_cases);

/* A row of what `c` asks for: barrier, gpus, blocks_per_sm, threads. It is skipped where the GPUs cannot have
 * it. Barrier `neighbor` waits for both neighbours in a ring. gpus_axis: the number of GPUs is an axis. */
stencil_status stencil_passes_add(stencil_bench *b, const stencil_passes_case *c, bool gpus_axis);
#endif

#endif
