/* Copying inside a GPU's memory. */
#include "bench/ceiling.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>
#include <string.h>

enum { PROBE_COUNT = 3, PROBE_BYTES_MAX = 1 << 20 };

typedef struct gpu_copy {
    int64_t bytes, probe_bytes;
    void *to, *from;               /* device */
    unsigned char *pattern, *seen; /* host, [probe_bytes] */
    cudaStream_t stream;
    cudaEvent_t begin, end;
} gpu_copy;

/* Where the i-th part that is compared begins: the first, the middle and the last bytes. */
static int64_t probe_at(const gpu_copy *c, int i) {
    return (c->bytes - c->probe_bytes) / (PROBE_COUNT - 1) * i;
}

static stencil_status create(gpu_copy *c, int gpu) {
    TRY_CUDA(cudaSetDevice(gpu));
    c->pattern = malloc((size_t)c->probe_bytes);
    c->seen = malloc((size_t)c->probe_bytes);
    CHECK(c->pattern != NULL && c->seen != NULL, NO_MEMORY, "no memory to verify a copy");
    uint32_t state = 1;
    for (int64_t i = 0; i < c->probe_bytes; i++) {
        state = state * 1664525u + 1013904223u;
        c->pattern[i] = (unsigned char)(state >> 24);
    }
    TRY_CUDA(cudaMalloc(&c->from, (size_t)c->bytes));
    TRY_CUDA(cudaMalloc(&c->to, (size_t)c->bytes));
    TRY_CUDA(cudaMemset(c->from, 0x5a, (size_t)c->bytes));
    for (int i = 0; i < PROBE_COUNT; i++)
        TRY_CUDA(cudaMemcpy((char *)c->from + probe_at(c, i), c->pattern, (size_t)c->probe_bytes,
                            cudaMemcpyHostToDevice));
    TRY_CUDA(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    TRY_CUDA(cudaEventCreate(&c->begin));
    TRY_CUDA(cudaEventCreate(&c->end));
    return STENCIL_OK;
}

static void destroy(gpu_copy *c) {
    cudaFree(c->to);
    cudaFree(c->from);
    free(c->pattern);
    free(c->seen);
    if (c->begin != NULL)
        cudaEventDestroy(c->begin);
    if (c->end != NULL)
        cudaEventDestroy(c->end);
    if (c->stream != NULL)
        cudaStreamDestroy(c->stream);
}

static stencil_status copy_once(const gpu_copy *c) {
    TRY_CUDA(cudaMemcpyAsync(c->to, c->from, (size_t)c->bytes, cudaMemcpyDeviceToDevice, c->stream));
    return STENCIL_OK;
}

static stencil_status time_copies(const gpu_copy *c, int64_t iterations, double *time_s) {
    float ms = 0;
    TRY(copy_once(c)); /* warm: both arrays mapped, clocks up */
    TRY_CUDA(cudaMemsetAsync(c->to, 0xa5, (size_t)c->bytes, c->stream));
    TRY_CUDA(cudaEventRecord(c->begin, c->stream));
    for (int64_t i = 0; i < iterations; i++)
        TRY(copy_once(c));
    TRY_CUDA(cudaEventRecord(c->end, c->stream));
    TRY_CUDA(cudaStreamSynchronize(c->stream));
    TRY_CUDA(cudaEventElapsedTime(&ms, c->begin, c->end));
    *time_s = 1e-3 * (double)ms;
    return STENCIL_OK;
}

static stencil_status verify(const gpu_copy *c) {
    for (int i = 0; i < PROBE_COUNT; i++) {
        TRY_CUDA(cudaMemcpy(c->seen, (char *)c->to + probe_at(c, i), (size_t)c->probe_bytes,
                            cudaMemcpyDeviceToHost));
        /* With overlapping parts (less than three probes' room) the later pattern covers the earlier one. */
        TRY_CUDA(cudaMemcpy(c->pattern, (char *)c->from + probe_at(c, i), (size_t)c->probe_bytes,
                            cudaMemcpyDeviceToHost));
        CHECK(memcmp(c->seen, c->pattern, (size_t)c->probe_bytes) == 0, INTERNAL,
              "copy: the destination of cudaMemcpy differs from its source");
    }
    return STENCIL_OK;
}

static stencil_status sample(gpu_copy *c, int gpu, int64_t iterations, double *time_s) {
    TRY(create(c, gpu));
    /* The null stream's writes come before those of a stream that does not wait for it. */
    TRY_CUDA(cudaDeviceSynchronize());
    TRY(time_copies(c, iterations, time_s));
    return verify(c);
}

/* Arrays of its own for each sample: between them all memory belongs to what is compared with the copy. */
stencil_status stencil_ceiling_gpu_sample(const stencil_ceiling *ceiling, int64_t iterations,
                                          double *time_s) {
    gpu_copy c = {
        .bytes = ceiling->bytes,
        .probe_bytes = ceiling->bytes < PROBE_BYTES_MAX ? ceiling->bytes : PROBE_BYTES_MAX,
    };
    const stencil_status status = sample(&c, ceiling->gpu, iterations, time_s);
    destroy(&c);
    return status;
}
#else
stencil_status stencil_ceiling_gpu_sample(const stencil_ceiling *ceiling, int64_t iterations,
                                          double *time_s) {
    (void)iterations, (void)time_s;
    FAIL(UNAVAILABLE, "no GPU %d here (built without CUDA): give --device cpu", ceiling->gpu);
}
#endif
