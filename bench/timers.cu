#include "bench/timers.h"

#include <stdlib.h>

#include "bench/device.h"
#include "sync/ptx.cuh"

enum { ROUNDS = 1000 };
static const uint64_t limit_ns = 2000000000;

/* Sends a flag and waits for its return, or the other way round, ROUNDS times; each side notes its timer:
 * stamp[2 * ROUNDS] at sending and at return, or stamp[ROUNDS] at arrival. Without a flag in time the rest of
 * the stamps stays 0. */
static __global__ void exchange(const uint32_t *mine, uint32_t *theirs, int64_t *stamp, bool leads) {
    const uint64_t start_ns = stencil::device_clock_ns();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (leads) {
            stamp[2 * i] = (int64_t)stencil::device_clock_ns();
            stencil::store_relaxed_system(theirs, i + 1);
        }
        while (stencil::load_relaxed_system(mine) < i + 1)
            if (stencil::device_clock_ns() - start_ns > limit_ns)
                return;
        stamp[leads ? 2 * i + 1 : i] = (int64_t)stencil::device_clock_ns();
        if (!leads)
            stencil::store_relaxed_system(theirs, i + 1);
    }
}

/* One side of an exchange. */
struct timer_end {
    int gpu;
    uint32_t *flag;
    int64_t *stamp; /* [2 * ROUNDS] */
};

static void destroy(timer_end *end) {
    if (cudaSetDevice(end->gpu) == cudaSuccess) {
        cudaFree(end->flag);
        cudaFree(end->stamp);
    }
}

/* Allocates zeroed memory of a side, and loads the kernel, as lazy loading may deadlock kernels that wait for
 * each other. */
static stencil_status create(const stencil_bench *b, int count, timer_end *end) {
    cudaFuncAttributes attributes;
    TRY_CUDA(cudaSetDevice(end->gpu));
    TRY(stencil_peers_reach(end->gpu, b->options->gpu, count));
    TRY_CUDA(cudaMalloc(&end->flag, sizeof *end->flag));
    TRY_CUDA(cudaMalloc(&end->stamp, 2 * ROUNDS * sizeof *end->stamp));
    TRY_CUDA(cudaMemset(end->flag, 0, sizeof *end->flag));
    TRY_CUDA(cudaMemset(end->stamp, 0, 2 * ROUNDS * sizeof *end->stamp));
    TRY_CUDA(cudaFuncGetAttributes(&attributes, exchange));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

static stencil_status compare(const timer_end *from, const timer_end *to, double *offset_s, double *error_s) {
    static int64_t sent_and_back[2 * ROUNDS], seen[ROUNDS];
    TRY_CUDA(cudaSetDevice(to->gpu));
    exchange<<<1, 1>>>(to->flag, from->flag, to->stamp, false);
    TRY_CUDA(cudaGetLastError());
    TRY_CUDA(cudaSetDevice(from->gpu));
    exchange<<<1, 1>>>(from->flag, to->flag, from->stamp, true);
    TRY_CUDA(cudaGetLastError());
    TRY_CUDA(cudaMemcpy(sent_and_back, from->stamp, sizeof sent_and_back, cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaSetDevice(to->gpu));
    TRY_CUDA(cudaMemcpy(seen, to->stamp, sizeof seen, cudaMemcpyDeviceToHost));
    CHECK(sent_and_back[2 * ROUNDS - 1] > 0 && seen[ROUNDS - 1] > 0, INTERNAL,
          "a flag from GPU %d to GPU %d did not come back", from->gpu, to->gpu);
    stencil_timer_offset(sent_and_back, seen, ROUNDS, offset_s, error_s);
    return STENCIL_OK;
}

/* Compares the timers of two GPUs, whose memory it allocates for that. */
static stencil_status compare_pair(const stencil_bench *b, int count, int other, double *offset_s,
                                   double *error_s) {
    timer_end end[2] = {{.gpu = b->options->gpu[0]}, {.gpu = b->options->gpu[other]}};
    stencil_status status = create(b, count, &end[0]);
    if (status == STENCIL_OK)
        status = create(b, count, &end[1]);
    if (status == STENCIL_OK)
        status = compare(&end[0], &end[1], offset_s, error_s);
    destroy(&end[1]);
    destroy(&end[0]);
    return status;
}

stencil_status stencil_device_timers(const stencil_bench *b, int count, double *offset_s, double *error_s) {
    offset_s[0] = *error_s = 0;
    for (int other = 1; other < count; other++) {
        double error;
        TRY(compare_pair(b, count, other, &offset_s[other], &error));
        *error_s = error > *error_s ? error : *error_s;
    }
    TRY_CUDA(cudaSetDevice(b->options->gpu[0]));
    return STENCIL_OK;
}
