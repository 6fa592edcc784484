#include "bench/device.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sync/memory.cuh"

/* Spins for at least `least_ns`; sets the nanoseconds and the clock cycles spent. The timer is always read
 * before the clock, so that the delay between both reads cancels. */
static __device__ void spin(int64_t least_ns, int64_t *cycles, int64_t *ns) {
    const int64_t begin_ns = (int64_t)stencil::device_clock_ns(), begin = clock64();
    int64_t now_ns, now;
    do {
        now_ns = (int64_t)stencil::device_clock_ns();
        now = clock64();
    } while (now_ns - begin_ns < least_ns);
    *cycles = now - begin;
    *ns = now_ns - begin_ns;
}

static __global__ void see_clock(int64_t *seen) {
    int64_t cycles, ns;
    spin(20000000, &cycles, &ns);
    spin(5000000, &cycles, &ns);
    seen[0] = cycles;
    seen[1] = ns;
}

static __global__ void fill(const __grid_constant__ stencil_words f) {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < f.count;
         i += (int64_t)gridDim.x * blockDim.x)
        f.place[i * f.stride] = stencil_next_number((uint32_t)i, f.numbers);
}

stencil_status stencil_device_memory(stencil_bench *b, void *to, size_t bytes) {
    void *memory;
    TRY_CUDA(cudaMalloc(&memory, bytes));
    memcpy(to, &memory, sizeof memory);
    return stencil_bench_keep(
        b, [](void *kept) { cudaFree(kept); }, memory);
}

static stencil_status create_event(stencil_bench *b, cudaEvent_t *event, unsigned flags) {
    TRY_CUDA(cudaEventCreateWithFlags(event, flags));
    return stencil_bench_keep(
        b, [](void *kept) { cudaEventDestroy(static_cast<cudaEvent_t>(kept)); }, *event);
}

stencil_status stencil_device_create(stencil_bench *b, int index, stencil_device *d) {
    d->gpu = b->options->gpu[index];
    d->sm_count = (unsigned)b->machine->gpu[d->gpu].sm_count;
    TRY_CUDA(cudaSetDevice(d->gpu));
    TRY_CUDA(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
    TRY(stencil_bench_keep(
        b, [](void *kept) { cudaStreamDestroy(static_cast<cudaStream_t>(kept)); }, d->stream));
    TRY(create_event(b, &d->begin, cudaEventDefault));
    TRY(create_event(b, &d->end, cudaEventDefault));
    return create_event(b, &d->done, cudaEventDisableTiming);
}

stencil_status stencil_device_launch(const stencil_device *d, const void *kernel, unsigned blocks,
                                     unsigned threads, void **arguments) {
    TRY_CUDA(cudaLaunchKernel(kernel, dim3{blocks, 1, 1}, dim3{threads, 1, 1}, arguments, 0, d->stream));
    return STENCIL_OK;
}

stencil_status stencil_device_read(const stencil_device *d, void *to, const void *from, size_t bytes) {
    TRY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, d->stream));
    TRY_CUDA(cudaStreamSynchronize(d->stream));
    return STENCIL_OK;
}

stencil_status stencil_device_start(const stencil_device *d) {
    TRY_CUDA(cudaSetDevice(d->gpu));
    TRY_CUDA(cudaEventRecord(d->begin, d->stream));
    return STENCIL_OK;
}

stencil_status stencil_device_stop(const stencil_device *d, double *time_s) {
    float ms = 0;
    TRY_CUDA(cudaEventRecord(d->end, d->stream));
    TRY_CUDA(cudaEventSynchronize(d->end));
    TRY_CUDA(cudaEventElapsedTime(&ms, d->begin, d->end));
    *time_s = 1e-3 * (double)ms;
    return STENCIL_OK;
}

stencil_status stencil_device_fill(const stencil_device *d, stencil_words words) {
    return stencil_launch(*d, fill, 8 * d->sm_count, 512, words);
}

