/* Kernels of the benchmark order. Internal to it. */
#ifndef STENCIL_BENCH_ORDER_KERNELS_H
#define STENCIL_BENCH_ORDER_KERNELS_H

#include "bench/kernels.h"

enum { STENCIL_ORDER_LANES = 32 };

/* What each lane of one warp saw: the clock before and after, and the value of a shuffle that takes the
 * number of the next lane (other barriers: that number). */
typedef struct stencil_order_seen {
    int64_t before[STENCIL_ORDER_LANES], after[STENCIL_ORDER_LANES];
    int32_t value[STENCIL_ORDER_LANES];
} stencil_order_seen;

/* With a stencil_order_seen * for one warp, each lane of which goes through a branch of its own. The last one
 * is the counterproof: no barrier. */
enum {
    STENCIL_ORDER_SHUFFLE_TILE = 3,
    STENCIL_ORDER_SHUFFLE_COALESCED,
    STENCIL_ORDER_NOTHING,
    STENCIL_ORDER_COUNT
};
STENCIL_KERNELS stencil_order_kernels[STENCIL_ORDER_COUNT];

#endif
