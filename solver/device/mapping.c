#include "solver/device/mapping.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>
#include <string.h>

/* Clears the error of a call that may fail, and tells whether it has succeeded. */
static bool succeeds(cudaError_t state) {
    if (state != cudaSuccess)
        (void)cudaGetLastError();
    return state == cudaSuccess;
}

/* Fills in how others map this rank's arrays. */
static bool give(cudaIpcMemHandle_t *handle, void *const own[], int count) {
    bool can = true;
    for (int i = 0; i < count; i++)
        can = can && (own[i] == NULL || succeeds(cudaIpcGetMemHandle(&handle[i], own[i])));
    return can;
}

/* Maps the arrays of a rank; at[i] of those that could not be mapped stay NULL. */
static bool take(void **at, const cudaIpcMemHandle_t *handle, void *const own[], int count) {
    bool can = true;
    for (int i = 0; i < count && can; i++) {
        if (own[i] == NULL)
            continue;
        can = succeeds(cudaIpcOpenMemHandle(&at[i], handle[i], cudaIpcMemLazyEnablePeerAccess));
        if (!can)
            at[i] = NULL;
    }
    return can;
}

stencil_status stencil_mapping_open(stencil_mapping *m, stencil_world *world, void *const own[], int count,
                                    bool *can) {
    *m = (stencil_mapping){.rank = world->rank, .ranks = world->ranks, .count = count};
    *can = false;
    cudaIpcMemHandle_t *handle = calloc((size_t)(world->ranks * count) + 1, sizeof *handle);
    m->at = calloc((size_t)(world->ranks * count) + 1, sizeof *m->at);
    const bool room = handle != NULL && m->at != NULL;
    if (!room) /* for stencil_mapping_close() */
        m->ranks = 0;
    stencil_status status = stencil_world_agree(
        world, room ? STENCIL_OK : ERROR(NO_MEMORY, "no memory for the GPUs of %d ranks", world->ranks));
    if (status == STENCIL_OK) {
        const bool gives = give(handle + m->rank * count, own, count);
        for (int rank = 0; rank < world->ranks; rank++)
            stencil_world_tell(world, rank, handle + rank * count, (size_t)count * sizeof *handle);
        bool takes = stencil_world_any(world, !gives) == 0;
        for (int rank = 0; rank < world->ranks && takes; rank++) {
            if (rank != m->rank)
                takes = take(m->at + rank * count, handle + rank * count, own, count);
            else
                memcpy(m->at + rank * count, own, (size_t)count * sizeof *own);
        }
        *can = stencil_world_any(world, !takes) == 0;
        if (!*can)
            stencil_mapping_close(m);
    }
    free(handle);
    return status;
}

void stencil_mapping_close(stencil_mapping *m) {
    for (int i = 0; i < m->ranks * m->count && m->at != NULL; i++)
        if (i / m->count != m->rank && m->at[i] != NULL)
            cudaIpcCloseMemHandle(m->at[i]);
    free(m->at);
    *m = (stencil_mapping){0};
}

/* The words that a rank sends each other one, all different and none of them 0. */
enum { PATTERN_WORDS = 1024, PATTERN_BYTES = PATTERN_WORDS * 4 };
static void write_pattern(uint32_t *word, int rank) {
    for (uint32_t i = 0; i < PATTERN_WORDS; i++)
        word[i] = (2 * (i + PATTERN_WORDS * (uint32_t)rank) + 1) * UINT32_C(0x9e3779b1);
}

/* Memory that ranks send each other their patterns in: on the GPU a pattern for each rank. */
typedef struct trial {
    stencil_world *world;
    char *device;
    uint32_t *sent, *arrived; /* on the host */
    stencil_mapping mapping;
} trial;

static stencil_status open_trial(trial *t, int gpu) {
    const size_t pages = stencil_mapping_bytes((size_t)t->world->ranks * PATTERN_BYTES);
    t->sent = malloc(PATTERN_BYTES);
    t->arrived = malloc(PATTERN_BYTES);
    CHECK(t->sent != NULL && t->arrived != NULL, NO_MEMORY, "no memory for the probe of the ranks' GPUs");
    TRY_CUDA(cudaSetDevice(gpu));
    TRY_CUDA(cudaMalloc((void **)&t->device, pages));
    TRY_CUDA(cudaMemset(t->device, 0, pages));
    write_pattern(t->sent, t->world->rank);
    TRY_CUDA(cudaMemcpy(t->device + t->world->rank * PATTERN_BYTES, t->sent, PATTERN_BYTES,
                        cudaMemcpyHostToDevice));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

/* Sends the pattern from this rank's GPU to all others. */
static stencil_status send_patterns(const trial *t) {
    const size_t at = (size_t)t->world->rank * PATTERN_BYTES;
    for (int rank = 0; rank < t->world->ranks; rank++)
        if (rank != t->world->rank)
            TRY_CUDA(cudaMemcpy((char *)t->mapping.at[rank] + at, t->device + at, PATTERN_BYTES,
                                cudaMemcpyDeviceToDevice));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

static stencil_status look(const trial *t, bool *same) {
    *same = true;
    for (int rank = 0; rank < t->world->ranks; rank++) {
        write_pattern(t->sent, rank);
        TRY_CUDA(
            cudaMemcpy(t->arrived, t->device + rank * PATTERN_BYTES, PATTERN_BYTES, cudaMemcpyDeviceToHost));
        *same = *same && memcmp(t->sent, t->arrived, PATTERN_BYTES) == 0;
    }
    return STENCIL_OK;
}

/* Sends and compares, once all ranks have their memory. */
static stencil_status try_all(trial *t, bool *reach) {
    bool same = false;
    TRY(stencil_mapping_open(&t->mapping, t->world, (void *[]){t->device}, 1, reach));
    if (!*reach)
        return STENCIL_OK;
    TRY(stencil_world_agree(t->world, send_patterns(t)));
    TRY(stencil_world_agree(t->world, look(t, &same)));
    *reach = stencil_world_any(t->world, !same) == 0;
    return STENCIL_OK;
}

stencil_status stencil_ranks_reach(stencil_world *world, int gpu, bool *reach) {
    trial t = {.world = world};
    *reach = false;
    stencil_status status = stencil_world_agree(world, open_trial(&t, gpu));
    if (status == STENCIL_OK)
        status = try_all(&t, reach);
    stencil_mapping_close(&t.mapping);
    stencil_world_meet(world);
    cudaFree(t.device);
    free(t.sent);
    free(t.arrived);
    return status;
}
#endif
