/* Copying inside a GPU's memory. */
#include "bench/ceiling.h"
#include "bench/device.h"

#ifdef STENCIL_HAVE_CUDA
#include <string.h>

enum { PROBE_COUNT = 3, PROBE_BYTES_MAX = 1 << 20 };

typedef struct gpu_copy {
    int64_t bytes, probe_bytes;
    void *to, *from;               /* device */
    unsigned char *pattern, *seen; /* host, [probe_bytes] */
    stencil_device_timer timer;
} gpu_copy;

/* Where the i-th part that is compared begins: the first, the middle and the last bytes. */
static int64_t probe_at(const gpu_copy *c, int i) {
    return (c->bytes - c->probe_bytes) / (PROBE_COUNT - 1) * i;
}

/* The null stream's writes come before those of a stream that does not wait for it. */
static stencil_status create(stencil_bench *b, gpu_copy *c) {
    cudaStream_t stream;
    uint32_t state = 1;
    TRY(stencil_bench_memory(b, &c->pattern, (size_t)c->probe_bytes));
    TRY(stencil_bench_memory(b, &c->seen, (size_t)c->probe_bytes));
    for (int64_t i = 0; i < c->probe_bytes; i++) {
        state = state * 1664525u + 1013904223u;
        c->pattern[i] = (unsigned char)(state >> 24);
    }
    TRY(stencil_device_memory(b, &c->from, (size_t)c->bytes));
    TRY(stencil_device_memory(b, &c->to, (size_t)c->bytes));
    TRY_CUDA(cudaMemset(c->from, 0x5a, (size_t)c->bytes));
    for (int i = 0; i < PROBE_COUNT; i++)
        TRY_CUDA(cudaMemcpy((char *)c->from + probe_at(c, i), c->pattern, (size_t)c->probe_bytes,
                            cudaMemcpyHostToDevice));
    TRY(stencil_device_stream(b, &stream));
    TRY(stencil_device_timer_create(b, &c->timer, stream));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

static stencil_status copy_once(const gpu_copy *c) {
    TRY_CUDA(cudaMemcpyAsync(c->to, c->from, (size_t)c->bytes, cudaMemcpyDeviceToDevice, c->timer.stream));
    return STENCIL_OK;
}

static stencil_status time_copies(const gpu_copy *c, int64_t iterations, double *time_s) {
    TRY(copy_once(c)); /* warm: both arrays mapped, clocks up */
    TRY_CUDA(cudaMemsetAsync(c->to, 0xa5, (size_t)c->bytes, c->timer.stream));
    TRY(stencil_device_timer_start(&c->timer));
    for (int64_t i = 0; i < iterations; i++)
        TRY(copy_once(c));
    return stencil_device_timer_stop(&c->timer, time_s);
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

/* Arrays of its own for each sample: between them all memory belongs to what is compared with the copy. */
stencil_status stencil_ceiling_gpu_sample(stencil_bench *b, void *what, int64_t iterations, double *time_s) {
    const stencil_ceiling *ceiling = what;
    gpu_copy c = {
        .bytes = ceiling->bytes,
        .probe_bytes = ceiling->bytes < PROBE_BYTES_MAX ? ceiling->bytes : PROBE_BYTES_MAX,
    };
    stencil_bench arrays = {0}; /* and what else lasts for one sample */
    TRY_CUDA(cudaSetDevice(b->options->gpu[0]));
    stencil_status status = create(&arrays, &c);
    if (status == STENCIL_OK)
        status = time_copies(&c, iterations, time_s);
    if (status == STENCIL_OK)
        status = verify(&c);
    stencil_bench_end(&arrays);
    return status;
}
#endif
