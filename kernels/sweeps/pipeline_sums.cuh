/* The warps of a checked pass of the pipeline sweep that sum the residual of a step. */
#pragma once

#include "kernels/sweeps/pipeline_copies.cuh"
#include "kernels/trees.cuh"

namespace stencil {

template <class P, class T, stencil_pipeline_kind Kind> struct pipeline_sums : pipeline_copies<P, T, Kind> {
    using base = pipeline_copies<P, T, Kind>;
    using base::vector, base::width, base::sum_warps, base::rows, base::radius, base::levels, base::row_bytes,
        base::to_next;
    using typename base::line, typename base::piece, typename base::turn, typename base::beside_turn;

    /* Lanes that share a partial sum; partial sums of a warp's vectors; vectors of a lane in a row, and how
     * many of them are summed at a time, those of all rows of a slot together: a warp that sums waits for the
     * results of nearly each of its instructions. */
    static constexpr int lanes = STENCIL_PARTIAL_CELLS / vector, sums = 32 / lanes,
                         all = (width + 32 * vector - 1) / (32 * vector), most = 8 / rows,
                         rounds = (all + most - 1) / most, vectors = (all + rounds - 1) / rounds;
    using trees = lane_trees<rows * vectors, lanes>;

    /* Makes partial sums of round `round` of a slot's rows of `count` cells, of rows begin … end - 1 of them;
     * `now` and before[] are addresses of new and old cells, partial_row is the distance from the sums of a
     * row to those of the next. Called by a warp. */
    template <stencil_norm Norm>
    __device__ __forceinline__ static void sum_slot(uint32_t now, const uint32_t (&before)[rows], int begin,
                                                    int end, int count, int round, double *partial,
                                                    int64_t partial_row) {
        double value[rows * vectors];
#pragma unroll
        for (int k = 0; k < vectors; k++) {
            const int x = (32 * (round * vectors + k) + (int)lane()) * vector;
            const uint32_t at = (uint32_t)min(x, (count - 1) / vector * vector) * (uint32_t)sizeof(T);
#pragma unroll
            for (int b = 0; b < rows; b++) {
                T cell[vector], old[vector];
                double term[vector];
                load_shared_vector(now + b * row_bytes + at, cell);
                load_shared_vector(before[b] + at, old);
#pragma unroll
                for (int v = 0; v < vector; v++)
                    term[v] = x + v < count ? residual_term(cell[v], old[v], Norm) : 0.0;
                value[b * vectors + k] = combine_terms<vector>(term, Norm);
            }
        }
        const double sum = trees::combine_all(value, Norm);
        const int which = trees::which(), b = which / vectors,
                  number = (round * vectors + which - b * vectors) * sums + (int)lane() / lanes;
        if (b >= begin && b < end && number * STENCIL_PARTIAL_CELLS < count)
            partial[b * partial_row + number] = sum;
    }
    /* Sums the residual of the rows that the line stores: of every sum_warps-th slot, from number `share` on;
     * called by a warp. */
    template <stencil_norm Norm>
    __device__ __forceinline__ static void sum_rows_by(const stencil_kernel_args &s, const line &l,
                                                       uint32_t ring, int share) {
        turn u(ring, l.check_stage + 1, 0);
        beside_turn old(ring, 0);
        int others = share; /* slots of other warps before the next one of this warp */
        base::template walk<true>(l, [&](const piece &p) {
            const uint32_t column = (p.k0 - (p.x - (p.x & (vector - 1)))) * (uint32_t)sizeof(T);
            const int count = p.k1 - p.k0;
            const int64_t row = s.domain.partial_row;
            const int first = p.from - radius * levels * (l.check_stage + 1); /* row that is summed first */
            double *partial =
                s.domain.partial + s.domain.partial_first + first * row + p.k0 / STENCIL_PARTIAL_CELLS;
            int y = first - p.y0; /* the slot's first row, counted from the first stored row */
            const int kept = p.y1 - p.y0;
#pragma unroll 1
            for (int left = p.count; left > 0; left -= rows, u.next(), y += rows, partial += rows * row) {
                const bool mine = others == 0;
                others = mine ? sum_warps - 1 : others - 1;
                uint32_t before[rows];
#pragma unroll
                for (int b = 0; b < rows; b++, old.next())
                    before[b] = old.before(radius) + column;
                if (mine)
                    wait_warp(u.barrier, u.parity);
#pragma unroll 1
                for (int round = 0; mine && y + rows > 0 && y < kept && round < rounds; round++)
                    sum_slot<Norm>(u.slot + column, before, -y, kept - y, count, round, partial, row);
                if (mine)
                    arrive(u.barrier + to_next);
            }
        });
    }
    __device__ __forceinline__ static void sum_rows(const stencil_kernel_args &s, const line &l,
                                                    uint32_t ring, int share) {
        if (s.schedule.norm == STENCIL_NORM_L2)
            sum_rows_by<STENCIL_NORM_L2>(s, l, ring, share);
        else
            sum_rows_by<STENCIL_NORM_MAX>(s, l, ring, share);
    }
};

} // namespace stencil
