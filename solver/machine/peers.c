/* The probe of GPUs that reach each other's memory: what one sends has to arrive. Some machines, whose PCI
 * bridges or virtual memory are set up wrongly, report success and lose data. */
#include <stdlib.h>
#include <string.h>

#include "base/cuda.h"
#include "solver/machine/machine.h"

#ifdef STENCIL_HAVE_CUDA
enum { PATTERN_BYTES = 1 << 20, PATTERN_WORDS = PATTERN_BYTES / 4 };

/* Two GPUs with memory for the pattern on each, and on the host what is sent and what arrives. */
typedef struct pair {
    int gpu[2];
    void *at[2];
    uint32_t *sent, *arrived;
} pair;

/* Lets the calling thread's GPU reach the memory of another one. */
static stencil_status reach(int other) {
    const cudaError_t state = cudaDeviceEnablePeerAccess(other, 0);
    if (state == cudaErrorPeerAccessAlreadyEnabled)
        (void)cudaGetLastError();
    else
        TRY_CUDA(state);
    return STENCIL_OK;
}

static stencil_status open_pair(pair *p) {
    void *host = NULL;
    TRY(stencil_memory_alloc(&host, 2 * (int64_t)PATTERN_BYTES, "the probe of two GPUs"));
    p->sent = host;
    p->arrived = p->sent + PATTERN_WORDS;
    for (int i = 0; i < 2; i++) {
        TRY_CUDA(cudaSetDevice(p->gpu[i]));
        TRY(reach(p->gpu[!i]));
        TRY_CUDA(cudaMalloc(&p->at[i], PATTERN_BYTES));
    }
    return STENCIL_OK;
}

static void close_pair(pair *p) {
    for (int i = 0; i < 2; i++)
        if (p->at[i] != NULL)
            cudaFree(p->at[i]);
    free(p->sent);
}

/* Gives GPU 0 of the pair the pattern, whose words are all different and none of which is 0. */
static stencil_status write_pattern(const pair *p) {
    for (uint32_t i = 0; i < PATTERN_WORDS; i++)
        p->sent[i] = (2 * i + 1) * UINT32_C(0x9e3779b1);
    TRY_CUDA(cudaSetDevice(p->gpu[0]));
    TRY_CUDA(cudaMemcpy(p->at[0], p->sent, PATTERN_BYTES, cudaMemcpyHostToDevice));
    return STENCIL_OK;
}

/* Sends the pattern from GPU `from` of the pair, which has it, over zeros to the other one. */
static stencil_status send(const pair *p, int from, bool *same) {
    const int to = !from;
    TRY_CUDA(cudaSetDevice(p->gpu[to]));
    TRY_CUDA(cudaMemset(p->at[to], 0, PATTERN_BYTES));
    TRY_CUDA(cudaDeviceSynchronize()); /* the stream of another GPU does not wait for it */
    TRY_CUDA(cudaSetDevice(p->gpu[from]));
    TRY_CUDA(cudaMemcpyPeerAsync(p->at[to], p->gpu[to], p->at[from], p->gpu[from], PATTERN_BYTES, NULL));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY_CUDA(cudaSetDevice(p->gpu[to]));
    TRY_CUDA(cudaMemcpy(p->arrived, p->at[to], PATTERN_BYTES, cudaMemcpyDeviceToHost));
    *same = memcmp(p->arrived, p->sent, PATTERN_BYTES) == 0;
    return STENCIL_OK;
}

/* Keeps two GPUs from reaching each other, so that the driver copies through the host. */
static stencil_status part_pair(const pair *p) {
    for (int i = 0; i < 2; i++) {
        TRY_CUDA(cudaSetDevice(p->gpu[i]));
        TRY_CUDA(cudaDeviceDisablePeerAccess(p->gpu[!i]));
    }
    return STENCIL_OK;
}

static stencil_status probe_pair(stencil_machine *machine, int a, int b, bool *lost) {
    pair p = {.gpu = {a, b}};
    bool same = true;
    stencil_status status = open_pair(&p);
    if (status == STENCIL_OK)
        status = write_pattern(&p);
    for (int from = 0; from < 2 && same && status == STENCIL_OK; from++)
        status = send(&p, from, &same);
    if (status == STENCIL_OK && !same)
        status = part_pair(&p);
    const stencil_error seen = *stencil_error_last();
    close_pair(&p);
    if (status != STENCIL_OK)
        return stencil_error_adopt(&seen);
    machine->probed[a][b] = machine->probed[b][a] = true;
    if (!same) {
        machine->peer[a][b] = machine->peer[b][a] = false;
        machine->loses[a][b] = machine->loses[b][a] = *lost = true;
    }
    return STENCIL_OK;
}

stencil_status stencil_machine_probe_peers(stencil_machine *machine, const int *gpu, int count, bool *lost) {
    *lost = false;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (machine->peer[gpu[i]][gpu[j]] && machine->peer[gpu[j]][gpu[i]] &&
                !machine->probed[gpu[i]][gpu[j]])
                TRY(probe_pair(machine, gpu[i], gpu[j], lost));
    return STENCIL_OK;
}
#endif
