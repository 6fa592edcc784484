/* The frame around a timed operation inside a multiprocessor.
 *
 * An operation is a type with  static bool takes_part(const stencil_sm_arguments &)  of the threads that make
 * it, Operation(const stencil_sm_arguments &),  void once(), made again and again, and  unsigned
 * wrong(int64_t times), which looks at the result of all of them. Lane 0 of every warp takes part. Those of
 * `sm_operation` take everybody and leave nothing to look at. */
#ifndef STENCIL_BENCH_SM_CUH
#define STENCIL_BENCH_SM_CUH

#include "bench/kernels.h"

namespace stencil {

struct sm_operation {
    __device__ static bool takes_part(const stencil_sm_arguments &) {
        return true;
    }
    __device__ unsigned wrong(int64_t) {
        return 0;
    }
};

__device__ __forceinline__ uint32_t multiprocessor() {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* The first active lane of each warp leaves what it saw, all of them what was wrong. */
__device__ __forceinline__ void leave_record(const stencil_sm_arguments &a, long long start, long long end,
                                             unsigned wrong) {
    stencil_sm_record *record = a.record + (size_t)blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) {
        record->start = start;
        record->end = end;
        record->sm = multiprocessor();
    }
    if (wrong > 0)
        atomicAdd(&record->wrong, wrong);
}

/* Everything twice: the first time round, with few repeats, brings the instructions into their cache. */
template <class Operation, int Unrolled>
static __global__ void __launch_bounds__(1024, 2)
    time_operation(const __grid_constant__ stencil_sm_arguments a) {
    if (!Operation::takes_part(a))
        return;
    Operation operation(a);
    long long start = 0, end = 0;
#pragma unroll 1
    for (int warm = 0; warm < 2; warm++) {
        const int64_t rounds = warm == 0 ? 1 : a.repeats / Unrolled;
        start = clock64();
#pragma unroll 1
        for (int64_t i = 0; i < rounds; i++)
#pragma unroll
            for (int k = 0; k < Unrolled; k++)
                operation.once();
        end = clock64();
    }
    leave_record(a, start, end, operation.wrong(a.repeats / Unrolled * Unrolled + Unrolled));
}

/* The same in a loop of which the compiler cannot know that all lanes make it equally often: each reads how
 * much more than the others it has to do, which is nothing. So a barrier of the warp cannot be left out. */
template <class Operation>
static __global__ void __launch_bounds__(1024, 2)
    time_divergent(const __grid_constant__ stencil_sm_arguments a) {
    if (!Operation::takes_part(a))
        return;
    Operation operation(a);
    const volatile uint32_t *nothing = &a.record[(threadIdx.x + blockIdx.x) % 32].wrong;
    const int rounds = (int)a.repeats + (int)*nothing;
    const long long start = clock64();
#pragma unroll 1
    for (int i = 0; i < rounds; i++)
        operation.once();
    const long long end = clock64();
    leave_record(a, start, end, operation.wrong(rounds));
}

} // namespace stencil
#endif
