#include "bench/kernels.h"
#include "sync/memory.cuh"

static __global__ void __launch_bounds__(512) put(const uint4 *from, uint4 *to, int64_t vectors) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += stride)
        to[i] = from[i];
}

template <stencil_peer_kernel Store>
static __device__ __forceinline__ void store(uint32_t *p, uint32_t value) {
    if (Store == STENCIL_PEER_RELAXED)
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
    else if (Store == STENCIL_PEER_RELEASE_GPU)
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

template <stencil_peer_kernel Store>
static __global__ void ping(int64_t rounds, const uint32_t *mine, uint32_t *theirs, bool first,
                            stencil_peer_seen *seen) {
    bool came = true;
    for (uint32_t i = 1; i <= (uint32_t)rounds && came; i++) {
        if (first)
            store<Store>(theirs, i);
        came = wait_for(mine, i);
        if (!first && came)
            store<Store>(theirs, i);
    }
    seen->failed = !came;
}

template <stencil_peer_kernel Operation> static __device__ __forceinline__ uint32_t operate(uint32_t *p) {
    uint32_t value;
    if (Operation == STENCIL_PEER_LOAD)
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    else if (Operation == STENCIL_PEER_ADD_GPU)
        asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(value) : "l"(p) : "memory");
    else
        asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], 1;" : "=r"(value) : "l"(p) : "memory");
    return value;
}

/* The next address depends on the last value, which is never so large. */
template <stencil_peer_kernel Operation>
static __global__ void chain(int64_t repeats, uint32_t *word, stencil_peer_seen *seen) {
    uint32_t value = 0;
    const long long start = clock64();
#pragma unroll 1
    for (int64_t i = 0; i < repeats; i += 16)
#pragma unroll
        for (int k = 0; k < 16; k++)
            value = operate<Operation>(word + (value >> 31));
    asm volatile("" : "+r"(value)::"memory");
    const long long end = clock64() + (value >> 31);
    seen->cycles = end - start;
    seen->failed = 0;
}

static __global__ void __launch_bounds__(512) adds(int64_t repeats, uint32_t *words) {
    uint32_t *word = words + (size_t)blockIdx.x * 32 + threadIdx.x % 32;
    for (int64_t i = 0; i < repeats; i++)
        asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

const void *const stencil_peer_kernels[] = {STENCIL_KERNEL(put),
                                            STENCIL_KERNEL(adds),
                                            STENCIL_KERNEL(chain<STENCIL_PEER_LOAD>),
                                            STENCIL_KERNEL(chain<STENCIL_PEER_ADD_GPU>),
                                            STENCIL_KERNEL(chain<STENCIL_PEER_ADD_SYS>),
                                            STENCIL_KERNEL(ping<STENCIL_PEER_RELAXED>),
                                            STENCIL_KERNEL(ping<STENCIL_PEER_RELEASE_GPU>),
                                            STENCIL_KERNEL(ping<STENCIL_PEER_RELEASE_SYS>)};
