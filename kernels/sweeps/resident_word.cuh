/* The words that tiles of the resident sweep send each other. */
#pragma once

#include "kernels/ptx.cuh"

namespace stencil {

/* A flagged word, as in kernels/ll.cuh. The word of a double is one access of 128 bits, so it has its number
 * once. */
template <class T> struct resident_word;
template <> struct resident_word<float> {
    uint64_t bits;
    __device__ __forceinline__ static void store(bool wanted, uint64_t *to, float value, uint32_t number) {
        const uint64_t flagged = (uint64_t)number << 32 | __float_as_uint(value);
        store_word_if(wanted, to, flagged);
    }
    __device__ __forceinline__ void load(bool wanted, const uint64_t *from) {
        load_word_if(wanted, from, bits);
    }
    __device__ __forceinline__ void set_number(uint32_t number) {
        bits = (uint64_t)number << 32;
    }
    __device__ __forceinline__ float value() const {
        return __uint_as_float((uint32_t)bits);
    }
    __device__ __forceinline__ uint32_t number() const {
        return (uint32_t)(bits >> 32);
    }
};
template <> struct resident_word<double> {
    uint64_t bits, number_;
    __device__ __forceinline__ static void store(bool wanted, uint64_t *to, double value, uint32_t number) {
        store_wide_if(wanted, to, __double_as_longlong(value), number);
    }
    __device__ __forceinline__ void load(bool wanted, const uint64_t *from) {
        load_wide_if(wanted, from, bits, number_);
    }
    __device__ __forceinline__ void set_number(uint32_t number) {
        bits = 0, number_ = number;
    }
    __device__ __forceinline__ double value() const {
        return __longlong_as_double((long long)bits);
    }
    __device__ __forceinline__ uint32_t number() const {
        return (uint32_t)number_;
    }
};

} // namespace stencil
