/* The choice of the tiles that a block makes, for all sweeps. */
#pragma once

#include "kernels/sweep.h"

namespace stencil {

/* A tile, given by its indices among the tiles of the launch. */
struct tile_place {
    uint32_t z, y, x;
};

__device__ __forceinline__ tile_place tile_at(const stencil_kernel_args &s, uint32_t t) {
    const uint32_t cx = s.tile_count[STENCIL_X], cy = s.tile_count[STENCIL_Y], row = t / cx;
    return {row / cy, row % cy, t % cx};
}

/* Division of numbers below 2^31 as a multiplication (Granlund and Montgomery, PLDI 1994): with 2^s >= d and
 * m = ceil(2^(31 + s) / d) = (2^(31 + s) + e) / d, e < d, n m / 2^(31 + s) is larger than n / d by
 * n e / (2^(31 + s) d) < 1 / d, and so has the same whole part. */
struct divisor {
    uint32_t factor, shift;

    __device__ __forceinline__ static divisor of(uint32_t d) {
        const uint32_t shift = 31 + (d > 1 ? 32 - __clz(d - 1) : 0);
        return {(uint32_t)(((1ull << shift) + d - 1) / d), shift};
    }
    __device__ __forceinline__ uint32_t quotient(uint32_t n) const {
        return (uint32_t)((uint64_t)n * factor >> shift);
    }
};

/* The tiles of a block, and divisors to locate them, computed once for all steps: divisions take longer than
 * a small tile. The tiles are first, first + gridDim.x … last, so that all blocks work along one wavefront;
 * odd steps visit them in reverse order, since what the previous step wrote last is still in L2. */
struct tile_start {
    uint32_t first, last, count;
    tile_place place[2]; /* indices of the tile visited first in even and in odd steps */
    divisor by_x, by_y;  /* divide by the number of tiles along x and y */
};

__device__ __forceinline__ tile_start start_of(const stencil_kernel_args &s) {
    const uint32_t tiles = s.tile_count[0] * s.tile_count[1] * s.tile_count[2], first = blockIdx.x;
    const uint32_t count = first < tiles ? (tiles - 1 - first) / gridDim.x + 1 : 0;
    const uint32_t last = first + (count - 1) * gridDim.x;
    return {first,
            last,
            count,
            {tile_at(s, first), tile_at(s, last)},
            divisor::of(s.tile_count[STENCIL_X]),
            divisor::of(s.tile_count[STENCIL_Y])};
}

/* Returns what tile_at() does, for persistent loops: the two integer divisions of tile_at() take some 100
 * cycles. */
__device__ __forceinline__ tile_place persistent_tile_at(const stencil_kernel_args &s,
                                                         const tile_start &start, uint32_t t) {
    const uint32_t row = start.by_x.quotient(t), z = start.by_y.quotient(row);
    return {z, row - z * s.tile_count[STENCIL_Y], t - row * s.tile_count[STENCIL_X]};
}

/* Updates the tile of block `block` in a launch for one step. */
template <class Sweep, bool Check>
__device__ __forceinline__ void launched_step(const stencil_kernel_args &s, uint32_t block, int from,
                                              double *partial) {
    const uint32_t last = s.tile_count[0] * s.tile_count[1] * s.tile_count[2] - 1;
    Sweep::template tile<Check>(s, tile_at(s, from ? last - block : block), from, partial);
}

/* Updates all tiles of this block in one step of a persistent loop. */
template <class Sweep, bool Check>
__device__ __forceinline__ void persistent_step(const stencil_kernel_args &s, const tile_start &start,
                                                int from, double *partial) {
    tile_place t = start.place[from];
    uint32_t i = from ? start.last : start.first;
    for (uint32_t left = start.count; left > 0;) {
        Sweep::template tile<Check>(s, t, from, partial);
        if (--left == 0)
            break;
        i = from ? i - gridDim.x : i + gridDim.x;
        t = persistent_tile_at(s, start, i);
    }
}

} // namespace stencil
