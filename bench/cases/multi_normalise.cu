/* The GPU code of case multi-normalise for orders that the host synchronises; one host thread launches on all
 * GPUs. */
#include "bench/cases/multi_normalise.h"
#include "bench/cases/span.cuh"

namespace {

enum { LANES = normalise_lanes };

/* Raises the word of a part, or one word of all parts, to the largest value of a block or of a warp. */
__device__ void raise(const multi_normalise_part &m, multi_normalise_way way, uint32_t to) {
    if (multi_normalise_is_system(way))
        atomicMax_system(m.word[0], to);
    else
        atomicMax(m.word[m.of.part], to);
}

/* Stores the part's largest value to the host, from the last block. */
__device__ void tell(const multi_normalise_part &m) {
    __threadfence(); /* orders the block's maximum before its count, so that the last block sees all maxima */
    if (atomicAdd(m.count, 1u) + 1 == gridDim.x) {
        __threadfence();
        *m.told = atomicMax(m.word[m.of.part], 0u);
        *m.count = 0;
    }
}

/* First pass: a block finds the largest of its values, and raises a word to it. */
__global__ void __launch_bounds__(LANES)
    find(const __grid_constant__ multi_normalise_part m, multi_normalise_way way, stencil_kernel_span *span) {
    __shared__ uint32_t shared[LANES];
    const stencil_case_block block = {blockIdx.x, gridDim.x, shared};
    stencil::span_begin(span);
    shared[threadIdx.x] = multi_normalise_find(&m.of, block);
    normalise_combine(shared);
    if (threadIdx.x == 0) {
        raise(m, way, shared[0]);
        if (way == MULTI_NORMALISE_PINNED)
            tell(m);
    }
    stencil::span_end(span);
}

/* First pass without a maximum of the block: each warp finds the largest of its values, and raises a word. */
__global__ void __launch_bounds__(LANES) find_by_warps(const __grid_constant__ multi_normalise_part m,
                                                       multi_normalise_way way, stencil_kernel_span *span) {
    stencil::span_begin(span);
    uint32_t largest = multi_normalise_find(&m.of, {blockIdx.x, gridDim.x, nullptr});
    for (int half = 16; half > 0; half /= 2)
        largest = normalise_larger(largest, __shfl_xor_sync(0xffffffffu, largest, half));
    if (threadIdx.x % 32 == 0)
        raise(m, way, largest);
    stencil::span_end(span);
}

__global__ void combine(const __grid_constant__ multi_normalise_part m, stencil_kernel_span *span) {
    stencil::span_begin(span);
    *m.total = multi_normalise_largest_word(&m);
    stencil::span_end(span);
}

__global__ void __launch_bounds__(LANES) divide(const __grid_constant__ multi_normalise_part m,
                                                multi_normalise_way way, stencil_kernel_span *span) {
    __shared__ uint32_t shared;
    const stencil_case_block block = {blockIdx.x, gridDim.x, nullptr};
    const bool words = way == MULTI_NORMALISE_BLOCK || way == MULTI_NORMALISE_BLOCK_WARPS;
    stencil::span_begin(span);
    if (threadIdx.x == 0)
        shared = words                            ? multi_normalise_largest_word(&m)
                 : multi_normalise_is_system(way) ? max(*m.word[0], 1u)
                 : way == MULTI_NORMALISE_THREE   ? *m.total
                                                  : m.value;
    __syncthreads();
    multi_normalise_divide(&m.of, shared, block);
    stencil::span_end(span);
}

const stencil_device &device_of(const stencil_case_loop *loop, int part) {
    return *loop->spread->device[part];
}

/* Enqueues the first pass of a part, and the copies that the host needs of its result. */
cudaError_t begin(const stencil_case_loop *loop, const multi_normalise_part &m, cudaStream_t stream) {
    const uint32_t part = m.of.part;
    const multi_normalise_way way = (multi_normalise_way)loop->order;
    const bool warps = way == MULTI_NORMALISE_SYSTEM_WARPS || way == MULTI_NORMALISE_BLOCK_WARPS;
    if (!multi_normalise_is_system(way) || loop->spread->parts == 1)
        cudaMemsetAsync(m.word[part], 0, sizeof *m.word[part], stream);
    (warps ? find_by_warps : find)<<<loop->spread->blocks, LANES, 0, stream>>>(m, way, loop->span[part]);
    if (loop->order == MULTI_NORMALISE_HOST)
        cudaMemcpyAsync(m.told, m.word[part], sizeof *m.told, cudaMemcpyDeviceToHost, stream);
    return cudaGetLastError();
}

uint32_t largest_told(const stencil_case_loop *loop) {
    uint32_t largest = 1;
    for (int p = 0; p < loop->spread->parts; p++) {
        const multi_normalise_part *m = multi_normalise_part_of(&loop->part[p]);
        const volatile uint32_t *told = loop->order == MULTI_NORMALISE_MANAGED ? m->word[p] : m->told;
        largest = *told > largest ? *told : largest;
    }
    return largest;
}

} // namespace

