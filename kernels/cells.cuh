/* What a thread updates cells with: point sets that are known at compile time, so that loops over points
 * unroll into straight lines of fma, and 16-byte accesses, by the same names for float and double. */
#pragma once

#include "kernels/sweep.h"

namespace stencil {

/* A point set. The streaming axis is the one a thread walks along (y in 2D, z in 3D), the cross axis is the
 * other one that is not x (none in 2D). */
template <int Rank, stencil_rule Rule, int Radius> struct points {
    static constexpr stencil_rule rule = Rule;
    static constexpr int rank = Rank, radius = Radius, radius_z = Rank == 3 ? Radius : 0, cross = radius_z;

    __host__ __device__ static constexpr bool has(int dz, int dy, int dx) {
        return stencil_rule_contains(Rule, Radius, dz, dy, dx);
    }

    __host__ __device__ static constexpr bool contains(int stream, int cross_offset, int dx) {
        return Rank == 3 ? has(stream, cross_offset, dx) : has(0, stream, dx);
    }
    /* How far row (stream, cross) reaches along x; -1: no point in it. */
    __host__ __device__ static constexpr int row_reach(int stream, int cross_offset) {
        int reach = -1;
        for (int dx = 0; dx <= Radius; dx++)
            if (contains(stream, cross_offset, dx))
                reach = dx;
        return reach;
    }
    /* Farthest streaming offset at which rows of this cross offset are read `beside` cells from the thread's
     * own along x, or farther (the shapes are symmetric); -1: nowhere. A star reads cells beside its own in
     * the middle row only. */
    __host__ __device__ static constexpr int ahead(int cross_offset, int beside) {
        int farthest = -1;
        for (int m = 0; m <= Radius; m++)
            if (row_reach(m, cross_offset) >= beside)
                farthest = m;
        return farthest;
    }
};

/* Rounded, and never part of an fma, whatever the compiler is told. */
__device__ __forceinline__ float multiply(float a, float b) {
    return __fmul_rn(a, b);
}
__device__ __forceinline__ double multiply(double a, double b) {
    return __dmul_rn(a, b);
}

template <class T> constexpr int vector_cells = 16 / sizeof(T);

/* Plain loads: the field changes while a persistent kernel runs, so never through the non-coherent path. */
__device__ __forceinline__ void load_vector(const float *from, float *to) {
    const float4 v = *reinterpret_cast<const float4 *>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void load_vector(const double *from, double *to) {
    const double2 v = *reinterpret_cast<const double2 *>(from);
    to[0] = v.x, to[1] = v.y;
}
__device__ __forceinline__ void store_vector(float *to, const float *from) {
    *reinterpret_cast<float4 *>(to) = make_float4(from[0], from[1], from[2], from[3]);
}
__device__ __forceinline__ void store_vector(double *to, const double *from) {
    *reinterpret_cast<double2 *>(to) = make_double2(from[0], from[1]);
}

/* Never does anything: number >= 0. Instructions are not moved across it, or what is needed at once would
 * have no room in registers. */
__device__ __forceinline__ void end_block(int number) {
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, 0;\n\t@p trap; }" ::"r"(number));
}

/* What L2 is to do with a line: keep it longer than others, or give it away before them. */
enum class l2_line { keep, give_away };
/* That policy, or the usual one where the caller does not ask for it. */
__device__ __forceinline__ uint64_t l2_policy(l2_line line, bool asked_for) {
    uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
    uint64_t usual;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(usual));
    if (line == l2_line::keep)
        asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    else
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    policy = asked_for ? policy : usual;
#endif
    return policy;
}
__device__ __forceinline__ void store_vector(float *to, const float *from, uint64_t policy) {
#if __CUDA_ARCH__ >= 800
    asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "f"(from[0]),
                 "f"(from[1]), "f"(from[2]), "f"(from[3]), "l"(policy)
                 : "memory");
#else
    store_vector(to, from);
#endif
}
__device__ __forceinline__ void store_vector(double *to, const double *from, uint64_t policy) {
#if __CUDA_ARCH__ >= 800
    asm volatile("st.global.L2::cache_hint.v2.f64 [%0], {%1, %2}, %3;" ::"l"(to), "d"(from[0]), "d"(from[1]),
                 "l"(policy)
                 : "memory");
#else
    store_vector(to, from);
#endif
}

template <class T> __device__ __forceinline__ const T *weights_of(const stencil_weights &weights) {
    if constexpr (sizeof(T) == sizeof(float))
        return weights.f32;
    else
        return weights.f64;
}

} // namespace stencil
