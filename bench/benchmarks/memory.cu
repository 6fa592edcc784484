#include "bench/benchmarks/sm.cuh"

enum { SHARED_WORDS = 4096 };

/* How a word of a chain is loaded. */
enum path { THROUGH_L1, PAST_L1, ACQUIRE };
template <path Path> static __device__ __forceinline__ uint32_t load(const uint32_t *p) {
    uint32_t value;
    if (Path == THROUGH_L1)
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    else if (Path == PAST_L1)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    else
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}

/* A short chain is followed once all around before, so that it is in the cache that it fits into; the code is
 * in any case. The clock is read behind a use of the last value loaded. */
template <class Load>
static __device__ __forceinline__ void chase(const stencil_chase_work &w, uint32_t nodes, Load load) {
    uint32_t node = w.first;
    int64_t left = nodes >= 16 && nodes <= 8192 ? nodes : 16;
    long long cycles = 0;
#pragma unroll 1
    for (int warm = 0; warm < 2; warm++) {
        const long long start = clock64();
#pragma unroll 1
        for (; left > 0; left -= 16)
#pragma unroll
            for (int k = 0; k < 16; k++)
                node = load(node);
        uint32_t last;
        asm volatile("mov.u32 %0, %1;" : "=r"(last) : "r"(node) : "memory");
        node = last;
        cycles = clock64() + (last == 0xffffffffu) - start;
        left = w.steps;
    }
    w.seen->cycles = cycles;
    w.seen->node = node;
}

template <path Path> static __global__ void chase_global(const stencil_chase_work w) {
    chase(w, w.chain.nodes,
          [&](uint32_t node) { return load<Path>(w.chain.place + (size_t)node * w.chain.stride); });
}

static __global__ void chase_shared(const stencil_chase_work w) {
    __shared__ uint32_t place[SHARED_WORDS];
    for (uint32_t i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x)
        place[i] = stencil_next_number(i, SHARED_WORDS);
    __syncthreads();
    const volatile uint32_t *next = place;
    chase(w, SHARED_WORDS, [&](uint32_t node) { return next[node]; });
}

static __global__ void __launch_bounds__(512) copy(const stencil_vector_work w) {
    const uint4 *from = static_cast<const uint4 *>(w.from);
    uint4 *to = static_cast<uint4 *>(w.to);
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < w.vectors; i += 4 * stride) {
        uint4 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[k] = __ldcs(from + i + k * stride);
#pragma unroll
        for (int k = 0; k < 4; k++)
            __stcs(to + i + k * stride, v[k]);
    }
    for (; i < w.vectors; i += stride)
        to[i] = from[i];
}

static __device__ __forceinline__ uint4 load_vector(const uint4 *p) {
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

/* Blocks begin at different places, so that they do not all want the same line. `vectors` is a multiple of
 * four times the threads of a block. */
static __global__ void __launch_bounds__(512) read(const __grid_constant__ stencil_vector_work w) {
    const uint4 *from = static_cast<const uint4 *>(w.from);
    const uint32_t count = (uint32_t)w.vectors, chunk = 4 * blockDim.x, chunks = count / chunk;
    uint32_t sum = 0;
    for (int64_t pass = 0; pass < w.passes; pass++)
        for (uint32_t i = 0; i < chunks; i++) {
            const uint32_t at = (i + blockIdx.x * (chunks / gridDim.x + 1)) % chunks;
            const uint4 *p = from + (size_t)at * chunk + threadIdx.x;
            uint4 v[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                v[k] = load_vector(p + k * blockDim.x);
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
        }
    if (sum != 0)
        atomicXor(w.result + blockIdx.x, sum);
}

/* Rows of 512 bytes, a warp each, without bank conflicts. */
struct shared_read : stencil::sm_operation {
    uint32_t address, sum = 0;
    __device__ explicit shared_read(const stencil_sm_arguments &) {
        __shared__ uint4 words[1024];
        words[threadIdx.x] = make_uint4(1, 2, 4, 8);
        __syncthreads();
        address = (uint32_t)__cvta_generic_to_shared(words + threadIdx.x);
    }
    __device__ void once() {
        uint4 v;
        asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(address));
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    __device__ unsigned wrong(int64_t times) {
        return sum != 15u * (uint32_t)times;
    }
};

/* sum += data[i], i += group size. */
struct shared_sum : stencil::sm_operation {
    uint32_t address, offset = 0;
    double sum = 0;
    __device__ explicit shared_sum(const stencil_sm_arguments &) {
        __shared__ double data[2048];
        for (uint32_t i = threadIdx.x; i < 2048; i += blockDim.x)
            data[i] = 1;
        __syncthreads();
        address = (uint32_t)__cvta_generic_to_shared(data);
        offset = 8 * threadIdx.x;
    }
    __device__ void once() {
        double value;
        asm volatile("ld.volatile.shared.f64 %0, [%1];" : "=d"(value) : "r"(address + offset));
        sum += value;
        offset = (offset + 8 * blockDim.x) & (8 * 2048 - 1);
    }
    __device__ unsigned wrong(int64_t times) {
        return sum != (double)times;
    }
};

const stencil_named_kernel stencil_chase_kernels[] = {
    {"shared memory", STENCIL_KERNEL(chase_shared)},
    {"L1", STENCIL_KERNEL(chase_global<THROUGH_L1>)},
    {"L2, one word, ld.acquire", STENCIL_KERNEL(chase_global<ACQUIRE>)},
    {"L2", STENCIL_KERNEL(chase_global<PAST_L1>)},
    {"device memory", STENCIL_KERNEL(chase_global<PAST_L1>)},
};
const void *const stencil_copy_kernel = STENCIL_KERNEL(copy);
const void *const stencil_read_kernel = STENCIL_KERNEL(read);
const void *const stencil_shared_read_kernel = STENCIL_KERNEL(stencil::time_operation<shared_read, 32>);
const void *const stencil_shared_sum_kernel = STENCIL_KERNEL(stencil::time_operation<shared_sum, 16>);
