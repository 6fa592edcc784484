/* Tools of a thread that updates cells: point sets that are known at compile time, so that loops over points
 * unroll into sequences of fma, and 16-byte accesses with the same names for float and double. */
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/ptx.cuh"
#include "kernels/term.cuh"

namespace stencil {

/* Calls f(integral_constant) for First, First + 1 ... Last - 1: a loop whose counter is a constant in each
 * iteration. */
template <int First, class F, int... I>
__device__ __forceinline__ void call_each(std::integer_sequence<int, I...>, F f) {
    (f(std::integral_constant<int, First + I>()), ...);
}
template <int First, int Last, class F> __device__ __forceinline__ void for_constants(F f) {
    call_each<First>(std::make_integer_sequence<int, Last - First>(), f);
}

/* Calls f(i) for 0 ... Count - 1 in an unrolled loop, for arrays that a thread keeps in registers. With more
 * counts it calls f(i, j) and f(i, j, k), where the last index changes first. For iterations without
 * branches: around branches compilers make slower code of it than of a plain loop. */
template <int Count, class F> __device__ __forceinline__ void unrolled(F f) {
#pragma unroll
    for (int i = 0; i < Count; i++)
        f(i);
}
template <int Count, int Next, int... More, class F> __device__ __forceinline__ void unrolled(F f) {
#pragma unroll
    for (int i = 0; i < Count; i++)
        unrolled<Next, More...>([&](auto... j) { f(i, j...); });
}

/* A point set. The streaming axis is the one that a thread walks along (y in 2D, z in 3D); the cross axis is
 * the remaining axis besides x (none in 2D). */
template <int Rank, stencil_rule Rule, int Radius> struct points {
    static constexpr stencil_rule rule = Rule;
    static constexpr int rank = Rank, radius = Radius, radius_z = Rank == 3 ? Radius : 0, cross = radius_z;

    __host__ __device__ static constexpr bool has(int dz, int dy, int dx) {
        return stencil_rule_contains(Rule, Radius, dz, dy, dx);
    }

    /* Returns the number of points before (dz, dy, dx) in ascending order, which is the index of (dz, dy, dx)
     * if that is a point. */
    __host__ __device__ static constexpr int number(int dz, int dy, int dx) {
        int before = 0;
        for (int z = -radius_z; z <= radius_z; z++)
            for (int y = -Radius; y <= Radius; y++)
                for (int x = -Radius; x <= Radius; x++)
                    before += has(z, y, x) && (z < dz || (z == dz && (y < dy || (y == dy && x < dx))));
        return before;
    }
    static constexpr int count = number(Radius + 1, 0, 0);
    /* Calls f(k, dz, dy, dx) for all points k in ascending order. */
    template <class F> __device__ __forceinline__ static void each(F f) {
        int k = 0;
#pragma unroll
        for (int dz = -radius_z; dz <= radius_z; dz++)
#pragma unroll
            for (int dy = -Radius; dy <= Radius; dy++)
#pragma unroll
                for (int dx = -Radius; dx <= Radius; dx++)
                    if (has(dz, dy, dx))
                        f(k++, dz, dy, dx);
    }

    __host__ __device__ static constexpr bool contains(int stream, int cross_offset, int dx) {
        return Rank == 3 ? has(stream, cross_offset, dx) : has(0, stream, dx);
    }
    /* Returns the largest |dx| of the points in row (stream, cross); -1: the row has none. */
    __host__ __device__ static constexpr int row_reach(int stream, int cross_offset) {
        int reach = -1;
        for (int dx = 0; dx <= Radius; dx++)
            if (contains(stream, cross_offset, dx))
                reach = dx;
        return reach;
    }
    /* Returns the farthest streaming offset at which rows of this cross offset are read at least `beside`
     * cells away along x from the thread's cells (the shapes are symmetric); -1: none. A star reads such
     * cells in the middle row only. */
    __host__ __device__ static constexpr int ahead(int cross_offset, int beside) {
        int farthest = -1;
        for (int m = 0; m <= Radius; m++)
            if (row_reach(m, cross_offset) >= beside)
                farthest = m;
        return farthest;
    }
};

/* The point set of a name in stencils.def. */
template <stencil_shape_id Id> struct points_of;
#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                 \
    template <> struct points_of<STENCIL_SHAPE_##name> { using type = points<rank, STENCIL_##rule, radius>; };
#include "kernels/stencils.def"
template <stencil_shape_id Id> using named_points = typename points_of<Id>::type;

/* Calls f(a value of the precision's type, true_type for general problems or false_type), to choose
 * templates. */
template <class F> auto with_kind(stencil_precision precision, bool general, F f) {
    if (precision == STENCIL_FLOAT64)
        return general ? f(double(), std::true_type()) : f(double(), std::false_type());
    return general ? f(float(), std::true_type()) : f(float(), std::false_type());
}

template <class T> constexpr int vector_cells = 16 / sizeof(T);

} // namespace stencil
