/* Case multi-reduction: a problem of case reduction over several parts. Internal to bench/. */
#pragma once

#include "bench/cases/reduction.cuh"
#include "bench/cases/parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Means that keep parts in order: a host's thread for each part, which meets the others at OpenMP's
 * barrier and moves sums between parts, to all or along a tree; or a persistent kernel under a barrier. */
typedef enum multi_reduction_order {
    MULTI_REDUCTION_HOST,
    MULTI_REDUCTION_HOST_TREE,
    MULTI_REDUCTION_MULTI_GRID,
    MULTI_REDUCTION_NEIGHBOR,
    MULTI_REDUCTION_CEILING, /* CUB in each part, and NCCL's all-reduce */
    MULTI_REDUCTION_ORDERS
} multi_reduction_order;

/* The case; its orders are the values of multi_reduction_order, its parts are reduction_arguments. */
extern const stencil_parts_case stencil_multi_reduction;

#ifdef STENCIL_HAVE_CUDA
/* bench/cases/multi_reduction_ceiling.cu: communicators and what else the loop's ceiling takes. */
stencil_status multi_reduction_ceiling_create(stencil_bench *b, stencil_parts_loop *loop, char why[96]);
#endif

#ifdef __cplusplus
}
#endif
