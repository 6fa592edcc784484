/* The seven ways on GPUs. One thread of the host leads them all. */
#include "bench/cases/multi_normalise.h"

#include <string.h>

namespace {

enum { LANES = normalise_lanes };

/* A block's share of the first pass. */
__global__ void __launch_bounds__(LANES)
    find(const __grid_constant__ multi_normalise_part m, multi_normalise_way way) {
    __shared__ uint32_t shared[LANES];
    const stencil_case_block block = {blockIdx.x, gridDim.x, shared};
    uint32_t largest = 0;
    CASE_ITEMS(i, m.of.own * m.of.piece_quads, block) {
        largest = normalise_largest(largest, m.of.integers[i]);
    }
    shared[threadIdx.x] = largest;
    normalise_combine(shared);
    if (threadIdx.x != 0)
        return;
    if (way == MULTI_NORMALISE_SYSTEM)
        atomicMax_system(m.word[0], shared[0]);
    else
        atomicMax(m.word[m.of.part], shared[0]);
    if (way != MULTI_NORMALISE_PINNED)
        return;
    __threadfence(); /* a block's maximum is there before it is counted in, and all are when the last one is
                      */
    if (atomicAdd(m.count, 1u) + 1 == gridDim.x) {
        __threadfence();
        *m.told = atomicMax(m.word[m.of.part], 0u);
        *m.count = 0;
    }
}

__device__ uint32_t largest_word(const multi_normalise_part &m) {
    uint32_t largest = 1;
    for (uint32_t k = 0; k < m.of.parts; k++)
        largest = max(largest, *m.word[k]);
    return largest;
}

__global__ void combine(const __grid_constant__ multi_normalise_part m) {
    *m.total = largest_word(m);
}

__global__ void __launch_bounds__(LANES)
    divide(const __grid_constant__ multi_normalise_part m, multi_normalise_way way) {
    __shared__ uint32_t shared;
    const stencil_case_block block = {blockIdx.x, gridDim.x, nullptr};
    if (threadIdx.x == 0)
        shared = way == MULTI_NORMALISE_BLOCK    ? largest_word(m)
                 : way == MULTI_NORMALISE_SYSTEM ? max(*m.word[0], 1u)
                 : way == MULTI_NORMALISE_THREE  ? *m.total
                                                 : m.value;
    __syncthreads();
    const float by = (float)shared;
    CASE_ITEMS(i, m.of.own * m.of.piece_quads, block) {
        m.of.numbers[i] = normalise_quotients(m.of.integers[i], by);
    }
}

const stencil_device &device_of(const multi_normalise_loop *loop, int part) {
    return loop->spread->gpus->device[part];
}

/* Words that pages bring to whoever reads them, and what the driver is told of them. */
stencil_status manage(stencil_bench *b, multi_normalise_loop *loop, char why[96]) {
    const cudaMemLocation host = {cudaMemLocationTypeHost, 0};
    const int parts = loop->spread->parts;
    uint32_t *word[STENCIL_PARTS_MAX];
    for (int p = 0; p < parts; p++) {
        int able = 0;
        TRY_CUDA(cudaDeviceGetAttribute(&able, cudaDevAttrConcurrentManagedAccess, device_of(loop, p).gpu));
        if (!able) {
            snprintf(why, 96, "GPU %d and the host cannot use managed memory at once",
                     device_of(loop, p).gpu);
            return STENCIL_OK;
        }
    }
    for (int p = 0; p < parts; p++) {
        const cudaMemLocation home = {cudaMemLocationTypeDevice, device_of(loop, p).gpu};
        TRY_CUDA(cudaMallocManaged(&word[p], sizeof **word, cudaMemAttachGlobal));
        TRY(stencil_bench_keep(
            b, [](void *kept) { cudaFree(kept); }, word[p]));
        TRY_CUDA(cudaMemAdvise(word[p], sizeof **word, cudaMemAdviseSetPreferredLocation, home));
        TRY_CUDA(cudaMemAdvise(word[p], sizeof **word, cudaMemAdviseSetReadMostly, home));
        TRY_CUDA(cudaMemAdvise(word[p], sizeof **word, cudaMemAdviseSetAccessedBy, home));
        TRY_CUDA(cudaMemAdvise(word[p], sizeof **word, cudaMemAdviseSetAccessedBy, host));
    }
    for (int p = 0; p < parts; p++)
        memcpy(loop->part[p].word, word, sizeof word);
    return STENCIL_OK;
}

/* The first pass of all parts, and what it takes until the host knows what it has to. */
stencil_status begin(const multi_normalise_loop *loop) {
    for (int p = 0; p < loop->spread->parts; p++) {
        const multi_normalise_part &m = loop->part[p];
        const stencil_device &device = device_of(loop, p);
        TRY_CUDA(cudaSetDevice(device.gpu));
        if (loop->way != MULTI_NORMALISE_SYSTEM)
            TRY_CUDA(cudaMemsetAsync(m.word[p], 0, sizeof *m.word[p], device.stream));
        TRY(stencil_launch(device, find, loop->spread->blocks, LANES, m, loop->way));
        if (loop->way == MULTI_NORMALISE_HOST)
            TRY_CUDA(
                cudaMemcpyAsync(m.told, m.word[p], sizeof *m.told, cudaMemcpyDeviceToHost, device.stream));
    }
    return stencil_parts_wait(loop->spread->gpus);
}

uint32_t largest_told(const multi_normalise_loop *loop) {
    uint32_t largest = 1;
    for (int p = 0; p < loop->spread->parts; p++) {
        const volatile uint32_t *told =
            loop->way == MULTI_NORMALISE_MANAGED ? loop->part[p].word[p] : loop->part[p].told;
        largest = *told > largest ? *told : largest;
    }
    return largest;
}

/* One word for all parts is there before any of them begins. */
stencil_status clear(const multi_normalise_loop *loop) {
    const stencil_device &first = device_of(loop, 0);
    if (loop->way != MULTI_NORMALISE_SYSTEM)
        return STENCIL_OK;
    TRY_CUDA(cudaSetDevice(first.gpu));
    TRY_CUDA(cudaMemsetAsync(loop->part[0].word[0], 0, sizeof(uint32_t), first.stream));
    if (loop->spread->parts > 1)
        TRY_CUDA(cudaStreamSynchronize(first.stream));
    return STENCIL_OK;
}

stencil_status make_passes(const multi_normalise_loop *loop) {
    TRY(clear(loop));
    TRY(begin(loop));
    const uint32_t value = largest_told(loop);
    for (int p = 0; p < loop->spread->parts; p++) {
        multi_normalise_part m = loop->part[p];
        m.value = value;
        TRY_CUDA(cudaSetDevice(device_of(loop, p).gpu));
        if (loop->way == MULTI_NORMALISE_THREE)
            TRY(stencil_launch(device_of(loop, p), combine, 1, 1, m));
        TRY(stencil_launch(device_of(loop, p), divide, loop->spread->blocks, LANES, m, loop->way));
    }
    return stencil_parts_wait(loop->spread->gpus);
}

} // namespace

