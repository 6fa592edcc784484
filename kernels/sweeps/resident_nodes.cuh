/* The checked step of the resident sweep in 2D. While a warp makes it, it sums the residual of its rows in
 * nodes of STENCIL_NODE_CELLS cells (kernels/sweeps/resident.h), from the cells that it has in registers
 * before and after the step, and keeps a copy of the new cells, as lanes hold them: if the verdict ends the
 * run, they are its result. Tiles that overlap write the same bits. */
#pragma once

#include "kernels/sweeps/resident_exchange.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape, bool Classed>
struct resident_nodes : resident_exchange<P, T_, General, Shape, Classed> {
    using base = resident_exchange<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::K, base::R, base::radius, base::width, base::place, base::lane, base::warp, base::warps;
    static constexpr int node = STENCIL_NODE_CELLS, nodes_of_lane = (K + node - 1) / node;
    static_assert(node == 4, "");

    /* The lane's cells in the copy of the tile. */
    __device__ __forceinline__ static T *kept_cells(const stencil_resident &r) {
        const int64_t warps_before = (int64_t)blockIdx.x * warps() + warp();
        return static_cast<T *>(r.kept) + warps_before * (R * K * 32) + lane();
    }

    /* What a lane needs to sum nodes, and to copy its rows, in a step (resident_tile::step()). */
    struct summing {
        T was[radius][K]; /* the last rows before the step */
        T *kept;
        double *nodes; /* the lane's first node, in row 0 of the warp */
        int row_nodes; /* nodes from row to row */
        uint32_t rows; /* a bit for each row of the warp whose cells are valid and in the part */
        int skip;      /* cells of the lane that belong to a node which begins in the lane before */
        int cells;     /* cells of the lane and of lanes after it that the field has */
        int has;       /* a bit for each node of the lane that is valid */
        bool cut;      /* a lane of the warp has fewer cells, or cells that keep their values */
        stencil_norm norm;

        template <int M> __device__ __forceinline__ void old(const T *row) {
#pragma unroll
            for (int v = 0; v < K; v++)
                was[M % radius][v] = row[v];
        }
        /* A bit of `fixed` for each cell of the lane that keeps its value: it has the term 0. */
        template <int M> __device__ __forceinline__ void made(const T (&now)[K], uint32_t fixed) {
#pragma unroll
            for (int v = 0; v < K; v++)
                kept[(M * K + v) * 32] = now[v];
            const int valid = (rows >> M & 1) != 0 ? has : 0;
            if (norm == STENCIL_NORM_L2)
                sum<STENCIL_NORM_L2>(now, was[M % radius], fixed, valid, nodes + M * (int64_t)row_nodes);
            else
                sum<STENCIL_NORM_MAX>(now, was[M % radius], fixed, valid, nodes + M * (int64_t)row_nodes);
        }
        /* Returns the value that the next lane has; 0 in the last lane, as a node that is valid has no cell
         * beyond the tile. */
        __device__ __forceinline__ static double of_next_lane(double value) {
            const double next = __shfl_down_sync(~0u, value, 1);
            return lane() < 31 ? next : 0.0;
        }
        /* Combines terms or sums of them, none of which is negative, in few instructions: a NaN has the
         * greatest bits, whatever its sign, which abs leaves open; later combinations make it NAN. */
        template <stencil_norm Norm>
        __device__ __forceinline__ static double combine_two(double a, double b) {
            if (Norm == STENCIL_NORM_L2)
                return combine(a, b, Norm);
            return (uint64_t)__double_as_longlong(a) > (uint64_t)__double_as_longlong(b) ? a : b;
        }
        /* Combines values `at` and at + 1 or, if `shifts`, those one further on where there are any. */
        template <stencil_norm Norm, int Count>
        __device__ __forceinline__ static double combine_at(const double (&value)[Count], int at,
                                                            bool shifts) {
            double low = value[at], high = value[at + 1];
            if (at + 2 < Count) {
                low = shifts ? value[at + 1] : low;
                high = shifts ? value[at + 2] : high;
            }
            return combine_two<Norm>(low, high);
        }
        /* Stores the valid nodes of a row. The terms of the lane and the first ones of the next lane are put
         * together in pairs that begin at even columns, and these to nodes, so that few values are selected
         * or shuffled: the loop has this code once for each row, and has to fit into the instruction cache.
         */
        template <stencil_norm Norm>
        __device__ __forceinline__ void sum(const T (&now)[K], const T (&old)[K], uint32_t fixed, int valid,
                                            double *to) const {
            constexpr int pairs = (K + 1) / 2; /* pairs that may begin in the lane */
            const bool odd = (skip & 1) != 0, later = (skip & 2) != 0;
            double term[K + 1], pair[pairs + 1];
#pragma unroll
            for (int v = 0; v < K; v++)
                term[v] = residual_term(now[v], old[v], Norm);
            if (cut)
#pragma unroll
                for (int v = 0; v < K; v++)
                    term[v] = v < cells && (fixed >> v & 1) == 0 ? term[v] : 0.0;
            term[K] = of_next_lane(term[0]);
#pragma unroll
            for (int i = 0; i < pairs; i++)
                pair[i] = combine_at<Norm>(term, 2 * i, odd);
            pair[pairs] = of_next_lane(pair[0]);
            /* Of an odd number of cells, no pair begins at the last one if the first one is odd. */
            if (K % 2 != 0)
                pair[pairs - 1] = odd ? pair[pairs] : pair[pairs - 1];
#pragma unroll
            for (int i = 0; i < nodes_of_lane; i++) {
                const double value = combine_at<Norm>(pair, 2 * i, later);
                if (valid >> i & 1)
                    to[i] = value;
            }
        }
    };

