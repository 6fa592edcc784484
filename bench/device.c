#include "bench/device.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdio.h>
#include <string.h>
#include <time.h>

static void release_memory(void *memory) {
    cudaFree(memory);
}

static void release_stream(void *stream) {
    cudaStreamDestroy(stream);
}

static void release_event(void *event) {
    cudaEventDestroy(event);
}

stencil_status stencil_device_memory(stencil_bench *b, void *to, size_t bytes) {
    void *memory;
    TRY_CUDA(cudaMalloc(&memory, bytes));
    memcpy(to, &memory, sizeof memory);
    return stencil_bench_keep(b, release_memory, memory);
}

stencil_status stencil_device_stream(stencil_bench *b, cudaStream_t *stream) {
    TRY_CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    return stencil_bench_keep(b, release_stream, *stream);
}

stencil_status stencil_device_event(stencil_bench *b, cudaEvent_t *event, unsigned flags) {
    TRY_CUDA(cudaEventCreateWithFlags(event, flags));
    return stencil_bench_keep(b, release_event, *event);
}

stencil_status stencil_device_timer_create(stencil_bench *b, stencil_device_timer *timer,
                                           cudaStream_t stream) {
    timer->stream = stream;
    TRY(stencil_device_event(b, &timer->begin, cudaEventDefault));
    return stencil_device_event(b, &timer->end, cudaEventDefault);
}

stencil_status stencil_device_timer_start(const stencil_device_timer *timer) {
    TRY_CUDA(cudaEventRecord(timer->begin, timer->stream));
    return STENCIL_OK;
}

stencil_status stencil_device_timer_stop(const stencil_device_timer *timer, double *time_s) {
    float ms = 0;
    TRY_CUDA(cudaEventRecord(timer->end, timer->stream));
    TRY_CUDA(cudaEventSynchronize(timer->end));
    TRY_CUDA(cudaEventElapsedTime(&ms, timer->begin, timer->end));
    *time_s = 1e-3 * (double)ms;
    return STENCIL_OK;
}

stencil_status stencil_device_launch(const void *kernel, unsigned blocks, unsigned threads,
                                     cudaStream_t stream, void **arguments) {
    TRY_CUDA(cudaLaunchKernel(kernel, (dim3){blocks, 1, 1}, (dim3){threads, 1, 1}, arguments, 0, stream));
    return STENCIL_OK;
}

stencil_gpu stencil_device_least(const stencil_bench *b, int count) {
    stencil_gpu least = b->machine->gpu[b->options->gpu[0]];
    for (int i = 1; i < count; i++) {
        const stencil_gpu *gpu = &b->machine->gpu[b->options->gpu[i]];
        least.sm_count = gpu->sm_count < least.sm_count ? gpu->sm_count : least.sm_count;
        least.capability = gpu->capability < least.capability ? gpu->capability : least.capability;
        least.cooperative = least.cooperative && gpu->cooperative;
    }
    return least;
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

stencil_status stencil_device_wait(stencil_bench *b, double limit_s, bool *ended) {
    const double start_s = stencil_clock_s();
    for (*ended = false; !*ended && !b->abandoned;) {
        const cudaError_t state = cudaStreamQuery(NULL);
        *ended = state == cudaSuccess;
        if (state != cudaErrorNotReady)
            TRY_CUDA(state);
        b->abandoned = !*ended && stencil_clock_s() - start_s > limit_s;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return STENCIL_OK;
}
#endif