stencil_status multi_normalise_gpu_pin(stencil_bench *b, stencil_parts_spread *s) {
    uint32_t *told;
    TRY_CUDA(cudaHostAlloc(reinterpret_cast<void **>(&told), (size_t)s->parts * sizeof *told,
                           cudaHostAllocPortable));
    for (int p = 0; p < s->parts; p++)
        multi_normalise_part_of(&s->part[p])->told = told + p;
    return stencil_bench_keep(
        b, [](void *kept) { cudaFreeHost(kept); }, told);
}

stencil_status multi_normalise_gpu_manage(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    const cudaMemLocation host = {cudaMemLocationTypeHost, 0};
    const int parts = loop->spread->parts;
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
        uint32_t *word;
        TRY_CUDA(cudaMallocManaged(&word, sizeof *word, cudaMemAttachGlobal));
        TRY(stencil_bench_keep(
            b, [](void *kept) { cudaFree(kept); }, word));
        TRY_CUDA(cudaMemAdvise(word, sizeof *word, cudaMemAdviseSetPreferredLocation, home));
        TRY_CUDA(cudaMemAdvise(word, sizeof *word, cudaMemAdviseSetReadMostly, home));
        TRY_CUDA(cudaMemAdvise(word, sizeof *word, cudaMemAdviseSetAccessedBy, home));
        TRY_CUDA(cudaMemAdvise(word, sizeof *word, cudaMemAdviseSetAccessedBy, host));
        for (int k = 0; k < parts; k++)
            multi_normalise_part_of(&loop->part[k])->word[p] = word;
    }
    return STENCIL_OK;
}

/* Returns the number of steps. A word shared by all parts is reset before any part begins, in an additional
 * step, unless there is a single part, whose stream keeps the order. */
int multi_normalise_gpu_steps(const stencil_case_loop *loop) {
    return multi_normalise_is_system(loop->order) && loop->spread->parts > 1 ? 3 : 2;
}

int multi_normalise_gpu_step(const stencil_case_loop *loop, int part, int step) {
    const int left = multi_normalise_gpu_steps(loop) - step;
    const cudaStream_t stream = device_of(loop, part).stream;
    multi_normalise_part m = *multi_normalise_part_of(&loop->part[part]);
    if (left == 3)
        return part == 0 ? cudaMemsetAsync(m.word[0], 0, sizeof *m.word[0], stream) : cudaSuccess;
    if (left == 2)
        return begin(loop, m, stream);
    m.value = largest_told(loop);
    if (loop->order == MULTI_NORMALISE_THREE)
        combine<<<1, 1, 0, stream>>>(m, loop->span[part]);
    divide<<<loop->spread->blocks, LANES, 0, stream>>>(m, (multi_normalise_way)loop->order, loop->span[part]);
    return cudaGetLastError();
}
