/* The checked step of the resident sweep in 2D. While a warp makes it, it sums the residual of its rows in
 * nodes of STENCIL_NODE_CELLS cells (kernels/sweeps/resident.h), from the cells that it has in registers
 * before and after the step, and keeps a copy of the new cells, as lanes hold them: if the verdict ends the
 * run, they are its result. Tiles that overlap write the same bits.
 *
 * What is executed once in a hundred steps has to be fetched from L2. Where cells fill the registers, a warp
 * has so many rows that this takes longer than to execute it. So the checked step is there a loop over rows,
 * with the code of one row; only what moves a row between the loop and its registers is there once for each
 * row. Elsewhere it is the step that is made between checks, with an observer. */
#pragma once

#include "kernels/sweeps/resident_exchange.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape, bool Classed>
struct resident_nodes : resident_exchange<P, T_, General, Shape, Classed> {
    using base = resident_exchange<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::K, base::R, base::radius, base::width, base::place, base::lane, base::warp, base::warps,
        base::c, base::in_memory, base::register_of;
    using typename base::ways, typename base::rows_of_step;
    static constexpr int node = STENCIL_NODE_CELLS, nodes_of_lane = (K + node - 1) / node;
    static_assert(node == 4 && (!base::full || base::registers > 3 * radius + 1), "");

    /* The lane's cells in the copy of the tile. */
    __device__ __forceinline__ static T *kept_cells(const stencil_resident &r) {
        const int64_t warps_before = (int64_t)blockIdx.x * warps() + warp();
        return static_cast<T *>(r.kept) + warps_before * (R * K * 32) + lane();
    }

    /* The data with which a lane sums nodes, and copies its rows, in a step. */
    struct summing {
        T was[radius][K]; /* the last rows before the step, if it is seen by an observer */
        stencil_norm norm;
        T *kept;
        double *nodes;      /* the lane's first node, in row 0 of the warp */
        int row_nodes;      /* nodes from row to row */
        uint32_t rows;      /* a bit for each row of the warp whose cells are valid and in the part */
        int skip;           /* cells of the lane that belong to a node which begins in the lane before */
        uint32_t has_cells; /* a bit for each cell of the lane that the field has */
        int has;            /* a bit for each node of the lane that is valid */

