/* Kernels in several streams that wait for each other have to run at once. A driver gives streams to a
 * limited number of queues, and kernels in one queue follow each other. The driver does not tell which stream
 * is in which queue, so a probe kernel in each stream waits for the probes of all other streams, and streams
 * are replaced when a probe times out. */
#include "sync/host.h"
#include "sync/memory.cuh"

/* Probe kernel: counts itself and waits until all probes have; raises the alarm when the wait times out. */
static __global__ void probe(stencil_barrier_state s, uint32_t goal) {
    stencil::count_and_wait(s, stencil_barrier_counter(&s, 0), goal, 0);
}

/* Memory of the probe kernels: a counter, and the alarm in place of the second counter. */
enum { TRIES = 16, PROBES = 3, PROBE_WORDS = 2 * STENCIL_LINE_WORDS };

/* Finds whether the kernels of all streams run at the same time, PROBES times in a row. */
static stencil_status probe_all(cudaStream_t *const streams[], int count, const stencil_barrier_state *s,
                                bool *together) {
    stencil_barrier_state state = *s;
    uint32_t goal = (uint32_t)count;
    void *arguments[] = {&state, &goal};
    *together = true;
    for (int k = 0; k < PROBES && *together; k++) {
        uint32_t alarm;
        TRY_CUDA(cudaMemset(s->words, 0, PROBE_WORDS * sizeof *s->words));
        TRY_CUDA(cudaDeviceSynchronize());
        for (int i = 0; i < count; i++)
            TRY_CUDA(cudaLaunchKernel(probe, dim3(1), dim3(1), arguments, 0, *streams[i]));
        TRY_CUDA(cudaDeviceSynchronize());
        TRY_CUDA(cudaMemcpy(&alarm, s->alarm, sizeof alarm, cudaMemcpyDeviceToHost));
        *together = alarm == 0;
    }
    return STENCIL_OK;
}

/* Replaces streams until their kernels run at once. Discarded streams are kept in `old` until the search
 * ends, or the driver would return them again. */
static stencil_status find_streams(cudaStream_t *const streams[], int count, const stencil_barrier_state *s,
                                   cudaStream_t *old, int *discarded) {
    for (int tried = 0; tried < TRIES; tried++) {
        bool together;
        TRY(probe_all(streams, count, s, &together));
        if (together)
            return STENCIL_OK;
        for (int i = 0; i < count && tried + 1 < TRIES; i++) {
            old[(*discarded)++] = *streams[i];
            *streams[i] = NULL;
            TRY_CUDA(cudaStreamCreateWithFlags(streams[i], cudaStreamNonBlocking));
        }
    }
    int device = 0;
    cudaGetDevice(&device);
    FAIL(UNAVAILABLE, "GPU %d does not run the kernels of its parts beside each other: name it fewer times",
         device);
}

extern "C" stencil_status stencil_streams_make_coresident(cudaStream_t *const streams[], int count) {
    struct cudaFuncAttributes attributes;
    cudaStream_t old[TRIES * STENCIL_PARTS_MAX];
    stencil_barrier_state s = {};
    int discarded = 0;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, probe)); /* loads the kernel */
    TRY_CUDA(cudaMalloc(&s.words, PROBE_WORDS * sizeof *s.words));
    s.alarm = stencil_barrier_counter(&s, 1);
    s.timeout_ns = 2000000;
    const stencil_status status = find_streams(streams, count, &s, old, &discarded);
    for (int i = 0; i < discarded; i++)
        cudaStreamDestroy(old[i]);
    cudaFree(s.words);
    return status;
}
