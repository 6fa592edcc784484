/* Operations inside a multiprocessor, timed by its own clock: what the benchmarks block, warp and memory have
 * in common: launches, collecting what every warp saw, latency and throughput. Internal to bench/benchmarks/.
 */
#ifndef STENCIL_BENCH_SM_H
#define STENCIL_BENCH_SM_H

#include "bench/kernels.h"
#include "bench/device.h"

#ifdef STENCIL_HAVE_CUDA
typedef struct stencil_sm_timing {
    stencil_device gpu;
    stencil_sm_record *device, *host;            /* [all warps that fit] */
    int64_t latency_repeats, throughput_repeats; /* as published, or as the user asks */
} stencil_sm_timing;

typedef struct stencil_sm_case {
    const stencil_sm_timing *timing;
    const void *kernel, *checked; /* timed; what verifies it */
    const char *name;             /* what failures name */
    int threads, checked_threads; /* of a block */
    int blocks_per_sm;            /* 0: a single block */
    int size;
    /* Value: this times the operations of warps per cycle on one multiprocessor, median over all; or 0:
     * cycles of an operation, from the first start to the last end in the first block. */
    double scale;
    int64_t checks; /* repeats of `checked` */
} stencil_sm_case;

/* Repeats are multiples of what kernels unroll, and parameters of the result; 0: the
 * benchmark has its own. */
stencil_status stencil_sm_begin(stencil_bench *b, stencil_sm_timing *timing, int unrolled);

/* A sampler: one launch of a stencil_sm_case. INTERNAL, naming it, where results were wrong or a warp left no
 * record. */
stencil_status stencil_sm_sample(stencil_bench *b, void *what, int64_t repeats, double *value);

/* Verifies a row after timing: `checked` on full multiprocessors. */
stencil_status stencil_sm_verify(stencil_bench *b, void *what);
#endif

#endif
