/* Copying inside a GPU's memory. */
#include "bench/ceiling.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>
#include <string.h>

enum { PROBE_COUNT = 3, PROBE_BYTES_MAX = 1 << 20 };

typedef struct gpu_copy {
    size_t bytes, probe_bytes;
    void *to, *from;     /* device */
    unsigned char *host; /* [2 * probe_bytes] */
    cudaStream_t stream;
    cudaEvent_t begin, end;
} gpu_copy;

/* Where the i-th part that is compared begins: the first, the middle and the last bytes. */
static size_t probe_at(const gpu_copy *c, size_t i) {
    return (c->bytes - c->probe_bytes) / (PROBE_COUNT - 1) * i;
}

static stencil_status create(gpu_copy *c, int gpu) {
    TRY_CUDA(cudaSetDevice(gpu));
    c->host = malloc(2 * c->probe_bytes);
    CHECK(c->host != NULL, NO_MEMORY, "no memory to verify a copy");
    uint32_t state = 1;
    for (size_t i = 0; i < c->probe_bytes; i++) {
        state = state * 1664525u + 1013904223u;
        c->host[i] = (unsigned char)(state >> 24);
    }
    TRY_CUDA(cudaMalloc(&c->from, c->bytes));
    TRY_CUDA(cudaMalloc(&c->to, c->bytes));
    TRY_CUDA(cudaMemset(c->from, 0x5a, c->bytes));
    for (size_t i = 0; i < PROBE_COUNT; i++)
        TRY_CUDA(
            cudaMemcpy((char *)c->from + probe_at(c, i), c->host, c->probe_bytes, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    TRY_CUDA(cudaEventCreate(&c->begin));
    TRY_CUDA(cudaEventCreate(&c->end));
    return STENCIL_OK;
}

static void destroy(gpu_copy *c) {
    cudaFree(c->to);
    cudaFree(c->from);
    free(c->host);
    if (c->begin != NULL)
        cudaEventDestroy(c->begin);
    if (c->end != NULL)
        cudaEventDestroy(c->end);
    if (c->stream != NULL)
        cudaStreamDestroy(c->stream);
}

static stencil_status time_copies(const gpu_copy *c, int64_t iterations, double *time_s) {
    float ms = 0;
    /* Warm: both arrays mapped, clocks up. */
    TRY_CUDA(cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToDevice, c->stream));
    TRY_CUDA(cudaMemsetAsync(c->to, 0xa5, c->bytes, c->stream));
    TRY_CUDA(cudaEventRecord(c->begin, c->stream));
    for (int64_t i = 0; i < iterations; i++)
        TRY_CUDA(cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToDevice, c->stream));
    TRY_CUDA(cudaEventRecord(c->end, c->stream));
    TRY_CUDA(cudaStreamSynchronize(c->stream));
    TRY_CUDA(cudaEventElapsedTime(&ms, c->begin, c->end));
    *time_s = 1e-3 * (double)ms;
    return STENCIL_OK;
}

/* Compares with the source itself: of parts that overlap (less than three probes' room) the later pattern
 * covers the earlier one. */
static stencil_status verify(const gpu_copy *c) {
    unsigned char *wanted = c->host, *seen = c->host + c->probe_bytes;
    for (size_t i = 0; i < PROBE_COUNT; i++) {
        TRY_CUDA(cudaMemcpy(seen, (char *)c->to + probe_at(c, i), c->probe_bytes, cudaMemcpyDeviceToHost));
        TRY_CUDA(
            cudaMemcpy(wanted, (char *)c->from + probe_at(c, i), c->probe_bytes, cudaMemcpyDeviceToHost));
        CHECK(memcmp(seen, wanted, c->probe_bytes) == 0, INTERNAL,
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
        .bytes = (size_t)ceiling->bytes,
        .probe_bytes = (size_t)(ceiling->bytes < PROBE_BYTES_MAX ? ceiling->bytes : PROBE_BYTES_MAX),
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
