/* Kernels of the benchmark block, with a stencil_sm_arguments. Internal to it. */
#ifndef STENCIL_BENCH_BLOCK_KERNELS_H
#define STENCIL_BENCH_BLOCK_KERNELS_H

#include "bench/benchmarks/sm.h"

/* Repeats must be a multiple of this. */
enum { STENCIL_BLOCK_UNROLLED = 64 };

/* __syncthreads(), timed; or, with other things than time in mind, checked that it holds, once per repeat. */
enum { STENCIL_BLOCK_TIMED, STENCIL_BLOCK_CHECKED, STENCIL_BLOCK_KERNELS };
STENCIL_KERNELS stencil_block_kernels[STENCIL_BLOCK_KERNELS];

#endif
