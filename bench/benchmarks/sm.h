/* Operations inside a multiprocessor, timed by its own clock: what the kernels of block, warp and memory have
 * in common. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_SM_H
#define STENCIL_BENCH_SM_H

#include <stdint.h>

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

#ifdef __cplusplus
}
#endif
#endif
