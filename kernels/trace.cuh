/* Functions that note the moments of a step (trace.h) for attribution, called by the kernels that run a
 * sweep. They are not inlined, so that launches that note nothing keep their registers. */
#pragma once

#include "kernels/sweep.h"
#include "sync/memory.cuh"

namespace stencil {

/* Tells whether a launch is for attribution or for a test of its barrier; other launches make no further
 * test. */
__device__ __forceinline__ bool is_special(const stencil_kernel_args &s) {
    return s.special != 0;
}

/* Returns where the block's first note of a sampled step is. */
__device__ __forceinline__ int64_t *notes_of(const stencil_kernel_args &s, uint32_t sample) {
    return s.trace.mark + ((uint64_t)sample * s.trace.participants + blockIdx.x) * STENCIL_NOTES;
}

/* Notes a moment of step `step`, if it is sampled; called by the block's first thread alone. */
static __device__ __noinline__ void write_alone(const stencil_kernel_args &s, int64_t step,
                                                stencil_mark mark) {
    const int64_t sample = stencil_trace_sample(&s.trace, step);
    if (sample < 0)
        return;
    notes_of(s, (uint32_t)sample)[mark] = clock64();
    if (mark == STENCIL_MARK_BEGIN)
        s.trace.place[(uint64_t)sample * s.trace.participants + blockIdx.x] = multiprocessor();
}

static __device__ __noinline__ void write_moment(const stencil_kernel_args &s, int64_t step,
                                                 stencil_mark mark) {
    __syncthreads();
    if (thread_in_block() == 0)
        write_alone(s, step, mark);
}

/* Notes a moment of a block of a persistent loop, when all threads of the block have reached it. */
__device__ __forceinline__ void note_moment(const stencil_kernel_args &s, int64_t step, stencil_mark mark) {
    if (stencil_trace_sample(&s.trace, step) >= 0)
        write_moment(s, step, mark);
}

static __device__ __noinline__ void write_launch(const stencil_kernel_args &s, stencil_launch_mark mark) {
    __syncthreads();
    if (thread_in_block() == 0) {
        const uint64_t block = (uint64_t)s.trace.launch * s.trace.participants + blockIdx.x;
        s.trace.launched[block * STENCIL_LAUNCH_MARKS + mark] = clock64();
        if (mark == STENCIL_LAUNCH_ENTERED)
            s.trace.place[(uint64_t)s.trace.samples * s.trace.participants + block] = multiprocessor();
    }
}

/* Notes a moment of the launch of a persistent loop, when all threads of the block have reached it. */
__device__ __forceinline__ void note_launch(const stencil_kernel_args &s, stencil_launch_mark mark) {
    if (is_special(s) && s.trace.launch < s.trace.launches)
        write_launch(s, mark);
}

static __device__ __noinline__ void write_spent(const stencil_kernel_args &s, uint32_t sample,
                                                stencil_spent spent, bool ends) {
    __syncthreads();
    if (thread_in_block() == 0) /* less the moment of the begin, plus that of the end */
        notes_of(s, sample)[STENCIL_MARKS + spent] += ends ? clock64() : -clock64();
}

/* Begins (ends: false) or ends a piece of time that a block spends within step `step`. Every piece that
 * begins must end in the same step. */
__device__ __forceinline__ void note_spent(const stencil_kernel_args &s, int64_t step, stencil_spent spent,
                                           bool ends) {
    const int64_t sample = stencil_trace_sample(&s.trace, step);
    if (sample >= 0)
        write_spent(s, (uint32_t)sample, spent, ends);
}

/* Notes the end of step `step`, if this launch has made it, and the beginning of the next one. */
__device__ __forceinline__ void note_turn(const stencil_kernel_args &s, int64_t step, bool made) {
    if (made)
        note_moment(s, step, STENCIL_MARK_END);
    note_moment(s, step + 1, STENCIL_MARK_BEGIN);
}

/* Notes a moment of a launch for this block's multiprocessor: BEGIN is when its first thread 0 arrives, other
 * moments are when its last thread arrives. */
__device__ __forceinline__ void put_launched(const stencil_kernel_args &s, int64_t sample,
                                             stencil_mark mark) {
    if (mark != STENCIL_MARK_BEGIN)
        __syncthreads();
    const uint32_t place = multiprocessor();
    if (thread_in_block() == 0 && place < s.trace.participants) {
        auto *at = reinterpret_cast<long long *>(
            s.trace.mark + (sample * s.trace.participants + place) * STENCIL_NOTES + mark);
        if (mark == STENCIL_MARK_BEGIN)
            atomicMin(at, (long long)clock64());
        else
            atomicMax(at, (long long)clock64());
    }
}

static __device__ __noinline__ void write_launched(const stencil_kernel_args &s, int64_t sample,
                                                   stencil_mark mark) {
    put_launched(s, sample, mark);
}

__device__ __forceinline__ void note_launched(const stencil_kernel_args &s, int64_t step, stencil_mark mark) {
    const int64_t sample = stencil_trace_sample(&s.trace, step);
    if (sample >= 0)
        write_launched(s, sample, mark);
}

} // namespace stencil
