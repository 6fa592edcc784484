/* A GPU under a benchmark: memory, a stream and a timer that last until it ends, launches, kernels that may
 * never end. Internal to bench/. */
#pragma once

#include "base/cuda.h"
#include "bench/benchmark.h"
#include "sync/host.h"

/* Any number made of any other; below `numbers`, a power of two, all of them make one ring. */
STENCIL_ANYWHERE uint32_t stencil_next_number(uint32_t number, uint32_t numbers) {
    return (1664525u * number + 1013904223u) & (numbers - 1);
}

/* `count` words of device memory, `stride` words apart; each holds the next number of its own below `numbers`
 * (0: any number). With as many numbers as words, a power of two, they are a chain: each says which is next.
 */
typedef struct stencil_words {
    uint32_t *place;
    int64_t count;
    uint32_t stride, numbers;
} stencil_words;

#ifdef STENCIL_HAVE_CUDA
#ifdef __cplusplus
extern "C" {
#endif

/* A GPU of the options with a stream of its own, which does not wait for the null stream. */
typedef struct stencil_device {
    int gpu;
    unsigned sm_count;
    cudaStream_t stream;
    cudaEvent_t begin, end; /* of the timer */
    cudaEvent_t done;       /* has no time */
} stencil_device;

/* Makes GPU `index` of the options ready until the benchmark ends, and the current one. */
stencil_status stencil_device_create(stencil_bench *b, int index, stencil_device *device);

/* Allocates memory of the current device until the benchmark ends; `to` points at a pointer. */
stencil_status stencil_device_memory(stencil_bench *b, void *to, size_t bytes);

/* Launches a kernel in the stream of the device, which is the current one; copies to the host behind what its
 * stream holds, and waits for it. */
stencil_status stencil_device_launch(const stencil_device *device, const void *kernel, unsigned blocks,
                                     unsigned threads, void **arguments);
stencil_status stencil_device_read(const stencil_device *device, void *to, const void *from, size_t bytes);

/* Seconds between two places in its stream, by events. start() makes the device the current one, stop() waits
 * for the second place. */
stencil_status stencil_device_start(const stencil_device *device);
stencil_status stencil_device_stop(const stencil_device *device, double *time_s);

/* Writes words of the current device, which is this one, in its stream. */
stencil_status stencil_device_fill(const stencil_device *device, stencil_words words);

/* A copy inside the memory of a GPU, or from there into a peer's. */
typedef struct stencil_transfer {
    const stencil_device *gpu, *peer; /* that makes it and has `from`; that has `to`, and may be the same */
    void *from, *to;
    int64_t bytes; /* a multiple of 64 */
    /* A kernel of blocks of 512 threads, as many as there is work for, at most 8 on a multiprocessor; NULL:
     * the copy engine, or what the driver takes for it. */
    void (*kernel)(const uint4 *from, uint4 *to, int64_t vectors);
} stencil_transfer;

/* Queues one in the stream of its GPU, which is the current device. */
stencil_status stencil_transfer_start(const stencil_transfer *transfer);

/* Seconds of `count`, one behind the other, after one to warm up; its GPU is the current device then. Both
 * arrays are overwritten before, and their first, middle and last part compared afterwards: INTERNAL where
 * they differ. And a sampler of a transfer, in bytes/s, read and written ones where both are of one GPU. */
stencil_status stencil_transfer_time(const stencil_transfer *transfer, int64_t count, double *time_s);
stencil_status stencil_transfer_sample(stencil_bench *b, void *transfer, int64_t count, double *bytes_per_s);

/* The clock of a GPU, which is the current one then: cycles counted over 5 ms of its timer, after 20 ms of
 * work in which the clock can rise; on one multiprocessor, so without the load that might lower it. */
stencil_status stencil_device_clock(stencil_bench *b, int gpu, double *hz);

/* Returns gpu[0] of the options with the least multiprocessors and capabilities of the first `count`. */
stencil_gpu stencil_device_least(const stencil_bench *b, int count);

/* Tells whether a GPU has code for this compute capability; sets *why, "" before, where it has not. */
bool stencil_device_has_code(const stencil_gpu *gpu, int capability, char why[96]);

/* Loads a kernel on each of the first `count` GPUs of the options, since nothing may be loaded lazily while
 * kernels wait for each other, and finds how many of its blocks each holds at once. The first one is the
 * current one then. */
stencil_status stencil_device_resident(const stencil_bench *b, int count, const void *kernel,
                                       const stencil_grid *grid, int64_t *blocks);

/* A barrier, the caller's to destroy, between shape->first[1] blocks on each of the first shape->parts GPUs
 * of the options, the last of which is the current one then. first: where the barrier needs it, whom blocks
 * wait for, as in stencil_ring_create(). */
stencil_status stencil_device_barrier(const stencil_bench *b, stencil_barrier *barrier,
                                      const stencil_barrier_shape *shape, const uint32_t *first);

/* A graph of what queue(what) queues in the stream of the current device, which is this one, or in branches
 * of it; nothing of that runs, and all of its kernels are loaded before. Until the benchmark ends. */
stencil_status stencil_device_capture(stencil_bench *b, const stencil_device *device,
                                      stencil_status (*queue)(const void *what), const void *what,
                                      cudaGraphExec_t *graph);

/* Tells whether all GPUs of the options reach each other's memory; why[size]: why not. */
bool stencil_device_peers(const stencil_bench *b, char *why, size_t size);

/* Waits at most `limit_s` for a stream of the current device. *ended false: something still runs, and this
 * process can do no more than answer and end. For child processes only, which wait for nothing when they end.
 */
stencil_status stencil_device_wait(stencil_bench *b, cudaStream_t stream, double limit_s, bool *ended);

#ifdef __cplusplus
}

/* Launches kernel<<<…>>>(arguments…) in its stream, with a status. */
template <class... Parameters>
static stencil_status stencil_launch(const stencil_device &device, void (*kernel)(Parameters...),
                                     unsigned blocks, unsigned threads,
                                     std::common_type_t<Parameters>... arguments) {
    void *list[] = {const_cast<void *>(static_cast<const void *>(&arguments))...};
    return stencil_device_launch(&device, reinterpret_cast<const void *>(kernel), blocks, threads, list);
}
#endif
#endif