stencil_status stencil_transfer_start(const stencil_transfer *t) {
    enum { THREADS = 512, BLOCKS_PER_SM = 8 };
    const size_t bytes = (size_t)t->bytes;
    const int64_t vectors = t->bytes / (int64_t)sizeof(uint4), needed = (vectors + THREADS - 1) / THREADS;
    const unsigned blocks = (unsigned)stencil_smaller(needed, BLOCKS_PER_SM * t->gpu->sm_count);
    const cudaStream_t stream = t->gpu->stream;
    if (t->kernel != NULL)
        return stencil_launch(*t->gpu, t->kernel, blocks, THREADS, (const uint4 *)t->from, (uint4 *)t->to,
                              vectors);
    if (t->gpu == t->peer)
        TRY_CUDA(cudaMemcpyAsync(t->to, t->from, bytes, cudaMemcpyDeviceToDevice, stream));
    else
        TRY_CUDA(cudaMemcpyPeerAsync(t->to, t->peer->gpu, t->from, t->gpu->gpu, bytes, stream));
    return STENCIL_OK;
}

static stencil_status compare(const stencil_transfer *t) {
    enum { PARTS = 3, PART_BYTES = 1 << 20 };
    static char seen[2][PART_BYTES];
    const size_t part = (size_t)stencil_smaller(t->bytes, PART_BYTES);
    for (int i = 0; i < PARTS; i++) {
        const int64_t at = (t->bytes - (int64_t)part) / (PARTS - 1) * i;
        TRY_CUDA(cudaMemcpy(seen[0], (const char *)t->to + at, part, cudaMemcpyDeviceToHost));
        TRY_CUDA(cudaMemcpy(seen[1], (const char *)t->from + at, part, cudaMemcpyDeviceToHost));
        CHECK(memcmp(seen[0], seen[1], part) == 0, INTERNAL,
              "%lld bytes copied from GPU %d to GPU %d by %s: the destination differs from its source",
              (long long)t->bytes, t->gpu->gpu, t->peer->gpu, t->kernel != NULL ? "a kernel" : "cudaMemcpy");
    }
    return STENCIL_OK;
}

stencil_status stencil_transfer_time(const stencil_transfer *t, int64_t count, double *time_s) {
    TRY_CUDA(cudaSetDevice(t->gpu->gpu));
    TRY(stencil_device_fill(t->gpu, {static_cast<uint32_t *>(t->from), t->bytes / 4, 1, 0}));
    TRY(stencil_transfer_start(t)); /* warm-up: maps both arrays, raises clocks */
    TRY_CUDA(cudaStreamSynchronize(t->gpu->stream));
    TRY_CUDA(cudaSetDevice(t->peer->gpu));
    TRY_CUDA(cudaMemset(t->to, 0xff, (size_t)t->bytes));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY(stencil_device_start(t->gpu));
    for (int64_t i = 0; i < count; i++)
        TRY(stencil_transfer_start(t));
    TRY(stencil_device_stop(t->gpu, time_s));
    return compare(t);
}

stencil_status stencil_transfer_sample(stencil_bench *, void *what, int64_t count, double *bytes_per_s) {
    const stencil_transfer *t = static_cast<stencil_transfer *>(what);
    double time_s;
    TRY(stencil_transfer_time(t, count, &time_s));
    *bytes_per_s = (t->gpu == t->peer ? 2.0 : 1.0) * (double)t->bytes * (double)count / time_s;
    return STENCIL_OK;
}

stencil_status stencil_device_clock(stencil_bench *b, int gpu, double *hz) {
    const stencil_device null_stream = {.gpu = gpu};
    int64_t seen[2], *device;
    TRY_CUDA(cudaSetDevice(gpu));
    TRY(stencil_device_memory(b, &device, sizeof seen));
    TRY(stencil_launch(null_stream, see_clock, 1, 1, device));
    TRY(stencil_device_read(&null_stream, seen, device, sizeof seen));
    CHECK(seen[0] > 0 && seen[1] > 0, INTERNAL, "the clocks of the GPU do not run");
    *hz = 1e9 * (double)seen[0] / (double)seen[1];
    return STENCIL_OK;
}

double stencil_device_nominal(int gpu) {
    int khz = 0, bits = 0;
    if (cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, gpu) != cudaSuccess ||
        cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, gpu) != cudaSuccess) {
        cudaGetLastError(); /* an attribute that a driver does not know is no failure */
        return 0;
    }
    return 2 * 1e3 * (double)khz * (double)bits / 8;
}

