/* Case multi-reduction: a problem of case reduction over several parts. Internal to bench/. */
#pragma once

#include "bench/cases/loop.h"
#include "bench/cases/reduction.cuh"

#ifdef __cplusplus
extern "C" {
#endif

/* Ways to synchronise parts: a host thread per part, with OpenMP's barrier, that copies sums to all parts or
 * along a tree; or a persistent kernel with a barrier. */
typedef enum multi_reduction_order {
    MULTI_REDUCTION_HOST,
    MULTI_REDUCTION_HOST_TREE,
    MULTI_REDUCTION_MULTI_GRID,
    MULTI_REDUCTION_NEIGHBOR,
    MULTI_REDUCTION_CEILING, /* CUB in each part, and NCCL's all-reduce */
    MULTI_REDUCTION_ORDERS
} multi_reduction_order;

/* Case multi-reduction; its orders are the values of multi_reduction_order, its parts reduction_arguments. */
extern const stencil_parts_case stencil_multi_reduction;

#ifdef STENCIL_HAVE_CUDA
/* Makes the NCCL communicators and memory of a loop's ceiling, a run by CUB and NCCL. `why`, "" before,
 * receives a reason when this machine cannot run the ceiling. */
stencil_status multi_reduction_ceiling_create(stencil_bench *b, stencil_case_loop *loop, char why[96]);
#endif

#ifdef __cplusplus
}
#endif
