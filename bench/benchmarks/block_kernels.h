/* Kernels of the benchmark block, with a stencil_sm_arguments. Internal to it. */
#ifndef STENCIL_BENCH_BLOCK_KERNELS_H
#define STENCIL_BENCH_BLOCK_KERNELS_H

#include "bench/benchmarks/sm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Repeats must be a multiple of this. */
enum { STENCIL_BLOCK_UNROLLED = 64 };

/* __syncthreads(), timed; or, with other things than time in mind, checked that it holds, once per repeat. */
const void *stencil_block_kernel(void);
const void *stencil_block_check_kernel(void);

#ifdef __cplusplus
}
#endif
#endif
