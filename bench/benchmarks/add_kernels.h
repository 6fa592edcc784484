/* The kernel of the benchmark add. Internal to it. */
#ifndef STENCIL_BENCH_ADD_KERNELS_H
#define STENCIL_BENCH_ADD_KERNELS_H

#include "bench/kernels.h"

enum { STENCIL_ADDS_UNROLLED = 512 };

typedef struct stencil_add_seen {
    int64_t cycles;
    float sum;
} stencil_add_seen;

/* (int64_t loops, float one, stencil_add_seen *seen): starts at 0 and adds `one` 512 x loops times, each
 * addition waiting for the last. */
STENCIL_KERNELS stencil_add_kernel;

#endif