    /* Returns a bit for each node that begins in the lane and whose cells are in the field and, after `steps`
     * steps since the last exchange, valid. x: the field's column of the lane's first cell. */
    __device__ __forceinline__ static int valid_nodes(const stencil_domain &d, int x, int skip, int steps) {
        const int n = (int)d.n[STENCIL_X], left = place().closed[1][0] ? radius : radius * steps,
                  right = width - (place().closed[1][1] ? radius : radius * steps);
        int has = 0;
#pragma unroll
        for (int i = 0; i < nodes_of_lane; i++) {
            const int at = skip + node * i, first = lane() * K + at,
                      last = min(first + node, n - place().first[1]);
            has |= (at < K && x + at >= 0 && x + at < n && first >= left && last <= right) << i;
        }
        return has;
    }
    /* Prepares to sum step `steps` after the last exchange. */
    __device__ __forceinline__ static void begin_sums(const stencil_kernel_args &s, int steps, summing &to) {
        const stencil_domain &d = s.domain;
        const int row = radius + warp() * R, high = place().rows + 2 * radius,
                  top = place().closed[0][0] ? radius : radius * steps,
                  bottom = high - (place().closed[0][1] ? radius : radius * steps),
                  y = place().first[0] + row, x = place().first[1] + lane() * K,
                  across = (int)((d.n[STENCIL_X] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS);
        to.kept = kept_cells(s.resident);
        const int begin = max(max(top - row, -y), 0),
                  end = min(min(bottom - row, (int)d.n[STENCIL_Y] - y), R);
        to.rows = begin < end ? (uint32_t)((1ull << end) - (1ull << begin)) : 0;
        to.skip = -x & (node - 1), to.cells = (int)d.n[STENCIL_X] - x;
        to.has = valid_nodes(d, x, to.skip, steps);
        to.cut = __any_sync(~0u, Classed || to.cells < K);
        to.row_nodes = across * STENCIL_PARTIAL_NODES;
        to.nodes = s.resident.nodes + y * (int64_t)to.row_nodes + (x + to.skip) / node;
        to.norm = s.schedule.norm;
    }
    /* Loads the warp's rows in registers (all: and in shared memory) from the copy that a checked step has
     * kept. buffer: the buffer of outer rows that the next step reads. */
    template <bool All> __device__ __forceinline__ void restore(const stencil_kernel_args &s, int buffer) {
        const auto rows = base::find_rows(warp(), buffer, lane());
        const T *const kept = kept_cells(s.resident);
        constexpr int of_row = K;
        for_constants<0, R>([&](auto j) {
            constexpr int J = decltype(j)::value;
            if constexpr (All || !base::in_memory(J))
#pragma unroll
                for (int v = 0; v < of_row; v++)
                    this->template cell<J>(v, rows) = __ldcg(kept + (J * of_row + v) * 32);
        });
    }
};

} // namespace stencil
