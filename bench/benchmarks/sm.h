/* Operations inside a multiprocessor, timed by its own clock: what the benchmarks block, warp and
 * memory have in common: launches, collecting what every warp saw, latency and throughput. Internal to
 * bench/benchmarks/. */
#ifndef STENCIL_BENCH_SM_H
#define STENCIL_BENCH_SM_H

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a warp saw: the first lane that takes part writes it. */
typedef struct stencil_sm_record {
    int64_t start, end; /* clock of multiprocessor `sm` */
    uint32_t sm;
    uint32_t wrong; /* results that were not right, all lanes */
} stencil_sm_record;

/* The argument of every such kernel. */
typedef struct stencil_sm_arguments {
    int64_t repeats;           /* a multiple of what the kernel unrolls */
    int size;                  /* of a group, where it is not known at compile time */
    stencil_sm_record *record; /* [blocks][warps in a block], at least 32; zeroed */
} stencil_sm_arguments;

/* The host's side. Largest block, blocks and threads of one multiprocessor. */
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

#ifdef __cplusplus
}
#endif
#endif
