#include "sync/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/all.cuh"

const stencil_barrier_info stencil_barriers[] = {
    {STENCIL_BARRIER_none, "none", 0, STENCIL_NEEDS_NOTHING, "no barrier"},
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    {STENCIL_BARRIER_##id, name, capability, STENCIL_NEEDS_##needs, text},
#include "sync/barriers.def"
};

uint32_t stencil_team_sleepers;

bool stencil_team_sync(stencil_barrier_id id, const stencil_barrier_state *team, uint32_t thread, bool all) {
    static bool (*const twins[])(const stencil_barrier_state *, uint32_t) = {
#define STENCIL_BARRIER(id, name, capability, needs, text) [STENCIL_BARRIER_##id] = id##_team,
#include "sync/barriers.def"
    };
    /* A team whose barrier waits for neighbours only uses the central barrier to wait for all. */
    const bool local = stencil_barriers[id].needs == STENCIL_NEEDS_NEIGHBORS;
    return twins[all && local ? STENCIL_BARRIER_central : id](team, thread);
}

stencil_status stencil_team_create(stencil_barrier_state *team, uint32_t threads, uint32_t epoch,
                                   double timeout_s) {
    const size_t words = stencil_barrier_word_count(threads);
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, (int64_t)((words + STENCIL_ALARM_WORDS) * sizeof(uint32_t)),
                             "the barrier"));
    *team = (stencil_barrier_state){.words = memory,
                                    .participants = threads,
                                    .timeout_ns = (uint64_t)(1e9 * timeout_s),
                                    .alarm = (uint32_t *)memory + words,
                                    .cores = (uint32_t)stencil_processors()};
    for (size_t i = 0; i < words; i++)
        team->words[i] = epoch;
    return STENCIL_OK;
}

stencil_status stencil_alarm_fail(const char *barrier, const char *waiter, int64_t step, double timeout_s) {
    FAIL(INTERNAL, "barrier %s: in step %lld %s waited for more than %g s in vain; the run is given up",
         barrier, (long long)step, waiter, timeout_s);
}

/* Returns the part that a participant belongs to. */
static uint32_t part_of(const uint32_t *part_first, uint32_t participant) {
    uint32_t part = 0;
    while (participant >= part_first[part + 1])
        part++;
    return part;
}

