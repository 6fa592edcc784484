/* Kernels of the benchmark warp, with a stencil_sm_arguments. Internal to it. */
#ifndef STENCIL_BENCH_WARP_KERNELS_H
#define STENCIL_BENCH_WARP_KERNELS_H

#include "bench/benchmarks/sm.h"

/* Repeats of timed kernels must be a multiple of this. */
enum { STENCIL_WARP_UNROLLED = 64 };

typedef enum stencil_warp_operation {
    STENCIL_WARP_NOTHING, /* the loop APART with an instruction of one cycle in it */
    STENCIL_WARP_SYNCWARP,
    STENCIL_WARP_TILE,      /* tiles of `size` lanes: 1, 2, 4, 8, 16, 32 */
    STENCIL_WARP_COALESCED, /* the first `size` lanes, in a branch of their own */
    STENCIL_WARP_SHUFFLE_TILE,
    STENCIL_WARP_SHUFFLE_COALESCED,
    STENCIL_WARP_OPERATION_COUNT
} stencil_warp_operation;

typedef enum stencil_warp_loop {
    STENCIL_WARP_TOGETHER, /* the compiler knows that the lanes go together: a barrier of the warp does
                              nothing */
    STENCIL_WARP_APART,    /* it does not know; not unrolled */
    STENCIL_WARP_CHECK     /* each result is looked at */
} stencil_warp_loop;

/* NULL where there is no such kernel. The arguments' `size` has to be `size`. */
STENCIL_C const void *stencil_warp_kernel(stencil_warp_operation operation, int size, stencil_warp_loop loop);
#endif
