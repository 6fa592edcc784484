/* Steps of the resident sweep in 2D of warps some of whose cells have weights of their own, and not all of
 * them the same. Code for such cells in each of a warp's rows would be ten times what the instruction cache
 * holds, so the rows are in shared memory during a pass, and a step is a loop with the code of one row. */
#pragma once

#include "kernels/sweeps/resident_nodes.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape, bool Classed>
struct resident_rows : resident_nodes<P, T_, General, Shape, Classed> {
    using base = resident_nodes<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::K, base::R, base::radius, base::width, base::place, base::cells, base::lane, base::warp;
    using typename base::ways, typename base::rows_of_step, typename base::summing;
    /* Tells whether shared memory has room for all rows of a tile in addition. */
    static constexpr bool has_rows = General && Classed && !base::mixed;

    /* Tells whether the warp makes its steps that way. */
    __device__ __forceinline__ static bool in_rows() {
        if constexpr (has_rows)
            return __shfl_sync(~0u, base::marks_of(warp(), base::of_varied), 0) != 0;
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

    /* Returns the words with the classes of the lane's cells of row j of the warp: 0 where a cell has the
     * weights of the step, or keeps its value. Words of a row, and rows, are 32 words apart. */
    __device__ __forceinline__ static uint32_t *class_words(int j) {
        return reinterpret_cast<uint32_t *>(cells(place().memory.classes)) +
               (warp() * R + j) * 32 * stencil_resident_words(K) + lane();
    }
    /* The old rows that a row is made of: from `radius` above it to `radius` below. */
    struct around {
        T row[2 * radius + 1][K + 2 * radius];

        /* Moves on by a row, and reads the next one. */
        __device__ __forceinline__ void next(const T *at) {
#pragma unroll
            for (int i = 0; i < 2 * radius; i++)
#pragma unroll
                for (int v = 0; v < K + 2 * radius; v++)
                    row[i][v] = row[i + 1][v];
            T(&last)[K + 2 * radius] = row[2 * radius];
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
    /* The table of the weights of classes in shared memory: rows for class 0, which has the weights of the
     * step, and for each class of the palette. */
    static constexpr int of_class = stencil_resident_of_class(P::count);
    /* Fills the table; called by all threads of the block. Finds out whether a class has a weight of 0 or a
     * constant. */
    __device__ __forceinline__ static void put_table(const stencil_kernel_args &s) {
        if (s.classes.palette == nullptr)
            return;
        for (int i = threadIdx.x; i < (s.class_passes.palette_count + 1) * of_class; i += blockDim.x) {
            const int of = i / of_class, k = i % of_class;
            const T *const row =
                of > 0 ? row_of_class<T>(s.classes, (uint32_t)of) : weights_of<T>(s.domain, *s.cycle).weight;
            const T value = k < P::count                  ? row[k]
                            : k == P::count               ? T(1)
                            : k == P::count + 1 && of > 0 ? row[STENCIL_SOURCE_WEIGHT]
                                                          : T(0);
            cells(place().memory.table)[i] = value;
        }
        const bool tests = any_tested_class<P, T>(s);
        if (threadIdx.x == 0)
            place().tests = tests, place().class_row = of_class * (int)sizeof(T);
    }
    /* Makes row m, each cell of which has the weights of its class. Tested: points of weight 0 are not read,
     * and there may be constants. words: the classes; table: address of the weights of classes, class_row
     * bytes each, a number that the compiler does not know, or it would take an instruction more to find a
     * cell's weights. */
    template <bool Tested, class At>
    __device__ __forceinline__ static void make_varied(T (&now)[K], const around &old, const ways &w,
                                                       const uint32_t (&words)[stencil_resident_words(K)],
                                                       uint32_t table, uint32_t class_row, int m, At at) {
        uint32_t row[K];
        bool own[K];
        unrolled<K>([&](int v) {
            const uint32_t of = __byte_perm(words[v / 4], 0, 0x4440 + v % 4);
            row[v] = table + of * class_row, own[v] = of != STENCIL_CLASS_PLAIN;
        });
        const auto number = [&](int v, int k) { return load_shared<T>(row[v] + k * (uint32_t)sizeof(T)); };
        P::each([&](int k, int, int dy, int dx) {
            unrolled<K>([&](int v) {
                const T weight = number(v, k);
                now[v] = term(
                    k, point_weight<T>{weight, w.weights.domain}, [&] { return at(m, v); },
                    Tested && own[v] && weight == T(0) ? T(0) : old.row[dy + radius][radius + v + dx],
                    now[v]);
            });
        });
        if (w.source >= 0) {
            const T *const b = cells(w.source) + m * width;
            const T factor = w.weights.source().of([] { return 0; });
            unrolled<K>([&](int v) {
                now[v] = source_term(
                    point_weight<T>{own[v] ? T(1) : factor, w.weights.domain}, [&] { return at(m, v); },
                    b[v * 32], now[v]);
            });
        }
        if (Tested)
            unrolled<K>([&](int v) {
                const T constant = number(v, P::count + 1);
                now[v] = constant == T(0) ? now[v] : now[v] + constant;
            });
    }
    /* Sums the residual of row m, and keeps its new cells. */
    template <stencil_norm Norm>
    __device__ __forceinline__ static void sum_row(const summing &sums, int m, const T (&now)[K],
                                                   const T (&was)[K], uint32_t counted) {
        double term[K];
        sums.template find_terms<Norm>(term, now, was, counted);
        sums.template sum<Norm>(term, sums.valid_in(m), sums.nodes + m * (int64_t)sums.row_nodes);
    }
    /* Makes a step of the warp's rows in shared memory; if Checked, sums its residual. */
    template <bool Checked, bool Tested, class At>
    __device__ __forceinline__ static void loop_rows_in_memory(const ways &w, At at, const summing &sums) {
        constexpr int words_of_row = stencil_resident_words(K);
        T *own = row_cells();
        const rows_of_step rows = base::find_rows_of_step(w);
        const uint32_t table = shared_address(cells(place().memory.table)),
                       class_row = (uint32_t)place().class_row;
        const uint32_t *classes = class_words(0);
        int kept_at = w.of_kept;
        around old;
        unrolled<2 * radius + 1, K + 2 * radius>([&](int i, int v) { old.row[i][v] = 0; });
#pragma unroll 1
        for (int m = -radius; m < radius; m++)
            old.next(m < 0 ? rows.over + (m + radius) * w.over_row : own + m * width);
#pragma unroll 1
        for (int m = 0; m < R; m++, own += width, classes += 32 * words_of_row, kept_at += 32) {
            uint32_t words[words_of_row];
            unrolled<words_of_row>([&](int i) { words[i] = classes[i * 32]; });
            const uint32_t kept = base::kept_at(kept_at);
            old.next(m + radius < R ? own + radius * width : rows.under + (m + radius - R) * w.under_row);
            T now[K], was[K];
            unrolled<K>([&](int v) { now[v] = 0, was[v] = old.row[radius][radius + v]; });
            make_varied<Tested>(now, old, w, words, table, class_row, m, at);
            base::finish_row(now, was, rows, kept);
            if constexpr (Checked) {
                sums.keep_row(m, now);
                if (sums.norm == STENCIL_NORM_L2)
                    sum_row<STENCIL_NORM_L2>(sums, m, now, was, sums.has_cells & ~kept);
                else
                    sum_row<STENCIL_NORM_MAX>(sums, m, now, was, sums.has_cells & ~kept);
            }
            unrolled<K>([&](int v) { own[v * 32] = now[v]; });
        }
        T *const next = cells(w.next);
        const T *const first = row_cells();
        unrolled<radius, K>([&](int j, int v) {
            next[j * width + v * 32] = first[j * width + v * 32];
            next[(radius + j) * width + v * 32] = first[(R - radius + j) * width + v * 32];
        });
    }
    template <bool Checked, class At>
    __device__ __forceinline__ static void step_of_rows(const ways &w, At at, const summing &sums) {
        if (__shfl_sync(~0u, place().tests, 0) != 0)
            loop_rows_in_memory<Checked, true>(w, at, sums);
        else
            loop_rows_in_memory<Checked, false>(w, at, sums);
    }
};

} // namespace stencil