        /* Returns a bit for each node of row `row` of the warp that is valid. */
        __device__ __forceinline__ int valid_in(int row) const {
            return (unsigned)row < (unsigned)R && (rows >> (row & 31) & 1) != 0 ? has : 0;
        }
        /* Keeps the new cells of a row. */
        __device__ __forceinline__ void keep_row(int row, const T (&now)[K]) const {
            T *const copy = kept + row * (K * 32);
#pragma unroll
            for (int v = 0; v < K; v++)
                copy[v * 32] = now[v];
        }
        /* Observe a step (resident_tile::step()). A bit of `fixed` for each cell of the lane that keeps its
         * value. */
        template <int M> __device__ __forceinline__ void old(const T *row) {
#pragma unroll
            for (int v = 0; v < K; v++)
                was[M % radius][v] = row[v];
        }
        template <int M> __device__ __forceinline__ void made(const T (&now)[K], uint32_t fixed) {
            keep_row(M, now);
            if (norm == STENCIL_NORM_L2)
                sum_made<STENCIL_NORM_L2, M>(now, fixed);
            else
                sum_made<STENCIL_NORM_MAX, M>(now, fixed);
        }
        template <stencil_norm Norm, int M>
        __device__ __forceinline__ void sum_made(const T (&now)[K], uint32_t fixed) const {
            double term[K];
            find_terms<Norm>(term, now, was[M % radius], has_cells & ~fixed);
            sum<Norm>(term, valid_in(M), nodes + M * (int64_t)row_nodes);
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
        /* Finds the terms of a row's cells; those without a bit in `counted` have the term 0. */
        template <stencil_norm Norm>
        __device__ __forceinline__ static void find_terms(double (&term)[K], const T (&now)[K],
                                                          const T (&before)[K], uint32_t counted) {
#pragma unroll
            for (int v = 0; v < K; v++) {
                const double change = residual_term(now[v], before[v], Norm);
                term[v] = counted >> v & 1 ? change : 0.0;
            }
        }
        /* Stores the nodes `valid` of a row, whose terms are given. The terms of the lane and the first ones
         * of the next lane are put together in pairs that begin at even columns, and these to nodes, so that
         * few values are selected or shuffled. */
        template <stencil_norm Norm>
        __device__ __forceinline__ void sum(const double (&own)[K], int valid, double *to) const {
            constexpr int pairs = (K + 1) / 2; /* pairs that may begin in the lane */
            const bool odd = (skip & 1) != 0, later = (skip & 2) != 0;
            double term[K + 1], pair[pairs + 1];
#pragma unroll
            for (int v = 0; v < K; v++)
                term[v] = own[v];
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
        to.skip = -x & (node - 1);
        to.has_cells = (1u << max(min((int)d.n[STENCIL_X] - x, K), 0)) - 1;
        to.has = valid_nodes(d, x, to.skip, steps);
        to.norm = s.schedule.norm;
        to.row_nodes = across * STENCIL_PARTIAL_NODES;
        to.nodes = s.resident.nodes + y * (int64_t)to.row_nodes + (x + to.skip) / node;
    }
    /* Reads old row m, from -radius to R + radius - 1, seen from the warp's first one. ahead: the row, if it
     * is in registers in other steps. */
    __device__ __forceinline__ void read_row(int m, T (&row)[K + 2 * radius], const rows_of_step &rows,
                                             const ways &w, const T (&ahead)[K]) const {
        if (m < 0 || m >= R || base::is_in_memory(m)) {
            const T *const at = m < 0    ? rows.over + (m + radius) * (General ? w.over_row : width)
                                : m >= R ? rows.under + (m - R) * (General ? w.under_row : width)
                                         : base::memory_row(m, {const_cast<T *>(rows.own), rows.mixed});
#pragma unroll
            for (int v = 0; v < K; v++)
                row[radius + v] = at[v * 32];
        } else {
#pragma unroll
            for (int v = 0; v < K; v++)
                row[radius + v] = ahead[v];
        }
#pragma unroll
        for (int k = 1; k <= radius; k++) {
            row[radius - k] = __shfl_up_sync(~0u, row[radius + K - k], 1);
            row[radius + K - 1 + k] = __shfl_down_sync(~0u, row[radius + k - 1], 1);
        }
    }
    /* Adds the points of `row`, which is Dy rows below row `to`, to the sums of row `to`, which may be beyond
     * the warp's rows. */
    template <int Dy, class At>
    __device__ __forceinline__ static void add_to(T (&sum)[K], const T (&row)[K + 2 * radius], const ways &w,
                                                  int to, At at) {
        const bool inside = (unsigned)to < (unsigned)R;
        base::template add<Dy>(sum, row, w.weights, to, at);
        if (General && Dy == radius && inside)
            base::add_source(sum, w, to, at);
    }
    /* Gives cells of a row that keep their values, and those beyond a side, their values. */
    __device__ __forceinline__ static void finish_row(T (&now)[K], const T (&was)[K],
                                                      const rows_of_step &rows, uint32_t fixed) {
#pragma unroll
        for (int v = 0; v < K; v++) {
            const bool side = (v < radius && rows.kept[0]) || (v >= K - radius && rows.kept[1]);
            now[v] = side || (Classed && (fixed >> v & 1) != 0) ? was[v] : now[v];
        }
        base::mirror_row(now, rows);
    }
    /* Returns what finds the element of the field at a row of the warp and a cell of the lane. */
    __device__ __forceinline__ static auto elements(const stencil_domain &d) {
        return [&d](int row, int v) {
            return base::in_field(d, 0, radius + warp() * R + row) * d.row +
                   base::in_field(d, 1, lane() * K + v);
        };
    }
    /* Returns the warp's weights of the steps that follow, of which the pass has made `made`: those of a
     * class are the same in all steps. */
    __device__ __forceinline__ static typename base::step_weights weights_after(const stencil_kernel_args &s,
                                                                                int made) {
        const int of = base::only_class();
        if (of > 0)
            return {base::cells(place().memory.table) + of * stencil_resident_of_class(P::count), &s.domain};
        if constexpr (General)
            return {base::cells(place().memory.weights) + made * base::step_weights::count, &s.domain};
        else
            return weights_of<T>(s.domain);
    }
    /* Stores the rows in registers in the copy. */
    __device__ __forceinline__ void keep(T *kept) const {
        constexpr int of_row = K;
        for_constants<0, R>([&](auto j) {
            constexpr int J = decltype(j)::value;
            if constexpr (!base::in_memory(J))
#pragma unroll
                for (int v = 0; v < of_row; v++)
                    kept[(J * of_row + v) * 32] = this->c[base::register_of(J)][v];
        });
    }
    /* Makes the checked step of a pass, and sums its residual. buffer: the buffer of outer rows that it
     * reads. */
    __device__ __forceinline__ void step_and_sum(const stencil_kernel_args &s, int buffer) {
        summing sums;
        begin_sums(s, place().check.at, sums);
        ways w = base::find_ways(General && s.domain.b != nullptr, buffer);
        w.weights = weights_after(s, place().check.made);
        if constexpr (!base::full)
            this->step(w, elements(s.domain), sums);
        else if (s.schedule.norm == STENCIL_NORM_L2)
            loop_rows<STENCIL_NORM_L2>(s, w, sums);
        else
            loop_rows<STENCIL_NORM_MAX>(s, w, sums);
    }
    /* Goes down the rows. What an iteration does waits for its own results, so each sums the row that the one
     * before has made, while it makes another one. The copy has the rows that are in registers in between:
     * old ones first, and new ones as they are made. */
    template <stencil_norm Norm>
    __device__ __forceinline__ void loop_rows(const stencil_kernel_args &s, const ways &w,
                                              const summing &sums) {
        keep(sums.kept);
        T sum[2 * radius + 1][K], was[radius][K], ahead[K]; /* sums of the rows that the next old row is added
                                                                to; the last old rows; the next one */
        double term[K];                                     /* of the row made last */
        const auto at = elements(s.domain);
        const rows_of_step rows = base::find_rows_of_step(w);
        /* Values that go from row to row begin as cells, of which there is a copy. So ptxas puts them into
         * the registers of these cells; other values would be spilled, as registers that are free for a while
         * count as taken. */
        unrolled<K>([&](int v) {
            constexpr int first = 3 * radius;
#pragma unroll
            for (int i = 0; i < first; i++)
                (i < 2 * radius ? sum[i][v] : was[i - 2 * radius][v]) = c[i][v];
            ahead[v] = c[first][v], term[v] = c[first + 1][v];
        });
#pragma unroll 1
        for (int m = -radius; m <= R + radius; m++) {
            T row[K + 2 * radius];
            const int to = m - radius, next = m + 1;
            const bool inside = (unsigned)to < (unsigned)R;
            read_row(min(m, R + radius - 1), row, rows, w, ahead);
            if (next >= 0 && next < R && !base::is_in_memory(next))
                unrolled<K>([&](int v) { ahead[v] = __ldcg(sums.kept + (next * K + v) * 32); });
            sums.template sum<Norm>(term, sums.valid_in(to - 1),
                                    sums.nodes + (to - 1) * (int64_t)sums.row_nodes);
            for_constants<0, 2 * radius + 1>([&](auto i) {
                constexpr int I = decltype(i)::value;
                add_to<radius - I>(sum[I], row, w, to + I, at);
            });
            const uint32_t fixed = Classed && inside ? base::kept_bits(w, to) : 0;
            finish_row(sum[0], was[0], rows, fixed);
            sums.template find_terms<Norm>(term, sum[0], was[0], sums.has_cells & ~fixed);
            if (inside)
                sums.keep_row(to, sum[0]);
            if (inside && base::is_in_memory(to)) {
                T *const put = base::memory_row(to, {rows.next, rows.mixed});
                unrolled<K>([&](int v) { put[v * 32] = sum[0][v]; });
            }
            unrolled<K>([&](int v) {
#pragma unroll
                for (int i = 0; i < 2 * radius; i++)
                    sum[i][v] = sum[i + 1][v];
#pragma unroll
                for (int i = 0; i + 1 < radius; i++)
                    was[i][v] = was[i + 1][v];
                was[radius - 1][v] = row[radius + v];
            });
        }
        restore<false>(s, 0);
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