stencil_status multi_normalise_gpu_spread(stencil_bench *b, multi_normalise_spread *s) {
    const normalise_cached_arguments *a = &s->part[0].of;
    const size_t piece = (size_t)a->piece_quads;
    int64_t resident;
    uint32_t *told;
    TRY(stencil_bench_memory(b, &s->gpus, sizeof *s->gpus));
    TRY(stencil_parts_create(b, s->parts, s->gpus));
    TRY(stencil_parts_resident(s->gpus, s->problem->of->body->kernels->persistent[STENCIL_BARRIER_multi_grid],
                               LANES, &resident));
    s->blocks = stencil_case_blocks((a->pieces + s->parts - 1) / s->parts, resident);
    TRY_CUDA(cudaHostAlloc(reinterpret_cast<void **>(&told), (size_t)s->parts * sizeof *told,
                           cudaHostAllocPortable));
    TRY(stencil_bench_keep(
        b, [](void *kept) { cudaFreeHost(kept); }, told));
    for (int p = s->parts - 1; p >= 0; p--) {
        multi_normalise_part *m = &s->part[p];
        const size_t own = (size_t)m->of.own * piece;
        uint32_t *words;
        TRY(stencil_parts_memory(b, s->gpus, p, &m->of.integers, m->of.integers,
                                 own * sizeof *m->of.integers));
        TRY(stencil_parts_memory(b, s->gpus, p, &m->of.numbers, nullptr, own * sizeof *m->of.numbers));
        TRY(stencil_parts_memory(b, s->gpus, p, &m->of.largest[p], nullptr,
                                 (size_t)m->of.pieces * sizeof *words));
        TRY(stencil_parts_memory(b, s->gpus, p, &words, nullptr, 3 * sizeof *words));
        m->word[p] = words;
        m->total = words + 1;
        m->count = words + 2;
        m->told = told + p;
    }
    return STENCIL_OK;
}

