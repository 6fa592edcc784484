#include "bench/kernels.h"

/* The additions are volatile so that they stay between the two looks at the clock. The first time round
 * brings the instructions into their cache. */
static __global__ void adds(const stencil_add_work w) {
    float sum = 0;
    long long cycles = 0;
#pragma unroll 1
    for (int warm = 0; warm < 2; warm++) {
        const int64_t count = warm == 0 ? 1 : w.loops;
        sum = 0;
        const long long start = clock64();
#pragma unroll 1
        for (int64_t i = 0; i < count; i++)
#pragma unroll
            for (int k = 0; k < STENCIL_ADDS_UNROLLED; k++)
                asm volatile("add.f32 %0, %0, %1;" : "+f"(sum) : "f"(w.one));
        cycles = clock64() - start;
    }
    w.seen->cycles = cycles;
    w.seen->sum = sum;
}

const void *const stencil_add_kernel = STENCIL_KERNEL(adds);
