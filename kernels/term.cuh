/* The cell update: the only expression of all GPU sweeps. (cpu_term.inc has the same expression for the CPU.)
 *
 * A sum takes the points of its cell in ascending order: the first term is a product, each further term an
 * fma, and the source term comes last. A sweep defines how cells move, and which sums take a cell that it has
 * loaded; only this file defines how a sum takes a cell, and where the weight comes from. */
#pragma once

#include <type_traits>

#include "kernels/ptx.cuh"
#include "kernels/quotients.cuh"
#include "kernels/sweep.h"

namespace stencil {

/* The weight of a point as a sweep holds it for all cells that it updates at a time. of(where) returns the
 * weight for one cell; where() would return the cell's element, counted from updated cell (0, 0, 0) of the
 * part, and is evaluated only if needed. */
template <class T> struct point_weight {
    T value;
    const stencil_domain *domain;
    template <class Where> __device__ __forceinline__ T of(Where) const {
        return value;
    }
    /* Tells whether the weight is 1 in all cells. */
    __device__ __forceinline__ bool is_one() const {
        return value == T(1);
    }
};

/* A weight provider has the weights of a step: point(k) of point k, source() of the source term.
 * uniform_weights are the same for all cells of the part. They are read from the kernel's parameters, where
 * they cost no registers, or in a loop of a kernel for classes from shared memory: weights_of_step(). */
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
/* Returns the provider of the weights that all steps of the launch have. */
template <class T> __device__ __forceinline__ uniform_weights<T> weights_of(const stencil_domain &d) {
    return weights_of<T>(d, d.weights);
}

/* Returns the factors in time of the step after `step` steps, where there are any. */
template <class T>
__device__ __forceinline__ const T *factors_of(const stencil_kernel_args &s, int64_t step) {
    return static_cast<const T *>(s.sums.factor) + (step - s.sums.first) * STENCIL_STEP_FACTORS;
}
/* Returns the factor of the source term in the step after `step` steps. */
template <class T> __device__ __forceinline__ T source_factor_of(const stencil_kernel_args &s, int64_t step) {
    if (s.sums.factor != nullptr)
        return __ldg(factors_of<T>(s, step));
    return weights_of<T>(s.domain, s.cycle[quotients(s.cycle_length).rest(step)])
        .weight[STENCIL_SOURCE_WEIGHT];
}
/* Tells whether steps of a launch have different weights, or factors of the source. */
__device__ __forceinline__ bool weights_change(const stencil_kernel_args &s) {
    return s.cycle_length > 1 || s.sums.factor != nullptr;
}

/* The provider of one step's weights where weights change in a cycle of steps: the block has put them into
 * shared memory, at a pointer or a 32-bit address (the choice decides the order of loads). The weights of
 * `Points` points come first, then the source term's. */
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
    /* Writes, with all threads of the block, the weights of `steps` consecutive steps to `to`: slot `before`
     * gets those of the step after `first` steps, and so do all slots before it. */
    template <class To>
    __device__ __forceinline__ static void put(To to, const stencil_kernel_args &s, int64_t first, int before,
                                               int steps) {
        const quotients cycles(s.cycle_length);
        for (int i = threadIdx.x; i < steps * count; i += blockDim.x) {
            const int k = i % count, step = max(i / count - before, 0);
            const T weight = k < Points
                                 ? weights_of<T>(s.domain, s.cycle[cycles.rest(first + step)]).weight[k]
                                 : source_factor_of<T>(s, first + step);
            if constexpr (std::is_pointer_v<Address>)
                to[i] = weight;
            else
                store_shared(to + i * (uint32_t)sizeof(T), weight);
        }
    }
};

/* The weight provider of a kernel for all problems (General), or of a faster kernel for uniform weights. */
template <class T, int Points, bool General>
using step_weights_of = std::conditional_t<General, cycle_weights<T, Points, const T *>, uniform_weights<T>>;

/* Returns a * b, rounded; never fused into an fma, whatever the compiler options. */
__device__ __forceinline__ float multiply(float a, float b) {
    return __fmul_rn(a, b);
}
__device__ __forceinline__ double multiply(double a, double b) {
    return __dmul_rn(a, b);
}

/* Returns the sum with point k added; the first point (k = 0) ignores `sum`. */
template <class T, class Weight, class Where>
__device__ __forceinline__ T term(int k, const Weight &weight, Where where, T value, T sum) {
    return k == 0 ? multiply(weight.of(where), value) : fma(weight.of(where), value, sum);
}
/* Returns the complete sum, with the source term added. */
template <class T, class Weight, class Where>
__device__ __forceinline__ T source_term(const Weight &factor, Where where, T source, T sum) {
    return fma(factor.of(where), source, sum);
}

} // namespace stencil
