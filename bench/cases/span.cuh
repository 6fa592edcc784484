/* Notes of kernels of a case: when the first of them starts on a GPU, and when the last one ends. */
#pragma once

#include "bench/timers.h"
#include "sync/ptx.cuh"

namespace stencil {

/* Called by all threads of a block before they do anything, and after all they do. span NULL: notes nothing.
 * The functions are not inlined, so that they take no registers of the kernel's work. The order of the
 * atomics does not matter: the host reads the span after the kernels. */
static __device__ __noinline__ void span_begin(stencil_kernel_span *span) {
    if (span != nullptr && threadIdx.x == 0)
        atomicMin(reinterpret_cast<unsigned long long *>(&span->begin), device_clock_ns());
}
static __device__ __noinline__ void span_end(stencil_kernel_span *span) {
    if (span == nullptr)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        atomicMax(reinterpret_cast<unsigned long long *>(&span->end), device_clock_ns());
}

} // namespace stencil
