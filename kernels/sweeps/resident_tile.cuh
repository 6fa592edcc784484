/* A step of a tile of the resident sweep. It goes down the rows, in place. Each old row is added to the sums
 * of all rows that read it. The lowest of these sums use registers of rows that are finished, the others
 * `radius` rows of sums. */
#pragma once

#include "kernels/sweeps/resident_layout.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape, bool Classed>
struct resident_tile : resident_layout<P, T_, General, Shape, Classed> {
    using base = resident_layout<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::cells, base::lane, base::buffer_cells, base::edge_of, base::mixed_of, base::kept_at;
    using base::in_memory, base::is_outer, base::reads_beside, base::mixed_before, base::register_of;
    using typename base::ways, typename base::ways_weights;
    static constexpr int K = base::K, R = base::R, radius = base::radius, width = base::width;
    static constexpr bool mixed = base::mixed;

    T c[base::registers][K]; /* the lane's cells of rows in registers */

    /* Returns the bits of the lane's cells of a row that keep their values. */
    __device__ __forceinline__ static uint32_t kept_bits(const ways &w, int row) {
        return Classed && (w.marks >> row & 1) != 0 ? kept_at(w.of_kept + row * 32) : 0u;
    }
    /* Adds the points of `row`, which is Dy rows below row `to`, to the sum of row `to`. at(row, cell of the
     * lane) returns an element index. */
    template <int Dy, class At>
    __device__ __forceinline__ static void add(T (&sum)[K], const T (&row)[K + 2 * radius],
                                               const ways_weights &weights, int to, At at) {
        for_constants<-radius, radius + 1>([&](auto dx) {
            constexpr int X = decltype(dx)::value;
            if constexpr (P::contains(Dy, 0, X)) {
                constexpr int k = P::number(0, Dy, X);
                const auto weight = weights.point(k);
#pragma unroll
                for (int v = 0; v < K; v++)
                    sum[v] = term(
                        k, weight, [&] { return at(to, v); }, row[radius + v + X], sum[v]);
            }
        });
    }
    /* Adds the points of a row to the sums of row O, and at last its source term. */
    template <int Dy, int O, class At>
    __device__ __forceinline__ static void add_any(T (&sum)[K], const T (&row)[K + 2 * radius], const ways &w,
                                                   At at) {
        add<Dy>(sum, row, w.weights, O, at);
        if constexpr (General && Dy == radius)
            add_source(sum, w, O, at);
    }
    /* Returns how many columns to each side the warp's rows read in row m, counted from the warp's first row.
     */
    __host__ __device__ static constexpr int reach_of(int m) {
        int reach = 0;
        for (int dy = -radius; dy <= radius; dy++)
            if (m - dy >= 0 && m - dy < R && P::row_reach(dy < 0 ? -dy : dy, 0) > reach)
                reach = P::row_reach(dy < 0 ? -dy : dy, 0);
        return reach;
    }
    /* Pointers for one step to the rows in shared memory of the warp and of its neighbours. */
    struct rows_of_step {
        const T *over, *under, *own; /* old outer rows: above the warp, below the warp, the warp's */
        T *next, *mixed; /* the new outer rows; the inner rows in shared memory, updated in place */
        const T *fixed;  /* boundary cells of the lane's side (left or right) */
        bool kept[2],
            mirrored[2]; /* left, right: whether the lane's outer cells are boundary or mirrored cells */
    };
    __host__ __device__ static constexpr int place_in_memory(int r) {
        return (r < radius ? r : r >= R - radius ? r - R + 2 * radius : mixed_before(r)) * width;
    }
    template <int M>
    __device__ __forceinline__ void old_row(T (&row)[K + 2 * radius], const rows_of_step &rows,
                                            const ways &w) const {
        if constexpr (M < 0 || M >= R || in_memory(M)) {
            const T *const at = M < 0    ? rows.over + (M + radius) * (General ? w.over_row : width)
                                : M >= R ? rows.under + (M - R) * (General ? w.under_row : width)
                                         : (is_outer(M) ? rows.own : rows.mixed) + place_in_memory(M);
#pragma unroll
            for (int v = 0; v < K; v++)
                row[radius + v] = at[v * 32];
#pragma unroll
            for (int k = 1; k <= (reads_beside(M) ? reach_of(M) : 0); k++) {
                row[radius - k] = at[(K - k) * 32 - 1];
                row[radius + K - 1 + k] = at[(k - 1) * 32 + 1];
            }
        } else
#pragma unroll
            for (int v = 0; v < K; v++)
                row[radius + v] = c[register_of(M)][v];
#pragma unroll
        for (int k = 1; k <= (reads_beside(M) ? 0 : reach_of(M)); k++) {
            row[radius - k] = __shfl_up_sync(~0u, row[radius + K - k], 1);
            row[radius + K - 1 + k] = __shfl_down_sync(~0u, row[radius + k - 1], 1);
        }
    }
    /* Adds old row M to the sums of all rows that read it. seen: see step(). */
    template <int M, class At, class Seen>
    __device__ __forceinline__ void add_row(T (&ahead)[radius][K], T (&begun)[radius][K],
                                            const rows_of_step &rows, const ways &w, At at, Seen &seen) {
        T row[K + 2 * radius];
        old_row<M>(row, rows, w);
        for_constants<0, radius>([&](auto i) {
            constexpr int Dy = radius - decltype(i)::value, O = M - Dy;
            if constexpr (O >= 0 && O < R) {
                T(&sum)[K] = sum_of<O>(begun);
                add_any<Dy, O>(sum, row, w, at);
                if constexpr (Dy == radius && base::in_memory(O))
                    put_row<O>(sum, rows, w);
                else if constexpr (Dy == radius)
                    close_row<O>(sum, rows, w);
                if constexpr (Dy == radius)
                    seen.template made<O>(base::in_memory(O) ? sum : this->c[base::register_of(O)],
                                          kept_bits(w, O));
            }
        });
        if constexpr (M >= 0 && M < R)
            seen.template old<M>(row + radius);
        if constexpr (M >= 0 && M < R) {
            T(&sum)[K] = sum_of<M>(begun);
            add_any<0, M>(ahead[0], row, w, at);
#pragma unroll
            for (int v = 0; v < K; v++)
                sum[v] = ahead[0][v];
        }
        for_constants<1, radius + 1>([&](auto j) {
            constexpr int J = decltype(j)::value, O = M + J;
            if constexpr (J < radius)
#pragma unroll
                for (int v = 0; v < K; v++)
                    ahead[J - 1][v] = ahead[J][v];
            if constexpr (O >= 0 && O < R)
                add_any<-J, O>(ahead[J - 1], row, w, at);
        });
    }
    /* Returns the sums of row O: in the row's registers, or in `begun` if the row is in shared memory, or has
     * its old values until it is done, which some cells keep. */
    template <int O> __device__ __forceinline__ T (&sum_of(T (&begun)[radius][K]))[K] {
        if constexpr (in_memory(O) || Classed)
            return begun[O % radius];
        else
            return c[register_of(O)];
    }
    template <int O>
    __device__ __forceinline__ static void put_row(T (&sum)[K], const rows_of_step &rows, const ways &w) {
        if constexpr (Classed) {
            const T *const old = (is_outer(O) ? rows.own : rows.mixed) + place_in_memory(O);
            if ((w.marks >> O & 1) != 0) {
                const uint32_t kept = kept_at(w.of_kept + O * 32);
                unrolled<K>([&](int v) { sum[v] = kept >> v & 1 ? old[v * 32] : sum[v]; });
            }
        }
        T *const to = (is_outer(O) ? rows.next : rows.mixed) + place_in_memory(O);
        mirror_row(sum, rows);
#pragma unroll
        for (int v = 0; v < K; v++)
            if (!(v < radius && rows.kept[0]) && !(v >= K - radius && rows.kept[1]))
                to[v * 32] = sum[v];
    }
    template <class At>
    __device__ __forceinline__ static void add_source(T (&sum)[K], const ways &w, int to, At at) {
        if (w.source < 0)
            return;
        const T *const b = cells(w.source) + to * width;
        const auto factor = w.weights.source();
#pragma unroll
        for (int v = 0; v < K; v++)
            sum[v] = source_term(
                factor, [&] { return at(to, v); }, b[v * 32], sum[v]);
    }

