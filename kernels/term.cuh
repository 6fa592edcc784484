/* The cell update: the one expression of every sweep of the GPU. (Its twin for the CPU is cpu_term.inc.)
 *
 * A sum takes the points of its cell in ascending order: the first term is a product, each further one an
 * fma, and the source term comes last. A sweep says how cells move, and which sums take a cell when it comes
 * by; how a sum takes it, and where the weight comes from, is said here alone. */
#pragma once

#include <type_traits>

#include "kernels/ptx.cuh"
#include "kernels/sweep.h"

namespace stencil {

/* The weight of a point as a sweep holds it, for all cells that it makes meanwhile. of(where) is that of one
 * cell, whose element (from updated cell (0, 0, 0) of the part) where() is: found only if somebody asks for
 * it. */
template <class T> struct point_weight {
    T value;
    const stencil_domain *domain;
    template <class Where> __device__ __forceinline__ T of(Where) const {
        return value;
    }
    /* Tells whether it is 1 in all cells. */
    __device__ __forceinline__ bool is_one() const {
        return value == T(1);
    }
};

/* A weight provider has the weights of a step: point(k) of point k, source() of the source term. These are
 * the same for all cells of the part. Among the parameters of the kernel, where they cost no registers: */
template <class T> struct uniform_weights {
    const T *weight; /* [STENCIL_WEIGHTS] */
    const stencil_domain *domain;
    __device__ __forceinline__ point_weight<T> point(int k) const {
        return {weight[k], domain};
    }
    __device__ __forceinline__ point_weight<T> source() const {
        return point(STENCIL_SOURCE_WEIGHT);
    }
};
template <class T>
__device__ __forceinline__ uniform_weights<T> weights_of(const stencil_domain &d,
                                                         const stencil_weights &weights) {
    if constexpr (sizeof(T) == sizeof(float))
        return {weights.f32, &d};
    else
        return {weights.f64, &d};
}
/* The provider of weights that all steps of the launch have. */
template <class T> __device__ __forceinline__ uniform_weights<T> weights_of(const stencil_domain &d) {
    return weights_of<T>(d, d.weights);
}

/* The provider of the weights of a step of a cycle, which the block has put into shared memory, at a pointer
 * or a 32-bit address (which is what decides the order of loads): of `Points` points, and behind them the
 * source's. */
template <class T, int Points, class Address> struct cycle_weights {
    static constexpr int count = Points + 1;
    Address at;
    const stencil_domain *domain;
    __device__ __forceinline__ point_weight<T> point(int k) const {
        if constexpr (std::is_pointer_v<Address>)
            return {at[k], domain};
        else
            return {load_shared<T>(at + k * (uint32_t)sizeof(T)), domain};
    }
    __device__ __forceinline__ point_weight<T> source() const {
        return point(Points);
    }
    /* The block's threads put weights of `steps` steps from `to` on, those of the step behind `first` steps
     * at number `before`, and at all numbers before that one. */
    template <class To>
    __device__ __forceinline__ static void put(To to, const stencil_kernel_args &s, int64_t first, int before,
                                               int steps) {
        for (int i = threadIdx.x; i < steps * count; i += blockDim.x) {
            const int k = i % count, step = max(i / count - before, 0);
            const T weight = weights_of<T>(s.domain, s.cycle[(first + step) % s.cycle_length])
                                 .weight[k < Points ? k : STENCIL_SOURCE_WEIGHT];
            if constexpr (std::is_pointer_v<Address>)
                to[i] = weight;
            else
                store_shared(to + i * (uint32_t)sizeof(T), weight);
        }
    }
};

/* The provider of a kernel for all problems (General), or of a faster one. */
template <class T, int Points, bool General>
using step_weights_of = std::conditional_t<General, cycle_weights<T, Points, const T *>, uniform_weights<T>>;

/* Rounded, and never part of an fma, whatever the compiler is told. */
__device__ __forceinline__ float multiply(float a, float b) {
    return __fmul_rn(a, b);
}
__device__ __forceinline__ double multiply(double a, double b) {
    return __dmul_rn(a, b);
}

/* The sum with point k; of the first one nothing is asked what the sum was. */
template <class T, class Weight, class Where>
__device__ __forceinline__ T term(int k, const Weight &weight, Where where, T value, T sum) {
    return k == 0 ? multiply(weight.of(where), value) : fma(weight.of(where), value, sum);
}
/* The complete sum with the source term. */
template <class T, class Weight, class Where>
__device__ __forceinline__ T source_term(const Weight &factor, Where where, T source, T sum) {
    return fma(factor.of(where), source, sum);
}

} // namespace stencil
