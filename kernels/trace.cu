/* Compares the cycle counters of multiprocessors with the device's timer, which all multiprocessors share but
 * which is too coarse to time a step. */
#include "kernels/address.cuh"
#include "kernels/table.h"
#include "kernels/trace.cuh"

/* The first block on a multiprocessor notes the cycle count at which it sees the timer change: late by up to
 * the time between two reads of the timer, so the earliest pair is the best. */
static __global__ void compare_clocks(stencil_clock_pair *pair, uint32_t places) {
    const uint32_t place = stencil::multiprocessor();
    if (threadIdx.x != 0 || place >= places)
        return;
    stencil_clock_pair *own = pair + place * STENCIL_CLOCK_PAIRS;
    if (atomicCAS(reinterpret_cast<unsigned long long *>(&own->ns), 0ull, 1ull) != 0)
        return;
    for (int i = 0; i < STENCIL_CLOCK_PAIRS; i++) {
        const uint64_t before_ns = stencil::device_clock_ns();
        uint64_t now_ns;
        int64_t now;
        do {
            now_ns = stencil::device_clock_ns();
            now = clock64();
        } while (now_ns == before_ns);
        own[i] = {now, (int64_t)now_ns};
    }
}

extern "C" const void *stencil_clocks_kernel(void) {
    return stencil::kernel_address(&compare_clocks);
}
