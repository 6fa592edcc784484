/* A point set as device code sees it: everything is known at compile time, so loops over points unroll into
 * straight lines of fma. The streaming axis is the one a thread walks along (y in 2D, z in 3D), the cross
 * axis is the other one that is not x (none in 2D). */
#ifndef STENCIL_KERNELS_POINTS_CUH
#define STENCIL_KERNELS_POINTS_CUH

#include "kernels/points.h"

namespace stencil {

template <int Rank, stencil_rule Rule, int Radius> struct points {
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
    /* How far a row at this cross offset ever reaches along x while the stream passes it. */
    __host__ __device__ static constexpr int reach(int cross_offset) {
        int widest = -1;
        for (int m = -Radius; m <= Radius; m++)
            widest = row_reach(m, cross_offset) > widest ? row_reach(m, cross_offset) : widest;
        return widest;
    }
    /* Farthest streaming offset at which rows of this cross offset are read (the shapes are symmetric). */
    __host__ __device__ static constexpr int ahead(int cross_offset) {
        int farthest = -1;
        for (int m = 0; m <= Radius; m++)
            if (row_reach(m, cross_offset) >= 0)
                farthest = m;
        return farthest;
    }
    /* The same for the cells beside the thread's own along x: a star reads them of the middle row only. */
    __host__ __device__ static constexpr int ahead_sides(int cross_offset) {
        int farthest = -1;
        for (int m = 0; m <= Radius; m++)
            if (row_reach(m, cross_offset) > 0)
                farthest = m;
        return farthest;
    }
};

} // namespace stencil
#endif
