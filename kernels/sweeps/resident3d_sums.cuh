/* The residual of a checked step of the resident sweep in 3D. */
#pragma once

#include "kernels/sweeps/resident3d_exchange.cuh"
#include "kernels/trees.cuh"

namespace stencil {

/* After a checked step a lane has its new cells in registers, and the old ones are still in shared memory, so
 * a tile sums the residual of its rows at once. A row is half of the 64 cells of a partial sum: the halves of
 * a partial sum go to the same place in both sets of partial sums, and are added when these are combined.
 * Tiles begin where halves do, but for the last one of a row, whose half begins inside. Tiles that overlap
 * write the same bits. */
template <class P, class T_, bool General, int Shape, bool Classed>
struct box_sums : box_exchange<P, T_, General, Shape, Classed> {
    using base = box_exchange<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::K, base::RY, base::RZ, base::lanes, base::place, base::lane_z, base::lane_y, base::lane_x;
    static constexpr int halves = lanes * K; /* cells of half a partial sum */
    static_assert(2 * halves == STENCIL_PARTIAL_CELLS && K == 2, "");
    using trees = lane_trees<RY, lanes>;

    /* Returns the index of the field at index `at` of the tile, wrapped around on a periodic axis. */
    __device__ __forceinline__ static int64_t in_field(const stencil_domain &d, int axis, int at) {
        const int n = (int)d.n[axis], i = place().first[axis] + at;
        if (stencil_side_is_closed(&d, axis, STENCIL_LOW))
            return i;
        const int rest = i % n;
        return rest < 0 ? rest + n : rest;
    }
    /* How the halves of a tile lie: the first cell of the tile's own half, counted from the tile's first
     * cell; cells of the half; where their sums go, in plane and row 0. */
    struct half_row {
        int shift, count;
        double *out;
    };
    __device__ __forceinline__ static half_row find_half(const stencil_domain &d) {
        const int half = place().at[2], begin = half * halves;
        return {begin - place().first[2], min((int)d.n[STENCIL_X] - begin, halves),
                d.partial + d.partial_first + half / 2 + (half % 2 != 0 ? d.partial_set : (int64_t)0)};
    }
    /* Sums the terms of the lane's rows of plane z. now(row, cell) returns a new cell; old: the first row of
     * old cells. */
    template <stencil_norm Norm, class Now>
    __device__ __forceinline__ static void sum_plane(const stencil_domain &d, const half_row &h, int z,
                                                     const T *old, Now now) {
        const bool odd = h.shift % 2 != 0;
        const int x = lane_x() * K;
        double value[RY];
        const uint32_t kept = Classed ? base::bits_of(z) : 0;
        for_constants<0, RY>([&](auto row) {
            constexpr int Y = decltype(row)::value;
            double term[K];
#pragma unroll
            for (int k = 0; k < K; k++)
                term[k] = Classed && (kept >> (Y * K + k) & 1) != 0
                              ? 0.0
                              : residual_term(now(row, k), old[Y * base::row_cells + base::slot(k)], Norm);
            if (h.shift != 0) {
                const double low = odd ? term[1] : term[0], high = odd ? term[0] : term[1];
                term[0] = __shfl_sync(~0u, low, lane_x() + h.shift / 2, lanes);
                term[1] = __shfl_sync(~0u, high, lane_x() + (h.shift + 1) / 2, lanes);
            }
#pragma unroll
            for (int k = 0; k < K; k++)
                term[k] = x + k < h.count ? term[k] : 0.0;
            value[Y] = combine(term[0], term[1], Norm);
        });
        const double sum = trees::combine_all(value, Norm);
        h.out[in_field(d, 0, lane_z() + z) * d.partial_plane +
              in_field(d, 1, lane_y() + trees::which()) * d.partial_row] = sum;
    }
    /* Sums the terms of the lane's rows where both old and new cells are in shared memory, `plane` cells from
     * plane to plane, in a loop that needs few registers. */
    template <stencil_norm Norm>
    __device__ __forceinline__ static void sum_planes(const stencil_domain &d, const T *old, const T *now,
                                                      int plane) {
        const half_row h = find_half(d);
#pragma unroll 1
        for (int z = 0; z < RZ; z++, old += plane, now += plane)
            sum_plane<Norm>(d, h, z, old, [&](auto row, int k) {
                return now[decltype(row)::value * base::row_cells + base::slot(k)];
            });
    }
    __device__ __forceinline__ static void sum_shared(const stencil_kernel_args &s, const T *old,
                                                      const T *now, int plane) {
        if (s.schedule.norm == STENCIL_NORM_L2)
            sum_planes<STENCIL_NORM_L2>(s.domain, old, now, plane);
        else
            sum_planes<STENCIL_NORM_MAX>(s.domain, old, now, plane);
    }
    /* Sums the terms of the lane's rows, with new cells from registers. */
    template <stencil_norm Norm>
    __device__ __forceinline__ void sum_registers(const stencil_domain &d, const T *old) const {
        const half_row h = find_half(d);
        for_constants<0, RZ>([&](auto plane) {
            constexpr int Z = decltype(plane)::value;
            sum_plane<Norm>(d, h, Z, old,
                            [&](auto row, int k) { return this->c[Z][decltype(row)::value][k]; });
            old += this->plane;
        });
    }
    /* Sums the terms of the tile's rows, after the step from the cells of exchange `number` and before new
     * cells are published. */
    __device__ __forceinline__ void sum_terms(const stencil_kernel_args &s, uint32_t number) {
        const T *const old = this->row_at(number, 0);
        if constexpr (base::twin) {
            if (!base::publishes)
                this->publish(number + 1);
            sum_shared(s, old, this->row_at(number + 1, 0), this->plane);
        } else if (s.schedule.norm == STENCIL_NORM_L2) {
            sum_registers<STENCIL_NORM_L2>(s.domain, old);
        } else {
            sum_registers<STENCIL_NORM_MAX>(s.domain, old);
        }
    }
};

} // namespace stencil
