#include "discovery.h"

#include "kernels/address.cuh"
#include "sync/discovery.cuh"

template <bool Waits> static __global__ void pass(const __grid_constant__ discovery_passes p) {
    __shared__ uint32_t number, count;
    if (threadIdx.x == 0)
        count = stencil::take_part(p.state, p.poll, &number);
    __syncthreads();
    if (count > 0) {
        stencil::discovered_barrier barrier(p.state, p.poll, p.most, number, count);
        uint32_t missing = 0;
        if (threadIdx.x == 0)
            atomicAdd(p.taken + number, 1u);
        for (int64_t i = 1; i <= p.passes; i++) {
            if (threadIdx.x == 0) {
                if ((number + i) % 5 == 0)
                    __nanosleep(2000);
                *(volatile uint32_t *)(p.word + number) = (uint32_t)i;
            }
            if (Waits)
                barrier.sync(i);
            const uint32_t other = (number + 1 + threadIdx.x + (uint32_t)i) % count;
            missing += __ldcg(p.word + other) < (uint32_t)i;
        }
        if (missing > 0)
            atomicAdd(p.missing, missing);
    }
    if (threadIdx.x == 0)
        atomicAdd(p.ended, 1u);
}

const void *discovery_kernel(int waits) {
    return waits ? stencil::kernel_address(pass<true>) : stencil::kernel_address(pass<false>);
}
