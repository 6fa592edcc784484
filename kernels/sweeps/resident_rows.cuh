/* Steps of the resident sweep in 2D of warps some of whose cells have weights of their own. Code for such
 * cells in each of a warp's rows would be ten times what the instruction cache holds, so the rows are in
 * shared memory during a pass, and a step is a loop with the code of one row. */
#pragma once

#include <climits>

#include "kernels/sweeps/resident_nodes.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape, bool Classed>
struct resident_rows : resident_nodes<P, T_, General, Shape, Classed> {
    using base = resident_nodes<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::K, base::R, base::radius, base::width, base::place, base::cells, base::lane, base::warp;
    using typename base::ways, typename base::rows_of_step;
    /* Tells whether shared memory has room for all rows of a tile in addition. */
    static constexpr bool has_rows = General && Classed && !base::mixed;

    /* Tells whether the warp makes its steps that way. */
    __device__ __forceinline__ static bool in_rows() {
        if constexpr (has_rows)
            return __shfl_sync(~0u, base::marks_of(warp(), base::to_varied()), 0) != 0;
        return false;
    }
    /* Returns the lane's cells of row 0 of the warp; a row further are `width` cells. */
    __device__ __forceinline__ static T *row_cells() {
        return cells(place().memory.rows + warp() * R * width + lane());
    }
    /* Copies the warp's rows to shared memory (put), and back. */
    __device__ __forceinline__ void put_rows() const {
        T *const to = row_cells();
        unrolled<R, K>([&](int j, int v) { to[j * width + v * 32] = this->c[j][v]; });
    }
    __device__ __forceinline__ void get_rows() {
        const T *const from = row_cells();
        unrolled<R, K>([&](int j, int v) { this->c[j][v] = from[j * width + v * 32]; });
    }

    /* The old rows that a row is made of: from `radius` above it to `radius` below. */
    struct around {
        T row[2 * radius + 1][K + 2 * radius];

        /* Moves on by a row, and reads row m, seen from the warp's first one. */
        __device__ __forceinline__ void next(int m, const rows_of_step &rows, const ways &w, const T *own) {
#pragma unroll
            for (int i = 0; i < 2 * radius; i++)
#pragma unroll
                for (int v = 0; v < K + 2 * radius; v++)
                    row[i][v] = row[i + 1][v];
            T(&last)[K + 2 * radius] = row[2 * radius];
            const T *const at = m < 0    ? rows.over + (m + radius) * w.over_row
                                : m >= R ? rows.under + (m - R) * w.under_row
                                         : own + m * width;
#pragma unroll
            for (int v = 0; v < K; v++)
                last[radius + v] = at[v * 32];
#pragma unroll
            for (int k = 1; k <= radius; k++) {
                last[radius - k] = __shfl_up_sync(~0u, last[radius + K - k], 1);
                last[radius + K - 1 + k] = __shfl_down_sync(~0u, last[radius + k - 1], 1);
            }
        }
    };
    /* Makes row m, all of whose cells have the weights of the step. */
    template <class At>
    __device__ __forceinline__ static void make_plain(T (&now)[K], const around &old, const ways &w, int m,
                                                      At at) {
        for_constants<-radius, radius + 1>([&](auto dy) {
            constexpr int Y = decltype(dy)::value;
            base::template add<Y>(now, old.row[Y + radius], w.weights, m, at);
        });
        base::add_source(now, w, m, at);
    }
    /* The table of the weights of classes in shared memory: for class 0, which has those of the step, and
     * each row of the palette its weights and its constant. Their number is odd, so that lanes with different
     * classes read different banks. */
    static constexpr int of_class = stencil_resident_of_class(P::count);
    /* Fills the table; called by all threads of the block. Finds out whether a class has a weight of 0 or a
     * constant. */
    __device__ __forceinline__ static void put_table(const stencil_kernel_args &s) {
        if (s.classes.palette == nullptr)
            return;
        for (int i = threadIdx.x; i <= s.class_passes.palette_count * of_class + P::count; i += blockDim.x) {
            const int of = i / of_class, k = i % of_class;
            const T *const row =
                of > 0 ? row_of_class<T>(s.classes, (uint32_t)of) : weights_of<T>(s.domain, *s.cycle).weight;
            const T value = k < P::count              ? row[k]
                            : k == P::count && of > 0 ? row[STENCIL_SOURCE_WEIGHT]
                                                      : T(0);
            cells(place().memory.table)[i] = value;
        }
        const bool tests = any_tested_class<P, T>(s);
        if (threadIdx.x == 0)
            place().tests = tests;
    }
    /* Makes row m, each cell of which has the weights of its class, of[]. Tested: points of weight 0 are not
     * read, and there may be constants. */
    template <bool Tested, class At>
    __device__ __forceinline__ static void make_varied(T (&now)[K], const around &old, const ways &w,
                                                       const T *table, const uint32_t (&of)[K], int m,
                                                       At at) {
        const T *row[K];
        unrolled<K>([&](int v) { row[v] = table + (stencil_class_has_row(of[v]) ? of[v] : 0u) * of_class; });
        P::each([&](int k, int, int dy, int dx) {
            unrolled<K>([&](int v) {
                const T weight = row[v][k];
                const bool unread = Tested && weight == T(0) && stencil_class_has_row(of[v]);
                now[v] = term(
                    k, point_weight<T>{weight, w.weights.domain}, [&] { return at(m, v); },
                    unread ? T(0) : old.row[dy + radius][radius + v + dx], now[v]);
            });
        });
        if (w.source >= 0) {
            const T *const b = cells(w.source) + m * width;
            const T factor = w.weights.source().of([] { return 0; });
            unrolled<K>([&](int v) {
                now[v] = source_term(
                    point_weight<T>{stencil_class_has_row(of[v]) ? T(1) : factor, w.weights.domain},
                    [&] { return at(m, v); }, b[v * 32], now[v]);
            });
        }
        if (Tested)
            unrolled<K>([&](int v) {
                const T constant = row[v][P::count];
                now[v] = constant == T(0) ? now[v] : now[v] + constant;
            });
    }
    /* The classes of the lane's cells, row after row, which are loaded a row ahead. */
    struct classes_ahead {
        const uint8_t *row;
        int64_t distance,
            around; /* to the next row; to the first row of the field from the one after its last */
        int to_end; /* rows to the end of a periodic field that is not cut */
        uint32_t of[K];