stencil_status stencil_neighbors_share(stencil_barrier_state *s, const uint32_t *part_first,
                                       const uint32_t *first, const uint32_t *list, bool own_only) {
    const uint32_t part = s->part, own = part_first[part + 1] - part_first[part];
    first += part_first[part];
    /* One word more than needed, so that `neighbor` is a valid address even without neighbours. */
    uint32_t *begin = calloc(2 * (size_t)own + 1 + (first[own] - first[0]) + 1, sizeof *begin), count = 0;
    CHECK(begin != NULL, NO_MEMORY, "no memory for the neighbours of %u blocks", (unsigned)own);
    uint32_t *announce = begin + own + 1, *neighbor = announce + own;
    s->neighbor_most = 0;
    for (uint32_t b = 0; b < own; b++) {
        begin[b] = count;
        for (uint32_t i = first[b]; i < first[b + 1]; i++) {
            const uint32_t other = part_of(part_first, list[i]);
            announce[b] |= other != part ? 1u << other : 0;
            if (!own_only || other == part)
                neighbor[count++] = list[i];
        }
        if (count - begin[b] > s->neighbor_most)
            s->neighbor_most = count - begin[b];
    }
    begin[own] = count;
    s->neighbor_first = begin;
    s->neighbor = neighbor;
    s->announce = announce;
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
stencil_status stencil_to_device(void *to, const void *from, size_t bytes) {
    void **pointer = to;
    TRY_CUDA(cudaMalloc(pointer, bytes > 0 ? bytes : 4));
    if (from != NULL)
        TRY_CUDA(cudaMemcpy(*pointer, from, bytes, cudaMemcpyHostToDevice));
    else
        TRY_CUDA(cudaMemset(*pointer, 0, bytes));
    TRY_CUDA(cudaDeviceSynchronize()); /* neither call waits for the device, nor do streams wait for them */
    return STENCIL_OK;
}

stencil_status stencil_peers_reach(int device, const int *others, int count) {
    for (int i = 0; i < count; i++) {
        int able = 0;
        if (others[i] != device)
            TRY_CUDA(cudaDeviceCanAccessPeer(&able, device, others[i]));
        if (!able)
            continue;
        const cudaError_t state = cudaDeviceEnablePeerAccess(others[i], 0);
        if (state == cudaErrorPeerAccessAlreadyEnabled)
            (void)cudaGetLastError(); /* clears the error: access enabled before is no failure */
        else
            TRY_CUDA(state);
    }
    return STENCIL_OK;
}

/* Returns the configuration of a grid's launch, which points to the caller's `attribute`. */
static cudaLaunchConfig_t config_of(const stencil_grid *grid, cudaStream_t stream,
                                    cudaLaunchAttribute attribute[2]) {
    const bool clusters = grid->cluster_blocks > 1;
    attribute[0] = (cudaLaunchAttribute){.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    attribute[1] = (cudaLaunchAttribute){.id = cudaLaunchAttributeClusterDimension,
                                         .val.clusterDim = {clusters ? grid->cluster_blocks : 1, 1, 1}};
    return (cudaLaunchConfig_t){.gridDim = {grid->blocks, 1, 1},
                                .blockDim = {grid->block_x, grid->block_y, 1},
                                .dynamicSmemBytes = grid->shared_bytes,
                                .stream = stream,
                                .attrs = attribute,
                                .numAttrs = grid->shared ? 0 : 1 + clusters};
}

stencil_status stencil_grid_launch(const void *kernel, const stencil_grid *grid, void *argument,
                                   cudaStream_t stream) {
    cudaLaunchAttribute attribute[2];
    const cudaLaunchConfig_t config = config_of(grid, stream, attribute);
    TRY_CUDA(cudaLaunchKernelExC(&config, kernel, (void *[]){argument}));
    return STENCIL_OK;
}

stencil_status stencil_grid_resident(const void *kernel, const stencil_grid *grid, int64_t *blocks) {
    struct cudaFuncAttributes attributes;
    cudaLaunchAttribute attribute[2];
    stencil_grid one = *grid; /* one cluster: the query rejects a grid that is no multiple of clusters */
    one.blocks = grid->cluster_blocks;
    const cudaLaunchConfig_t config = config_of(&one, NULL, attribute);
    int device, sm_count, count = 0;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, kernel));
    if (grid->cluster_blocks > 1) {
        TRY_CUDA(cudaOccupancyMaxActiveClusters(&count, kernel, &config));
        *blocks = (int64_t)count * grid->cluster_blocks;
        return STENCIL_OK;
    }
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device));
    TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &count, kernel, (int)(grid->block_x * grid->block_y), grid->shared_bytes));
    *blocks = (int64_t)count * sm_count;
    return STENCIL_OK;
}

/* Number of words of a part on the device: the barrier's words, and a line with alarm and spare words. */
static size_t device_words(const stencil_barrier_shape *shape) {
    return stencil_barrier_word_count(shape->first[shape->parts]) + STENCIL_LINE_WORDS;
}

size_t stencil_barrier_bytes(const stencil_barrier_shape *shape) {
    return device_words(shape) * sizeof(uint32_t);
}

/* The end of this process's parts, which begin with shape->own. */
static int own_end(const stencil_barrier_shape *shape) {
    return shape->owned > 0 ? shape->own + shape->owned : shape->parts;
}