stencil_status multi_normalise_gpu_create(stencil_bench *b, multi_normalise_loop *loop, char why[96]) {
    TRY(stencil_bench_memory(b, &loop->gpu, sizeof *loop->gpu));
    *loop->gpu = {.parts = loop->spread->gpus,
                  .kernel = loop->spread->problem->of->body->kernels->persistent[STENCIL_BARRIER_multi_grid],
                  .id = STENCIL_BARRIER_multi_grid,
                  .grid = {.blocks = loop->spread->blocks, .block_x = LANES, .block_y = 1},
                  .timeout_s = loop->timeout_s};
    for (int p = 0; p < loop->spread->parts; p++) {
        loop->gpu->launch[p].phases = normalise_cached_phases(&loop->part[p].of);
        memcpy(loop->gpu->launch[p].arguments, &loop->part[p].of, sizeof loop->part[p].of);
    }
    if (loop->way == MULTI_NORMALISE_MANAGED)
        return manage(b, loop, why);
    return loop->way == MULTI_NORMALISE_CACHED ? stencil_parts_loop_create(b, loop->gpu, why) : STENCIL_OK;
}

stencil_status multi_normalise_gpu_run(multi_normalise_loop *loop, int64_t count, double *time_s) {
    const bool cached = loop->way == MULTI_NORMALISE_CACHED;
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++)
        TRY(cached ? stencil_parts_loop_run(loop->gpu, &loop->fault) : make_passes(loop));
    *time_s = stencil_clock_s() - start_s;
    return cached ? stencil_parts_loop_check(loop->gpu) : STENCIL_OK;
}

stencil_status multi_normalise_gpu_spoil(const multi_normalise_loop *loop) {
    for (int p = loop->spread->parts - 1; p >= 0; p--) {
        const normalise_cached_arguments *a = &loop->part[p].of;
        TRY_CUDA(cudaSetDevice(device_of(loop, p).gpu));
        TRY_CUDA(cudaMemset(a->numbers, 0xff, (size_t)(a->own * a->piece_quads) * sizeof *a->numbers));
        TRY_CUDA(cudaMemset(a->largest[p], 0xff, (size_t)a->pieces * sizeof *a->largest[p]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

stencil_status multi_normalise_gpu_read(const multi_normalise_loop *loop) {
    normalise_numbers *to =
        reinterpret_cast<const normalise_cached_arguments *>(loop->spread->problem->arguments)->numbers;
    for (int p = 0; p < loop->spread->parts; p++) {
        const normalise_cached_arguments *a = &loop->part[p].of;
        TRY_CUDA(cudaSetDevice(device_of(loop, p).gpu));
        TRY(stencil_device_read(&device_of(loop, p), to + a->first * a->piece_quads, a->numbers,
                                (size_t)(a->own * a->piece_quads) * sizeof *to));
    }
    return STENCIL_OK;
}