        __device__ __forceinline__ explicit classes_ahead(const stencil_kernel_args &s) {
            const stencil_domain &d = s.domain;
            const int64_t first = base::in_field(d, 0, radius + warp() * R);
            distance = d.row, around = d.n[STENCIL_Y] * d.row;
            row = s.classes.of + first * d.row;
            to_end = place().round[0] ? (int)(d.n[STENCIL_Y] - first) : INT_MAX;
        }
        __device__ __forceinline__ void load(const int (&column)[K]) {
            unrolled<K>([&](int v) { of[v] = __ldg(row + column[v]); });
        }
        /* Goes on to the next row, and loads its classes if there is one. */
        __device__ __forceinline__ void next(const int (&column)[K], bool more, int rows) {
            row += distance;
            if (--to_end == 0)
                row -= around, to_end = rows;
            if (more)
                load(column);
        }
    };
    /* Makes a step of the warp's rows in shared memory. column: of the part, of the lane's cells. */
    template <class At>
    __device__ __forceinline__ static void step_of_rows(const stencil_kernel_args &s, const ways &w,
                                                        const int (&column)[K], At at) {
        T *const own = row_cells();
        const rows_of_step rows = base::find_rows_of_step(w);
        around old;
        const bool tests = __shfl_sync(~0u, place().tests, 0) != 0;
        const T *const table = cells(place().memory.table);
        const int all_rows = (int)s.domain.n[STENCIL_Y];
        classes_ahead ahead(s);
        ahead.load(column);
        unrolled<2 * radius + 1, K + 2 * radius>([&](int i, int v) { old.row[i][v] = 0; });
#pragma unroll 1
        for (int m = -radius; m < radius; m++)
            old.next(m, rows, w, own);
#pragma unroll 1
        for (int m = 0; m < R; m++) {
            uint32_t of[K];
            unrolled<K>([&](int v) { of[v] = ahead.of[v]; });
            ahead.next(column, m + 1 < R, all_rows);
            old.next(m + radius, rows, w, own);
            T now[K], was[K];
            unrolled<K>([&](int v) { now[v] = 0, was[v] = old.row[radius][radius + v]; });
            if ((w.varied >> m & 1) == 0)
                make_plain(now, old, w, m, at);
            else if (tests)
                make_varied<true>(now, old, w, table, of, m, at);
            else
                make_varied<false>(now, old, w, table, of, m, at);
            base::finish_row(now, was, rows, base::kept_bits(w, m));
            T *const to = own + m * width, *const edge = cells(w.next) + m * width;
            unrolled<K>([&](int v) { to[v * 32] = now[v]; });
            if (m < radius)
                unrolled<K>([&](int v) { edge[v * 32] = now[v]; });
            if (m >= R - radius)
                unrolled<K>([&](int v) { edge[(2 * radius - R) * width + v * 32] = now[v]; });
        }
    }
};

} // namespace stencil
