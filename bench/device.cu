#include "bench/device.h"

static __device__ int64_t timer_ns() {
    int64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* Spins for at least so long; says how long it was, and in how many cycles. The timer is read in front of the
 * clock both times, so what lies between the two cancels. */
static __device__ void spin(int64_t least_ns, int64_t *cycles, int64_t *ns) {
    const int64_t begin_ns = timer_ns(), begin = clock64();
    int64_t now_ns, now;
    do {
        now_ns = timer_ns();
        now = clock64();
    } while (now_ns - begin_ns < least_ns);
    *cycles = now - begin;
    *ns = now_ns - begin_ns;
}

static __global__ void see_clock(int64_t *seen) {
    int64_t cycles, ns;
    spin(20000000, &cycles, &ns);
    spin(5000000, &cycles, &ns);
    seen[0] = cycles;
    seen[1] = ns;
}

static __global__ void fill(const __grid_constant__ stencil_fill f) {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < f.count;
         i += (int64_t)gridDim.x * blockDim.x)
        f.place[i * f.stride] = stencil_next_number((uint32_t)i, f.numbers);
}

const void *const stencil_fill_kernel = reinterpret_cast<const void *>(fill);
const void *const stencil_clock_kernel = reinterpret_cast<const void *>(see_clock);
