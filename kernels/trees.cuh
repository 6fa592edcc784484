/* Several sums over the lanes of a warp at once, in the order of the residual (kernels/residual.h). */
#pragma once

#include "kernels/residual.cuh"

namespace stencil {

__device__ __forceinline__ uint32_t lane() {
    return threadIdx.x & 31;
}

/* Sums `Count` values over `Lanes` adjacent lanes each, in the order of combine_lanes(). Pairs of lanes
 * combine two different values, not one value twice, so that all sums cost hardly more than one. which()
 * tells the number of the value that a lane ends with; Count is at most `Lanes`. */
template <int Count, int Lanes> struct lane_trees {
    static_assert(Count <= Lanes, "");
    template <int Step = 1, int Left = Count>
    __device__ __forceinline__ static double combine_all(const double (&value)[Left], stencil_norm norm) {
        const bool second = (lane() & Step) != 0;
        double half[(Left + 1) / 2];
#pragma unroll
        for (int i = 0; i < Left; i += 2) {
            const double a = value[i], b = i + 1 < Left ? value[i + 1] : a;
            half[i / 2] = combine(second ? b : a, __shfl_xor_sync(~0u, second ? a : b, Step), norm);
        }
        if constexpr (2 * Step < Lanes)
            return combine_all<2 * Step>(half, norm);
        else
            return half[0];
    }
    /* Returns the number of the value that this lane ends with. */
    __device__ __forceinline__ static int which() {
        int at = 0;
#pragma unroll
        for (int step = Lanes / 2; step > 0; step /= 2)
            at = min(2 * at + ((lane() & step) != 0), (Count + step - 1) / step - 1);
        return at;
    }
};

} // namespace stencil