    /* Gives a row in registers its sums, and sets its outer cells: boundary cells to their old values,
     * mirrored cells to the cells that they mirror. */
    template <int O>
    __device__ __forceinline__ void close_row(const T (&sum)[K], const rows_of_step &rows, const ways &w) {
        T(&row)[K] = c[register_of(O)];
        if constexpr (Classed) {
            const uint32_t kept = kept_at(w.of_kept + O * 32);
            unrolled<K>([&](int v) { row[v] = kept >> v & 1 ? row[v] : sum[v]; });
        }
#pragma unroll
        for (int k = 0; k < radius; k++) {
            if (rows.kept[0])
                row[k] = rows.fixed[O * radius + k];
            if (rows.kept[1])
                row[K - radius + k] = rows.fixed[O * radius + k];
        }
        mirror_row(row, rows);
    }
    __device__ __forceinline__ static void mirror_row(T (&row)[K], const rows_of_step &rows) {
#pragma unroll
        for (int k = 0; k < radius && General; k++) {
            row[k] = rows.mirrored[0] ? row[2 * radius - 1 - k] : row[k];
            row[K - radius + k] = rows.mirrored[1] ? row[K - 1 - radius - k] : row[K - radius + k];
        }
    }
    /* Copies the warp's outer rows from registers to shared memory, for the warps above and below. */
    __device__ __forceinline__ void publish(int to) const {
        T *const edge = cells(to);
#pragma unroll
        for (int j = 0; j < radius; j++)
#pragma unroll
            for (int v = 0; v < K; v++) {
                edge[j * width + v * 32] = c[j][v];
                edge[(radius + j) * width + v * 32] = c[R - radius + j][v];
            }
    }
    __device__ __forceinline__ static rows_of_step find_rows_of_step(const ways &w) {
        return {cells(w.over),  cells(w.under), cells(w.own),           cells(w.next),
                cells(w.mixed), cells(w.fixed), {w.kept[0], w.kept[1]}, {w.mirrored[0], w.mirrored[1]}};
    }
    /* Makes a step. seen.old<M>() gets the lane's cells of each row M before the step, and seen.made<M>()
     * those after it, in ascending order: row M is made when row M + radius is seen. */
    template <class At, class Seen> __device__ __forceinline__ void step(const ways &w, At at, Seen &seen) {
        T ahead[radius][K], begun[radius][K];
        const rows_of_step rows = find_rows_of_step(w);
        for_constants<-radius, R + radius>([&](auto m) {
            add_row<decltype(m)::value>(ahead, begun, rows, w, at, seen);
            if constexpr ((base::is_in_place(decltype(m)::value) && base::reads_beside(decltype(m)::value)) ||
                          (base::full && decltype(m)::value % 2 != 0))
                __syncwarp(); /* waits until lanes have read their neighbours' old cells, before these are
                                 overwritten */
        });
    }
    /* The observer of a step that nothing is to be known of. */
    struct unseen {
        template <int M> __device__ __forceinline__ void old(const T *) {}
        template <int M> __device__ __forceinline__ void made(const T (&)[K], uint32_t) {}
    };

