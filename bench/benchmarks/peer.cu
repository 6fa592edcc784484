#include "bench/kernels.h"
#include "sync/memory.cuh"

static __global__ void __launch_bounds__(512) put(const stencil_vector_work w) {
    const uint4 *from = static_cast<const uint4 *>(w.from);
    uint4 *to = static_cast<uint4 *>(w.to);
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < w.vectors; i += stride)
        to[i] = from[i];
}

enum flag { RELAXED, RELEASE_GPU, RELEASE_SYS };
template <flag Store> static __device__ __forceinline__ void store(uint32_t *p, uint32_t value) {
    if (Store == RELAXED)
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
    else if (Store == RELEASE_GPU)
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
    else
        asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

static __device__ __forceinline__ uint32_t load(const uint32_t *p) {
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}

/* false: nothing came for two seconds. */
static __device__ bool wait_for(const uint32_t *p, uint32_t value) {
    uint64_t start_ns = 0;
    for (uint32_t polls = 1; load(p) < value; polls++) {
        if (polls % 1024 != 0)
            continue;
        const uint64_t now_ns = stencil::device_clock_ns();
        start_ns = start_ns == 0 ? now_ns : start_ns;
        if (now_ns - start_ns > 2000000000)
            return false;
    }
    return true;
}

template <flag Store> static __global__ void ping(const stencil_peer_work w) {
    bool came = true;
    for (uint32_t i = 1; i <= (uint32_t)w.repeats && came; i++) {
        if (w.first)
            store<Store>(w.theirs, i);
        came = wait_for(w.word, i);
        if (!w.first && came)
            store<Store>(w.theirs, i);
    }
    w.seen->failed = !came;
}

enum operation { LOAD, ADD_GPU, ADD_SYS };
template <operation Operation> static __device__ __forceinline__ uint32_t operate(uint32_t *p) {
    uint32_t value;
    if (Operation == LOAD)
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    else if (Operation == ADD_GPU)
        asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(value) : "l"(p) : "memory");
    else
        asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], 1;" : "=r"(value) : "l"(p) : "memory");
    return value;
}

/* The next address depends on the last value, which is never so large. */
template <operation Operation> static __global__ void chain(const stencil_peer_work w) {
    uint32_t value = 0;
    const long long start = clock64();
#pragma unroll 1
    for (int64_t i = 0; i < w.repeats; i += 16)
#pragma unroll
        for (int k = 0; k < 16; k++)
            value = operate<Operation>(w.word + (value >> 31));
    asm volatile("" : "+r"(value)::"memory");
    const long long end = clock64() + (value >> 31);
    w.seen->cycles = end - start;
    w.seen->failed = 0;
}

static __global__ void __launch_bounds__(512) adds(const stencil_peer_work w) {
    uint32_t *word = w.word + (size_t)blockIdx.x * 32 + threadIdx.x % 32;
    for (int64_t i = 0; i < w.repeats; i++)
        asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

const void *const stencil_put_kernel = STENCIL_KERNEL(put);
const stencil_named_kernel stencil_adds_kernel = {"red.sys.add", STENCIL_KERNEL(adds)};
const stencil_named_kernel stencil_chain_kernels[] = {{"ld.acquire.sys", STENCIL_KERNEL(chain<LOAD>)},
                                                      {"atom.gpu.add", STENCIL_KERNEL(chain<ADD_GPU>)},
                                                      {"atom.sys.add", STENCIL_KERNEL(chain<ADD_SYS>)},
                                                      {}};
const stencil_named_kernel stencil_ping_kernels[] = {{"relaxed.sys", STENCIL_KERNEL(ping<RELAXED>)},
                                                     {"release.gpu", STENCIL_KERNEL(ping<RELEASE_GPU>)},
                                                     {"release.sys", STENCIL_KERNEL(ping<RELEASE_SYS>)},
                                                     {}};
