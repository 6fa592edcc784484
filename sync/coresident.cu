/* Kernels in several streams that wait for each other have to run at once. A driver gives streams to a
 * limited number of queues, and kernels in one queue follow each other. The driver does not tell
 * which stream is in which queue, so it is tried: a kernel in each stream that waits for the others, and new
 * streams where one waited in vain. */
#include "sync/host.h"
#include "sync/memory.cuh"

/* Counts its launch and waits until all launches have. word[0]: how many have; word[1]: not 0 when one waited
 * in vain. */
static __global__ void probe(uint32_t *word, uint32_t goal, uint64_t timeout_ns) {
    const uint64_t start_ns = stencil::device_clock_ns();
    atomicAdd(word, 1u);
    while (stencil::load_relaxed(word) < goal)
        if (stencil::device_clock_ns() - start_ns > timeout_ns) {
            word[1] = 1;
            return;
        }
}

enum { TRIES = 16, PROBES = 3 };

/* Whether all came together, again and again. */
static stencil_status probe_all(cudaStream_t *const streams[], int count, uint32_t *word, bool *together) {
    *together = true;
    for (int k = 0; k < PROBES && *together; k++) {
        uint32_t seen[2];
        TRY_CUDA(cudaMemset(word, 0, sizeof seen));
        TRY_CUDA(cudaDeviceSynchronize());
        for (int i = 0; i < count; i++)
            probe<<<1, 1, 0, *streams[i]>>>(word, (uint32_t)count, 2000000);
        TRY_CUDA(cudaGetLastError());
        TRY_CUDA(cudaDeviceSynchronize());
        TRY_CUDA(cudaMemcpy(seen, word, sizeof seen, cudaMemcpyDeviceToHost));
        *together = seen[1] == 0;
    }
    return STENCIL_OK;
}

/* Streams that were no good are kept in `old` until new ones have been made, or the driver would hand them
 * out again. */
static stencil_status find_streams(cudaStream_t *const streams[], int count, uint32_t *word,
                                   cudaStream_t *old, int *discarded) {
    for (int tried = 0; tried < TRIES; tried++) {
        bool together;
        TRY(probe_all(streams, count, word, &together));
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
    uint32_t *word = NULL;
    int discarded = 0;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, probe)); /* loads it */
    TRY_CUDA(cudaMalloc(&word, 2 * sizeof *word));
    const stencil_status status = find_streams(streams, count, word, old, &discarded);
    for (int i = 0; i < discarded; i++)
        cudaStreamDestroy(old[i]);
    cudaFree(word);
    return status;
}
