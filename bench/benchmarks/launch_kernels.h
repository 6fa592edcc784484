/* Kernels of the benchmarks launch and host-barrier; those of launch without arguments, as its method asks
 * for. Internal to them. */
#ifndef STENCIL_BENCH_LAUNCH_KERNELS_H
#define STENCIL_BENCH_LAUNCH_KERNELS_H

#include "bench/kernels.h"

/* What a kernel does: nothing; sleep 10 us a unit, as 10 nanosleeps of 1000; spin 20 000 cycles a unit; add 1
 * to a counter in a way that loses additions where two kernels overlap. */
typedef enum stencil_launch_work {
    STENCIL_LAUNCH_NULL,
    STENCIL_LAUNCH_SLEEP,
    STENCIL_LAUNCH_SPIN,
    STENCIL_LAUNCH_COUNT
} stencil_launch_work;

/* Work of `units` units (1, 5, 10 or 50; those of NULL and COUNT have none). Each kernel waits for the one
 * before it where it is launched programmatically. NULL where there is no such kernel. */
STENCIL_C const void *stencil_launch_kernel(stencil_launch_work work, int units);

/* (uint32_t *word, uint32_t round): spins some microseconds, more for some rounds, then stores the round. */
STENCIL_KERNELS stencil_mark_kernel;

/* The counter of the current device: reads it into *count and zeroes it. Returns a cudaError_t. */
STENCIL_C int stencil_launch_take_count(uint32_t *count);
#endif
