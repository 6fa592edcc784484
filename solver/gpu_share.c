/* Parts that share a GPU: their kernels wait for each other, so all of them have to run at once. A driver
 * gives streams to a limited number of queues, and kernels in one queue follow each other. Which stream is in
 * which queue nobody tells, so it is tried: a kernel in each stream that waits for the others, and new
 * streams where one waited in vain. */
#include "solver/gpu.h"

#ifdef STENCIL_HAVE_CUDA

enum { TRIES = 16, MEETINGS = 3 };

/* Streams that were no good are kept until new ones have been made, or the driver would hand them out again.
 */
typedef struct discarded {
    int count;
    cudaStream_t stream[TRIES * STENCIL_PARTS_MAX];
} discarded;

static stencil_status meet(const stencil_gpu_team *team, int device, uint32_t *word, bool *met) {
    uint32_t parts = 0, seen[2];
    uint64_t timeout_ns = 2000000;
    void *arguments[] = {&word, &parts, &timeout_ns};
    const dim3 one = {1, 1, 1};
    for (int p = 0; p < team->parts; p++)
        parts += team->part[p].device == device;
    TRY_CUDA(cudaMemset(word, 0, sizeof seen));
    TRY_CUDA(cudaDeviceSynchronize());
    for (int p = 0; p < team->parts; p++)
        if (team->part[p].device == device)
            TRY_CUDA(cudaLaunchKernel(stencil_meet_kernel(), one, one, arguments, 0, team->part[p].stream));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY_CUDA(cudaMemcpy(seen, word, sizeof seen, cudaMemcpyDeviceToHost));
    *met = seen[1] == 0;
    return STENCIL_OK;
}

static stencil_status replace_streams(stencil_gpu_team *team, int device, discarded *old) {
    for (int p = 0; p < team->parts; p++)
        if (team->part[p].device == device) {
            old->stream[old->count++] = team->part[p].stream;
            team->part[p].stream = NULL;
            TRY_CUDA(cudaStreamCreateWithFlags(&team->part[p].stream, cudaStreamNonBlocking));
        }
    return STENCIL_OK;
}

static stencil_status find_streams(stencil_gpu_team *team, int device, uint32_t *word, discarded *old) {
    for (int tried = 0; tried < TRIES; tried++) {
        bool met = true;
        for (int k = 0; k < MEETINGS && met; k++)
            TRY(meet(team, device, word, &met));
        if (met)
            return STENCIL_OK;
        if (tried + 1 < TRIES)
            TRY(replace_streams(team, device, old));
    }
    FAIL(UNAVAILABLE, "GPU %d does not run the kernels of its parts beside each other: name it fewer times",
         device);
}

stencil_status stencil_gpu_share(stencil_gpu_team *team) {
    for (int p = 0; p < team->parts; p++) {
        const int device = team->part[p].device;
        bool first = team->part[p].shared;
        for (int q = 0; q < p; q++)
            first = first && team->part[q].device != device;
        if (!first)
            continue;
        discarded old = {0};
        uint32_t *word = NULL;
        TRY(stencil_gpu_take(&team->part[p]));
        TRY_CUDA(cudaMalloc((void **)&word, 2 * sizeof *word));
        const stencil_status status = find_streams(team, device, word, &old);
        for (int k = 0; k < old.count; k++)
            cudaStreamDestroy(old.stream[k]);
        cudaFree(word);
        TRY(status);
    }
    return STENCIL_OK;
}
#endif
