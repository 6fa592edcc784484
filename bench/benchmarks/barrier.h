/* What the kernels of barrier.cu are told. Internal to the benchmark. */
#ifndef STENCIL_BENCH_BARRIER_H
#define STENCIL_BENCH_BARRIER_H

#include "sync/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stencil_barrier_passes {
    stencil_barrier_state state;
    int64_t passes;
    uint32_t *word;    /* [blocks], for verification */
    uint32_t *missing; /* how often a block had not arrived when another one went on */
} stencil_barrier_passes;

/* Kernel with a stencil_barrier_passes as its argument. The empty barrier stands for the library's
 * grid.sync() as it is. */
const void *stencil_barrier_pass_kernel(stencil_barrier_id id, bool verify);

#ifdef __cplusplus
}
#endif
#endif
