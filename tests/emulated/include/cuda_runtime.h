/* CUDA C++ for a host compiler: qualifiers, built-in variables and functions of device code, on the emulated
 * GPU. Forced into every .cu file, as nvcc does with its header of that name. Standard headers that use
 * __noinline__ come before it is defined. */
#pragma once

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <math.h>
#include <memory>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>

#include "emulated.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__      thread_local /* a block has an image of the thread-local memory, see block.cc */
#define __forceinline__ inline
#define __noinline__    __attribute__((noinline))
#define __align__(n)    __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __grid_constant__

#define threadIdx (emulated::now->index)
#define blockIdx  (emulated::now->of->index)
#define blockDim  (emulated::now->of->of->block_dim)
#define gridDim   (emulated::now->of->of->grid_dim)

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}
inline double2 make_double2(double x, double y) {
    return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
    return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) {
    using C = std::common_type_t<A, B>;
    return (C)b < (C)a ? (C)b : (C)a;
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) {
    using C = std::common_type_t<A, B>;
    return (C)a < (C)b ? (C)b : (C)a;
}
using std::fma;
using std::isnan;

inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}
inline double __dadd_rn(double a, double b) {
    return a + b;
}
template <class To, class From> To emulated_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
inline unsigned __float_as_uint(float f) {
    return emulated_bits<unsigned>(f);
}
inline float __uint_as_float(unsigned u) {
    return emulated_bits<float>(u);
}
inline long long __double_as_longlong(double d) {
    return emulated_bits<long long>(d);
}
inline double __longlong_as_double(long long l) {
    return emulated_bits<double>(l);
}
/* abs of a NaN is any NaN, which on GPUs has its sign bit set as often as not. */
inline double emulated_abs(double d) {
    return std::isnan(d) ? -__builtin_fabs(d) : __builtin_fabs(d);
}
#define fabs emulated_abs
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const unsigned long long bytes = low | (unsigned long long)high << 32;
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}
inline int __popc(unsigned u) {
    return __builtin_popcount(u);
}
inline int __ffs(int i) {
    return __builtin_ffs(i);
}
inline int __clz(int i) {
    return i == 0 ? 32 : __builtin_clz((unsigned)i);
}

inline float __fdiv_rn(float a, float b) {
    return a / b;
}
inline double __ddiv_rn(double a, double b) {
    return a / b;
}

template <class T> T __ldg(const T *p) {
    return *p;
}
template <class T> T __ldcg(const T *p) {
    return *p;
}

/* Threads of a block meet here, then go on in any order. */
inline void __syncthreads() {
    emulated::meet_block(0);
}
inline int __syncthreads_or(int predicate) {
    return emulated::meet_block(predicate != 0) > 0;
}
inline int __syncthreads_count(int predicate) {
    return (int)emulated::meet_block(predicate != 0);
}
inline int __syncthreads_and(int predicate) {
    return emulated::meet_block(predicate == 0) == 0;
}

/* Lanes of a warp meet here. */
inline void __syncwarp(unsigned mask = ~0u) {
    emulated::meet_warp(mask, emulated::warp_sync, 0, 0);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return (unsigned)emulated::meet_warp(mask, emulated::warp_ballot, predicate != 0, 0);
}
inline int __any_sync(unsigned mask, int predicate) {
    return emulated::meet_warp(mask, emulated::warp_any, predicate != 0, 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
    return emulated::meet_warp(mask, emulated::warp_any, predicate == 0, 0) == 0;
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
    return (unsigned)emulated::meet_warp(mask, emulated::warp_max, value, 0);
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
    return (unsigned)emulated::meet_warp(mask, emulated::warp_add, value, 0);
}
template <class T> T emulated_shuffle(unsigned mask, T value, int from) {
    static_assert(sizeof(T) <= 8, "");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = emulated::meet_warp(mask, emulated::warp_shuffle, bits, from);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    const int lane = (int)emulated::now->lane;
    return emulated_shuffle(mask, value, (lane & ~(width - 1)) | (from & (width - 1)));
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int change) {
    return emulated_shuffle(mask, value, (int)emulated::now->lane ^ change);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned by) {
    const int lane = (int)emulated::now->lane, from = lane - (int)by;
    return emulated_shuffle(mask, value, from < 0 ? lane : from);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by) {
    const int lane = (int)emulated::now->lane, from = lane + (int)by;
    return emulated_shuffle(mask, value, from > 31 ? lane : from);
}

/* One thread runs at a time, so what is atomic on a GPU is an ordinary access here. */
template <class T> T atomicAdd(T *p, T value) {
    emulated::may_yield();
    const T before = *p;
    *p += value;
    return before;
}
template <class T> T atomicAdd_system(T *p, T value) {
    return atomicAdd(p, value);
}
template <class T> T atomicCAS(T *p, T expected, T value) {
    emulated::may_yield();
    const T before = *p;
    if (before == expected)
        *p = value;
    return before;
}
template <class T> T atomicMax(T *p, T value) {
    emulated::may_yield();
    const T before = *p;
    *p = before < value ? value : before;
    return before;
}
template <class T> T atomicMin(T *p, T value) {
    emulated::may_yield();
    const T before = *p;
    *p = value < before ? value : before;
    return before;
}
inline void __threadfence() {
    emulated::may_yield();
}
inline void __threadfence_system() {
    emulated::may_yield();
}
inline void __nanosleep(unsigned) {
    emulated::yield();
}
/* Multiprocessors have counters of their own, which differ by far. */
inline long long clock64() {
    return (long long)(emulated::clock_ns() + 1'000'000'000'000u * emulated::multiprocessor());
}
[[noreturn]] inline void __trap() {
    emulated::trap();
}

template <class T> cudaError_t cudaMalloc(T **memory, size_t bytes) {
    return cudaMalloc((void **)memory, bytes);
}
template <class T> cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes) {
    std::memcpy(to, &symbol, bytes);
    return cudaSuccess;
}
template <class... A>
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, void (*kernel)(A...)) {
    return cudaFuncGetAttributes(attributes, emulated::know(kernel));
}
template <class... A>
cudaError_t cudaLaunchKernel(void (*kernel)(A...), dim3 grid, dim3 block, void **arguments,
                             size_t shared_bytes, cudaStream_t stream) {
    return cudaLaunchKernel(emulated::know(kernel), grid, block, arguments, shared_bytes, stream);
}
