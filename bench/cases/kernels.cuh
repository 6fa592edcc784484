/* The kernels of a case: one that runs one phase, and, for each barrier of barriers.def, one that runs all
 * phases. A file includes id.cuh and then uses STENCIL_CASE_KERNELS_MAKE(id). */
#pragma once

#include "bench/cases/loop.h"
#include "bench/cases/span.cuh"
#include "sync/all.cuh"
#include "sync/memory.cuh"

namespace stencil {

/* Records a time in a block's trace after all threads of the block have arrived. The function is not
 * inlined, so that it takes no registers of the phases. */
static __device__ __noinline__ void note_moment(const stencil_case_launch &l, int64_t step,
                                                stencil_mark mark) {
    const int64_t sample = l.trace.mark != nullptr ? stencil_trace_sample(&l.trace, step) : -1;
    if (sample < 0)
        return;
    __syncthreads();
    if (thread_in_block() == 0)
        l.trace.mark[(sample * l.trace.participants + blockIdx.x) * STENCIL_NOTES + mark] =
            (int64_t)device_clock_ns();
}

/* Delays a block before the barrier of a step, or keeps it away until another block has given up or four
 * timeouts have passed, as the fault of a test says. */
static __device__ __noinline__ void inject_fault(const stencil_case_launch &l, int64_t step) {
    for (uint32_t left_ns = stencil_lateness_ns(&l.fault, blockIdx.x, step); left_ns > 0;) {
        const uint32_t nap_ns = min(left_ns, 100000u);
        __nanosleep(nap_ns);
        left_ns -= nap_ns;
    }
    const uint64_t start_ns = device_clock_ns();
    if (step == l.fault.absent_step && blockIdx.x == l.fault.absent)
        while (!alarm_raised(l.state) && device_clock_ns() - start_ns < 4 * l.state.timeout_ns)
            __nanosleep(1000);
}

/* Returns whether a block has given up at a barrier; all threads of the calling block get the same answer. */
__device__ __forceinline__ bool alarmed(const stencil_barrier_state &s) {
    return __syncthreads_or(thread_in_block() == 0 && alarm_raised(s));
}

/* The barrier of a grid of one block: __syncthreads(). */
struct alone_barrier {
    __device__ explicit alone_barrier(const stencil_barrier_state &) {}
    __device__ void sync(int64_t) {
        __syncthreads();
    }
    __device__ void leave() {}
};

template <class Case>
static __device__ __forceinline__ void make_phase(const stencil_case_launch &l, int64_t phase) {
    __shared__ __align__(16) unsigned char shared[Case::shared_bytes > 0 ? Case::shared_bytes : 16];
    if (l.special)
        note_moment(l, phase + 1, STENCIL_MARK_BEGIN);
    Case::phase(l.arguments, phase, {blockIdx.x, gridDim.x, shared});
    if (l.special)
        note_moment(l, phase + 1, STENCIL_MARK_SWEPT);
}

template <class Case>
static __global__ void __launch_bounds__(Case::lanes, Case::resident)
    case_phase(const __grid_constant__ stencil_case_launch l) {
    if (l.special)
        span_begin(l.span);
    make_phase<Case>(l, l.phase);
    if (l.special)
        span_end(l.span);
}

/* Runs all phases under a barrier. A block whose wait times out raises the alarm and goes on; the kernel
 * polls the alarm every few phases. */
template <class Case, class Barrier>
static __global__ void __launch_bounds__(Case::lanes, Case::resident)
    case_persistent(const __grid_constant__ stencil_case_launch l) {
    enum { ALARM_EVERY = 64 };
    if (l.special)
        span_begin(l.span);
    Barrier barrier(l.state);
    for (int64_t step = 1; step <= l.phases; step++) {
        make_phase<Case>(l, step - 1);
        if (step == l.phases)
            break;
        if (l.special)
            inject_fault(l, step);
        barrier.sync(step);
        if (l.special) {
            note_moment(l, step, STENCIL_MARK_LEFT);
            note_moment(l, step, STENCIL_MARK_END);
        }
        if (step % ALARM_EVERY == 0 && gridDim.x > 1 && alarmed(l.state))
            break;
    }
    barrier.leave();
    if (l.special)
        span_end(l.span);
}

} // namespace stencil

#define STENCIL_CASE_KERNEL(...) reinterpret_cast<const void *>(stencil::__VA_ARGS__)
#define STENCIL_CASE_KERNELS_MAKE(id)                                                                        \
    struct id##_case {                                                                                       \
        enum { lanes = id##_lanes, shared_bytes = id##_shared_bytes, resident = id##_resident };             \
        static __device__ __forceinline__ void phase(const unsigned char *arguments, int64_t phase,          \
                                                     stencil_case_block block) {                             \
            id##_phase(reinterpret_cast<const id##_arguments *>(arguments), phase, block);                   \
        }                                                                                                    \
    };                                                                                                       \
    extern "C" const stencil_case_kernels stencil_case_kernels_##id = stencil_case_kernels_of<id##_case>();

template <class Case> static stencil_case_kernels stencil_case_kernels_of() {
    return {STENCIL_CASE_KERNEL(case_phase<Case>),
            {
                STENCIL_CASE_KERNEL(case_persistent<Case, stencil::alone_barrier>),
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    STENCIL_CASE_KERNEL(case_persistent<Case, stencil::id##_barrier>),
#include "sync/barriers.def"
            }};
}
