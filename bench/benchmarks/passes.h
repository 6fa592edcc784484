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