stencil_gpu stencil_device_least(const stencil_bench *b, int count) {
    stencil_gpu least = b->machine->gpu[b->options->gpu[0]];
    for (int i = 1; i < count; i++) {
        const stencil_gpu *gpu = &b->machine->gpu[b->options->gpu[i]];
        least.sm_count = gpu->sm_count < least.sm_count ? gpu->sm_count : least.sm_count;
        const int code = stencil_gpu_code(gpu), code_least = stencil_gpu_code(&least);
        least.capability = gpu->capability < least.capability ? gpu->capability : least.capability;
        least.code = code < code_least ? code : code_least;
        least.cooperative = least.cooperative && gpu->cooperative;
    }
    return least;
}

bool stencil_device_has_code(const stencil_gpu *gpu, int capability, char why[96]) {
    const bool has = stencil_gpu_code(gpu) >= capability;
    if (!has)
        snprintf(why, 96, "needs GPU code for compute capability %d.%d", capability / 10, capability % 10);
    return has;
}

stencil_status stencil_device_resident(const stencil_bench *b, int count, const void *kernel,
                                       const stencil_grid *grid, int64_t *blocks) {
    *blocks = INT32_MAX;
    for (int i = count - 1; i >= 0; i--) {
        int64_t resident;
        TRY_CUDA(cudaSetDevice(b->options->gpu[i]));
        TRY(stencil_grid_resident(kernel, grid, &resident));
        *blocks = stencil_smaller(*blocks, resident);
    }
    return STENCIL_OK;
}

stencil_status stencil_device_barrier(const stencil_bench *b, stencil_barrier *barrier,
                                      const stencil_barrier_shape *asked, const uint32_t *first) {
    stencil_barrier_shape shape = *asked;
    for (int part = 0; part < shape.parts; part++) {
        shape.device[part] = b->options->gpu[part];
        shape.first[part + 1] = asked->first[1] * (uint32_t)(part + 1);
    }
    TRY(stencil_barrier_create(barrier, &shape));
    if (shape.info->needs != STENCIL_NEEDS_NEIGHBORS)
        return STENCIL_OK;
    return stencil_barrier_set_neighbors(barrier, first, first + shape.first[shape.parts] + 1, false);
}

stencil_status stencil_device_capture(stencil_bench *b, const stencil_device *d,
                                      stencil_status (*queue)(const void *what), const void *what,
                                      cudaGraphExec_t *graph) {
    cudaGraph_t captured = nullptr;
    TRY_CUDA(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
    const stencil_status status = queue(what);
    const cudaError_t ended = cudaStreamEndCapture(d->stream, &captured);
    const cudaError_t made =
        status == STENCIL_OK && ended == cudaSuccess ? cudaGraphInstantiate(graph, captured, 0) : ended;
    if (captured != nullptr)
        cudaGraphDestroy(captured);
    TRY(status);
    TRY_CUDA(made);
    return stencil_bench_keep(
        b, [](void *kept) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(kept)); }, *graph);
}

bool stencil_device_peers(const stencil_bench *b, char *why, size_t size) {
    const int *gpu = b->options->gpu;
    for (int i = 0; i < b->options->gpu_count; i++)
        for (int j = 0; j < b->options->gpu_count; j++)
            if (!b->machine->peer[gpu[i]][gpu[j]]) {
                snprintf(why, size, "GPU %d has no access to the memory of GPU %d", gpu[i], gpu[j]);
                return false;
            }
    return true;
}

stencil_status stencil_device_wait(stencil_bench *b, cudaStream_t stream, double limit_s, bool *ended) {
    const double start_s = stencil_clock_s();
    for (*ended = false; !*ended && !b->abandoned;) {
        const cudaError_t state = cudaStreamQuery(stream);
        *ended = state == cudaSuccess;
        if (state != cudaErrorNotReady)
            TRY_CUDA(state);
        b->abandoned = !*ended && stencil_clock_s() - start_s > limit_s;
        const timespec pause = {.tv_nsec = 100000};
        nanosleep(&pause, nullptr);
    }
    return STENCIL_OK;
}
