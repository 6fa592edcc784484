/* Kernels of the benchmark order. Internal to it. */
#ifndef STENCIL_BENCH_ORDER_KERNELS_H
#define STENCIL_BENCH_ORDER_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stencil_order_barrier {
    STENCIL_ORDER_SYNCWARP,
    STENCIL_ORDER_TILE,
    STENCIL_ORDER_COALESCED,
    STENCIL_ORDER_SHUFFLE_TILE,
    STENCIL_ORDER_SHUFFLE_COALESCED,
    STENCIL_ORDER_NOTHING, /* the counterproof: no barrier */
    STENCIL_ORDER_COUNT
} stencil_order_barrier;

enum { STENCIL_ORDER_LANES = 32 };

/* What each lane of one warp saw: the clock before and after, and the value of a shuffle that takes the
 * number of the next lane (other barriers: that number). */
typedef struct stencil_order_seen {
    int64_t before[STENCIL_ORDER_LANES], after[STENCIL_ORDER_LANES];
    int32_t value[STENCIL_ORDER_LANES];
} stencil_order_seen;

/* Kernel with a stencil_order_seen * for one warp, each lane of which goes through a branch of its own. */
const void *stencil_order_kernel(stencil_order_barrier barrier);

#ifdef __cplusplus
}
#endif
#endif
