/* GPU functions of benchmarks: memory, streams, timers, launches, endless kernels. Internal to bench/. */
#pragma once

#include "base/cuda.h"
#include "bench/benchmark.h"
#include "sync/host.h"

/* Returns the successor of `number` in a pseudo-random cycle through all numbers below a power of two. */
STENCIL_ANYWHERE uint32_t stencil_next_number(uint32_t number, uint32_t numbers) {
    return (1664525u * number + 1013904223u) & (numbers - 1);
}

/* `count` words of device memory, `stride` words apart. Word i holds stencil_next_number(i, numbers), with
 * `numbers` 0 for all 32-bit numbers. numbers = count, a power of two: a pointer chain through all words. */
typedef struct stencil_words {
    uint32_t *place;
    int64_t count;
    uint32_t stride, numbers;
} stencil_words;

#ifdef STENCIL_HAVE_CUDA
#ifdef __cplusplus
extern "C" {
#endif

/* A GPU of a benchmark's options, with a stream that does not synchronise with the null stream. */
typedef struct stencil_device {
    int gpu;
    unsigned sm_count;
    cudaStream_t stream;
    cudaEvent_t begin, end; /* events of the timer */
    cudaEvent_t done;       /* event without a time stamp */
} stencil_device;

/* Sets up GPU `index` of the options until the benchmark ends, and makes it the current device. */
stencil_status stencil_device_create(stencil_bench *b, int index, stencil_device *device);

/* Allocates memory of the current device until the benchmark ends; `to` points at a pointer. */
stencil_status stencil_device_memory(stencil_bench *b, void *to, size_t bytes);

/* Launches a kernel in the stream of `device`, which must be current. stencil_device_read() copies to the
 * host in stream order and waits for the copy. */
stencil_status stencil_device_launch(const stencil_device *device, const void *kernel, unsigned blocks,
                                     unsigned threads, void **arguments);
stencil_status stencil_device_read(const stencil_device *device, void *to, const void *from, size_t bytes);

/* Times the work between start and stop in the stream of `device`, by events, in seconds. Start makes the
 * device current, stop waits for the work. */
stencil_status stencil_device_start(const stencil_device *device);
stencil_status stencil_device_stop(const stencil_device *device, double *time_s);

/* Fills `words` with their numbers in the stream of `device`, which must be current. */
stencil_status stencil_device_fill(const stencil_device *device, stencil_words words);

/* A copy within the memory of a GPU, or into the memory of a peer GPU. */
typedef struct stencil_transfer {
    const stencil_device *gpu, *peer; /* GPU that copies and holds `from`; GPU that holds `to`, maybe gpu */
    void *from, *to;
    int64_t bytes; /* a multiple of 64 */
    /* Copy kernel, launched in blocks of 512 threads, at most 8 on a multiprocessor; NULL: cudaMemcpy. */
    void (*kernel)(const uint4 *from, uint4 *to, int64_t vectors);
} stencil_transfer;

/* Queues a transfer in the stream of its GPU, which must be the current device. */
stencil_status stencil_transfer_start(const stencil_transfer *transfer);

/* Times `count` transfers in sequence after a warm-up, in seconds, and makes their GPU current. Both arrays
 * are overwritten before the timing; then their first, middle and last parts are compared.
 * stencil_transfer_sample() is a sampler in bytes/s, which counts reads and writes within a single GPU.
 * Errors: INTERNAL where the arrays differ. */
stencil_status stencil_transfer_time(const stencil_transfer *transfer, int64_t count, double *time_s);
stencil_status stencil_transfer_sample(stencil_bench *b, void *transfer, int64_t count, double *bytes_per_s);

/* Measures the clock of a GPU and makes the GPU current: cycles in 5 ms of its timer, after 20 ms of work to
 * raise the clock, on a single multiprocessor, so without the load that may lower the clock. */
stencil_status stencil_device_clock(stencil_bench *b, int gpu, double *hz);

/* Returns the nominal bytes per second of the memory of a GPU: two transfers in a cycle of its clock, over
 * the width of its bus, as the driver names them; 0: unknown. */
double stencil_device_nominal(int gpu);

/* Returns gpu[0] of the options with the least multiprocessors and capability of the first `count` GPUs. */
stencil_gpu stencil_device_least(const stencil_bench *b, int count);

/* Tells whether a GPU can run code of a capability; else writes the reason to why[], which must hold "". */
bool stencil_device_has_code(const stencil_gpu *gpu, int capability, char why[96]);

/* Loads a kernel on each of the first `count` GPUs of the options, as lazy loading may deadlock kernels that
 * wait for each other; sets *blocks to the blocks resident at once on each. The first GPU becomes current. */
stencil_status stencil_device_resident(const stencil_bench *b, int count, const void *kernel,
                                       const stencil_grid *grid, int64_t *blocks);

/* Creates a barrier between shape->first[1] blocks on each of the first shape->parts GPUs of the options; the
 * last GPU becomes current. The caller destroys the barrier. first: neighbor lists of the blocks as in
 * stencil_ring_create(), where the barrier needs them. */
stencil_status stencil_device_barrier(const stencil_bench *b, stencil_barrier *barrier,
                                      const stencil_barrier_shape *shape, const uint32_t *first);

/* Captures the work of queue(what) in the stream of `device`, which must be current, and in streams forked
 * from it, as an executable graph that lasts until the benchmark ends. The kernels must have been loaded. */
stencil_status stencil_device_capture(stencil_bench *b, const stencil_device *device,
                                      stencil_status (*queue)(const void *what), const void *what,
                                      cudaGraphExec_t *graph);

/* Tells whether all GPUs of the options reach each other's memory; else writes the reason to why[size]. */
bool stencil_device_peers(const stencil_bench *b, char *why, size_t size);

/* Waits at most `limit_s` for a stream of the current device. *ended false: the stream still runs, and the
 * process can only answer and exit without waiting for the device, as child processes do. */
stencil_status stencil_device_wait(stencil_bench *b, cudaStream_t stream, double limit_s, bool *ended);

#ifdef __cplusplus
}

/* Launches kernel<<<blocks, threads>>>(arguments…) in the stream of `device`. */
template <class... Parameters>
static stencil_status stencil_launch(const stencil_device &device, void (*kernel)(Parameters...),
                                     unsigned blocks, unsigned threads,
                                     std::common_type_t<Parameters>... arguments) {
    void *list[] = {const_cast<void *>(static_cast<const void *>(&arguments))...};
    return stencil_device_launch(&device, reinterpret_cast<const void *>(kernel), blocks, threads, list);
}
#endif
#endif
