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
template <class P, class T_, bool General, int Shape> struct box_sums : box_exchange<P, T_, General, Shape> {
    using base = box_exchange<P, T_, General, Shape>;
    using T = T_;
    using base::K, base::RY, base::RZ, base::lanes, base::place, base::lane_z, base::lane_y, base::lane_x;
    static constexpr int halves = lanes * K; /* cells of half a partial sum */
    static_assert(2 * halves == STENCIL_PARTIAL_CELLS && K == 2, "");
    static constexpr int at_once = RY * RZ < lanes ? RY * RZ : lanes; /* rows whose sums share shuffles */
    using trees = lane_trees<at_once, lanes>;

    /* Returns the index of the field at index `at` of the tile, wrapped around on a periodic axis. */
    __device__ __forceinline__ static int64_t in_field(const stencil_domain &d, int axis, int at) {
        const int n = (int)d.n[axis], i = place().first[axis] + at;
        if (stencil_side_is_closed(&d, axis, STENCIL_LOW))
            return i;
        const int rest = i % n;
        return rest < 0 ? rest + n : rest;
    }
    /* Sums the terms of the tile's rows, after the step from the cells of exchange `number` and before new
     * cells are published. */
    template <stencil_norm Norm>
    __device__ __forceinline__ void sum_by(const stencil_domain &d, uint32_t number) const {
        const int half = place().at[2], begin = half * halves, shift = begin - place().first[2],
                  count = min((int)d.n[STENCIL_X] - begin, halves), x = lane_x() * K;
        const bool odd = shift % 2 != 0;
        const T *const from = this->row_at(number, 0);
        double *const out =
            d.partial + d.partial_first + half / 2 + (half % 2 != 0 ? d.partial_set : (int64_t)0);
        for_constants<0, RY * RZ / at_once>([&](auto batch) {
            constexpr int first = decltype(batch)::value * at_once;
            double value[at_once];
            for_constants<0, at_once>([&](auto v) {
                constexpr int row = first + decltype(v)::value, Z = row / RY, Y = row % RY;
                const T *const old = from + Z * this->plane + Y * base::row_cells;
                double term[K];
#pragma unroll
                for (int k = 0; k < K; k++)
                    term[k] = residual_term(this->c[Z][Y][k], old[base::slot(k)], Norm);
                if (shift != 0) {
                    const double low = odd ? term[1] : term[0], high = odd ? term[0] : term[1];
                    term[0] = __shfl_sync(~0u, low, lane_x() + shift / 2, lanes);
                    term[1] = __shfl_sync(~0u, high, lane_x() + (shift + 1) / 2, lanes);
                }
#pragma unroll
                for (int k = 0; k < K; k++)
                    term[k] = x + k < count ? term[k] : 0.0;
                value[decltype(v)::value] = combine(term[0], term[1], Norm);
            });
            const double sum = trees::combine_all(value, Norm);
            const int row = first + trees::which();
            out[in_field(d, 0, lane_z() + row / RY) * d.partial_plane +
                in_field(d, 1, lane_y() + row % RY) * d.partial_row] = sum;
        });
    }
    __device__ __forceinline__ void sum_terms(const stencil_kernel_args &s, uint32_t number) const {
        if (s.schedule.norm == STENCIL_NORM_L2)
            sum_by<STENCIL_NORM_L2>(s.domain, number);
        else
            sum_by<STENCIL_NORM_MAX>(s.domain, number);
    }
};

} // namespace stencil
