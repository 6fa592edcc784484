/* The host's side of sm.cuh: launches, collects what every warp saw, computes latency and throughput.
 * Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_SM_TIMING_H
#define STENCIL_BENCH_SM_TIMING_H

#include "base/base.h"
#include "bench/benchmarks/sm.h"

/* Largest block, blocks and threads of one multiprocessor. */
enum { STENCIL_SM_BLOCK_MAX = 1024, STENCIL_SM_BLOCKS_MAX = 32, STENCIL_SM_THREADS_MAX = 2048 };

typedef struct stencil_sm_timing {
    int sm_count;
    stencil_sm_record *device, *host; /* [all warps that fit], owned */
} stencil_sm_timing;

typedef struct stencil_sm_times {
    double cycles;     /* from the first start to the last end in the first block */
    double throughput; /* operations of warps per cycle on one multiprocessor: median over all */
} stencil_sm_times;

/* For the current device, which has `sm_count` multiprocessors. */
stencil_status stencil_sm_timing_create(stencil_sm_timing *timing, int sm_count);
void stencil_sm_timing_destroy(stencil_sm_timing *timing);

/* One launch of a kernel with a stencil_sm_arguments: `blocks` blocks in all. INTERNAL, naming `what`, where
 * results were wrong or a warp left no record. */
stencil_status stencil_sm_run(stencil_sm_timing *timing, const void *kernel, const char *what, int blocks,
                              int threads, int64_t repeats, int size, stencil_sm_times *times);

#endif
