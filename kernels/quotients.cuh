/* Division of 64-bit numbers without a call. */
#pragma once

#include "kernels/ptx.cuh"

namespace stencil {

/* Division by a number that stays the same, 1 … 2^52, without a call: a loop of passes that calls a function,
 * as 64-bit divisions do, spills. */
struct quotients {
    int64_t by;
    double inverse;

    __device__ __forceinline__ explicit quotients(int64_t divisor)
        : by(max(divisor, (int64_t)1)), inverse(approximate_inverse((float)by)) {
        /* Each iteration of Newton's doubles the digits: 22 bits, 44, all. */
#pragma unroll
        for (int i = 0; i < 2; i++)
            inverse *= 2 - (double)by * inverse;
    }
    /* Divides i, 0 … 2^52. */
    __device__ __forceinline__ int64_t of(int64_t i) const {
        const int64_t q = (int64_t)((double)i * inverse), rest = i - q * by;
        return rest < 0 ? q - 1 : rest >= by ? q + 1 : q;
    }
    __device__ __forceinline__ int64_t rest(int64_t i) const {
        return i - of(i) * by;
    }
};

} // namespace stencil
