/* A GPU under a benchmark: memory, streams and timers that last until it ends, launches, kernels that may
 * never end. Internal to bench/. */
#ifndef STENCIL_BENCH_DEVICE_H
#define STENCIL_BENCH_DEVICE_H

#include "base/cuda.h"
#include "bench/benchmark.h"

#ifdef STENCIL_HAVE_CUDA
/* Of the current device, until the benchmark ends; `to` points at a pointer. Streams do not wait for the null
 * stream. */
stencil_status stencil_device_memory(stencil_bench *b, void *to, size_t bytes);
stencil_status stencil_device_stream(stencil_bench *b, cudaStream_t *stream);
stencil_status stencil_device_event(stencil_bench *b, cudaEvent_t *event, unsigned flags);

/* Seconds between two places in a stream, by events; stop() waits for the second one. */
typedef struct stencil_device_timer {
    cudaStream_t stream;
    cudaEvent_t begin, end;
} stencil_device_timer;

stencil_status stencil_device_timer_create(stencil_bench *b, stencil_device_timer *timer,
                                           cudaStream_t stream);
stencil_status stencil_device_timer_start(const stencil_device_timer *timer);
stencil_status stencil_device_timer_stop(const stencil_device_timer *timer, double *time_s);

stencil_status stencil_device_launch(const void *kernel, unsigned blocks, unsigned threads,
                                     cudaStream_t stream, void **arguments);

/* Of the first `count` GPUs of the options: what the least of them has. */
stencil_gpu stencil_device_least(const stencil_bench *b, int count);

/* Whether all GPUs of the options reach each other's memory; else why not. */
bool stencil_device_peers(const stencil_bench *b, char *why, size_t size);

/* Waits at most `limit_s` for everything launched on the current device's default stream. *ended false:
 * something still runs, and this process can do no more than answer and end. For child processes only, which
 * wait for nothing when they end. */
stencil_status stencil_device_wait(stencil_bench *b, double limit_s, bool *ended);
#endif

#endif