stencil_status stencil_barrier_restart(const stencil_barrier *barrier) {
    const stencil_barrier_shape *shape = &barrier->shape;
    for (int p = shape->own; p < own_end(shape); p++) {
        TRY_CUDA(cudaSetDevice(shape->device[p]));
        TRY_CUDA(cudaMemcpy(barrier->state[p].words, barrier->start, stencil_barrier_bytes(shape),
                            cudaMemcpyHostToDevice));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

/* Sets the state of a part, whose words are allocated unless the caller has them. */
static stencil_status create_state(stencil_barrier *barrier, int part) {
    const stencil_barrier_shape *shape = &barrier->shape;
    stencil_barrier_state *s = &barrier->state[part];
    *s = (stencil_barrier_state){.participants = shape->first[shape->parts],
                                 .first = shape->first[part],
                                 .parts = (uint32_t)shape->parts,
                                 .part = (uint32_t)part,
                                 .words = shape->words[part],
                                 .timeout_ns = (uint64_t)(1e9 * shape->timeout_s)};
    if (s->words == NULL) {
        TRY_CUDA(cudaSetDevice(shape->device[part]));
        TRY_CUDA(cudaMalloc((void **)&s->words, stencil_barrier_bytes(shape)));
    }
    s->alarm =
        shape->alarm[part] != NULL ? shape->alarm[part] : s->words + device_words(shape) - STENCIL_LINE_WORDS;
    return STENCIL_OK;
}

stencil_status stencil_barrier_create(stencil_barrier *barrier, const stencil_barrier_shape *shape) {
    uint32_t *peers[2 * STENCIL_PARTS_MAX];
    const int parts = shape->parts;
    const uint32_t participants = shape->first[parts];
    *barrier = (stencil_barrier){.shape = *shape};
    barrier->start = calloc(device_words(shape), sizeof *barrier->start);
    CHECK(barrier->start != NULL, NO_MEMORY, "no memory for the barrier of %u blocks",
          (unsigned)participants);
    for (size_t i = 0; i < stencil_barrier_word_count(participants); i++)
        barrier->start[i] = shape->epoch;
    for (int p = 0; p < parts; p++) {
        TRY(create_state(barrier, p));
        peers[p] = barrier->state[p].words;
        peers[parts + p] = barrier->state[p].alarm;
    }
    for (int p = shape->own; p < own_end(shape) && parts > 1; p++) {
        TRY_CUDA(cudaSetDevice(shape->device[p]));
        TRY(stencil_to_device(&barrier->peers[p], peers, 2 * (size_t)parts * sizeof *peers));
        barrier->state[p].peer_words = barrier->peers[p];
        barrier->state[p].peer_alarm = barrier->peers[p] + parts;
    }
    return stencil_barrier_restart(barrier);
}

stencil_status stencil_barrier_set_neighbors(stencil_barrier *barrier, const uint32_t *first,
                                             const uint32_t *list, bool own_only) {
    const stencil_barrier_shape *shape = &barrier->shape;
    for (int p = shape->own; p < own_end(shape); p++) {
        const uint32_t own = shape->first[p + 1] - shape->first[p];
        stencil_barrier_state *s = &barrier->state[p];
        TRY_CUDA(cudaSetDevice(shape->device[p]));
        TRY(stencil_neighbors_share(s, shape->first, first, list, own_only));
        uint32_t *const made = (uint32_t *)s->neighbor_first;
        const size_t words = (size_t)(s->neighbor - made) + made[own] + 1;
        const stencil_status status = stencil_to_device(&barrier->lists[p], made, words * sizeof *made);
        free(made);
        TRY(status);
        s->neighbor_first = barrier->lists[p];
        s->announce = s->neighbor_first + own + 1;
        s->neighbor = s->announce + own;
        if (shape->parts == 1 || own_only)
            s->announce = NULL;
    }
    return STENCIL_OK;
}

/* Reports the earliest step among the parts whose blocks gave up; other parts only know that one did. */
stencil_status stencil_barrier_check(stencil_barrier *barrier) {
    const stencil_barrier_shape *shape = &barrier->shape;
    uint64_t earliest = 0;
    int part = 0;
    for (int p = 0; p < shape->parts; p++) {
        uint32_t seen[STENCIL_ALARM_WORDS];
        uint64_t alarm;
        TRY_CUDA(cudaMemcpy(seen, barrier->state[p].alarm, sizeof seen, cudaMemcpyDeviceToHost));
        memcpy(&alarm, seen, sizeof alarm);
        barrier->alarmed = barrier->alarmed || alarm != 0 || seen[STENCIL_ALARM_ELSEWHERE] != 0;
        if (alarm > earliest) {
            earliest = alarm;
            part = p;
        }
    }
    if (!barrier->alarmed)
        return STENCIL_OK;
    CHECK(earliest != 0, INTERNAL, "barrier %s: the run is given up", shape->info->name);
    char waiter[64];
    const int length =
        snprintf(waiter, sizeof waiter, "block %u", (unsigned)stencil_alarm_participant(earliest));
    if (shape->owned > 0)
        snprintf(waiter + length, sizeof waiter - (size_t)length, " of part %d", part);
    else if (shape->parts > 1)
        snprintf(waiter + length, sizeof waiter - (size_t)length, " of part %d on GPU %d", part,
                 shape->device[part]);
    return stencil_alarm_fail(shape->info->name, waiter, stencil_alarm_step(earliest), shape->timeout_s);
}

void stencil_barrier_destroy(stencil_barrier *barrier) {
    const stencil_barrier_shape *shape = &barrier->shape;
    free(barrier->start);
    for (int p = shape->own; p < own_end(shape); p++) {
        cudaSetDevice(shape->device[p]);
        if (shape->words[p] == NULL)
            cudaFree(barrier->state[p].words);
        cudaFree(barrier->lists[p]);
        cudaFree(barrier->peers[p]);
    }
    if (barrier->alarmed && shape->info->needs == STENCIL_NEEDS_RESET)
        for (int p = shape->own; p < own_end(shape); p++) {
            cudaSetDevice(shape->device[p]);
            cudaDeviceReset();
        }
    *barrier = (stencil_barrier){0};
}
#endif
