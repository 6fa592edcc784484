/* The words that tiles of the resident sweep send each other. */
#pragma once

#include <cstdint>

namespace stencil {

/* Words as in kernels/ll.cuh, as they are in memory. That of a double is one access of 128 bits, so that it
 * needs its number once. */
template <class T> struct resident_word;
template <> struct resident_word<float> {
    uint64_t bits;
    __device__ __forceinline__ static void store(bool wanted, uint64_t *to, float value, uint32_t number) {
        const uint64_t flagged = (uint64_t)number << 32 | __float_as_uint(value);
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.relaxed.sys.global.b64 [%1], %2; }" ::"r"(
                         (uint32_t)wanted),
                     "l"(to), "l"(flagged)
                     : "memory");
    }
    __device__ __forceinline__ void load(bool wanted, const uint64_t *from) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.relaxed.sys.global.b64 %0, [%2]; }"
                     : "+l"(bits)
                     : "r"((uint32_t)wanted), "l"(from)
                     : "memory");
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
        asm volatile("{ .reg .pred p; .reg .b128 w; setp.ne.u32 p, %0, 0; mov.b128 w, {%2, %3}; "
                     "@p st.relaxed.sys.global.b128 [%1], w; }" ::"r"((uint32_t)wanted),
                     "l"(to), "l"(__double_as_longlong(value)), "l"((uint64_t)number)
                     : "memory");
    }
    __device__ __forceinline__ void load(bool wanted, const uint64_t *from) {
        asm volatile("{ .reg .pred p; .reg .b128 w; setp.ne.u32 p, %2, 0; mov.b128 w, {%0, %1}; "
                     "@p ld.relaxed.sys.global.b128 w, [%3]; mov.b128 {%0, %1}, w; }"
                     : "+l"(bits), "+l"(number_)
                     : "r"((uint32_t)wanted), "l"(from)
                     : "memory");
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
