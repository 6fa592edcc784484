/* The clock that a device runs at, as it is seen. Internal to bench/. */
#ifndef STENCIL_BENCH_CLOCK_H
#define STENCIL_BENCH_CLOCK_H

#include "bench/benchmark.h"

#ifdef __cplusplus
extern "C" {
#endif

/* On a GPU, which is the current one then: cycles counted over 5 ms of the device's timer, after 20 ms of
 * work in which the clock can rise; on one multiprocessor, so without the load that might lower it. CPU: the
 * highest of the cores' clocks that the system tells; NaN: it tells none. INTERNAL: a CUDA failure. */
stencil_status stencil_clock_seen(stencil_bench *b, int gpu, double *hz);

/* Version of the GPU driver's kernel module ("580.65.06"), "" where there is none. */
const char *stencil_kernel_driver(void);

#ifdef __cplusplus
}
#endif
#endif