    /* Pointers to a warp's outer and inner rows in shared memory. */
    struct memory_rows {
        T *outer, *mixed;
    };
    __device__ __forceinline__ static memory_rows find_rows(int warp, int buffer, int at) {
        if constexpr (!mixed)
            return {nullptr, nullptr};
        const int first = at - lane();
        return {cells(edge_of(warp, 0) + first + (buffer ? buffer_cells() : 0)),
                cells(mixed_of(warp) + first)};
    }
    /* Returns a bit for each inner row of a warp that is in shared memory. */
    __host__ __device__ static constexpr uint32_t mixed_bits() {
        uint32_t bits = 0;
        for (int r = 0; r < R; r++)
            bits |= (uint32_t)(in_memory(r) && !is_outer(r)) << r;
        return bits;
    }
    __device__ __forceinline__ static bool is_in_memory(int row) {
        return mixed && (is_outer(row) || (mixed_bits() >> row & 1) != 0);
    }
    /* Returns a row of the warp that is in shared memory. */
    __device__ __forceinline__ static T *memory_row(int row, const memory_rows &at) {
        constexpr uint32_t bits = mixed_bits();
        return row < radius        ? at.outer + row * width
               : row >= R - radius ? at.outer + (row - R + 2 * radius) * width
                                   : at.mixed + __popc(bits & ((1u << row) - 1)) * width;
    }
    /* Returns cell v of row J, in registers or in shared memory. */
    template <int J> __device__ __forceinline__ T &cell(int v, const memory_rows &at) {
        if constexpr (!in_memory(J))
            return c[register_of(J)][v];
        else
            return (is_outer(J) ? at.outer : at.mixed)[place_in_memory(J) + v * 32];
    }
};

} // namespace stencil
