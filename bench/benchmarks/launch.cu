#include "bench/kernels.h"

#include <cuda_runtime.h>

static __device__ uint32_t counter;

/* A programmatic launch starts while the kernel before it runs: the order is kept here, as the sweeps do it.
 * Nothing happens in any other launch. */
static __device__ __forceinline__ void after_predecessor() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

static __global__ void null_kernel() {
    after_predecessor();
}

template <int Units> static __global__ void sleep_kernel() {
    after_predecessor();
#pragma unroll 1
    for (int i = 0; i < 10 * Units; i++)
        asm volatile("nanosleep.u32 1000;");
}

template <int Units> static __global__ void spin_kernel() {
    after_predecessor();
    const long long start = clock64();
    while (clock64() - start < 20000ll * Units) {
    }
}

/* One thread of the grid: reads, waits, writes. */
static __global__ void count_kernel() {
    after_predecessor();
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    volatile uint32_t *word = &counter;
    const uint32_t seen = *word;
    const long long start = clock64();
    while (clock64() - start < 4000) {
    }
    *word = seen + 1;
}

static __global__ void mark(const stencil_launch_mark m) {
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    const long long start = clock64(), cycles = 2000 + 8000 * (m.round % 4);
    while (clock64() - start < cycles) {
    }
    *(volatile uint32_t *)m.word = m.round;
}

const void *const stencil_launch_kernels[] = {
    STENCIL_KERNEL(null_kernel),      STENCIL_KERNEL(count_kernel),    STENCIL_KERNEL(mark),
    STENCIL_KERNEL(sleep_kernel<1>),  STENCIL_KERNEL(sleep_kernel<5>), STENCIL_KERNEL(sleep_kernel<10>),
    STENCIL_KERNEL(sleep_kernel<50>), STENCIL_KERNEL(spin_kernel<1>),  STENCIL_KERNEL(spin_kernel<5>),
    STENCIL_KERNEL(spin_kernel<10>),  STENCIL_KERNEL(spin_kernel<50>),
};

extern "C" int stencil_launch_take_count(uint32_t *count) {
    const uint32_t zero = 0;
    cudaError_t state = cudaMemcpyFromSymbol(count, counter, sizeof *count);
    if (state == cudaSuccess)
        state = cudaMemcpyToSymbol(counter, &zero, sizeof zero);
    return (int)state;
}
