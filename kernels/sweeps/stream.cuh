/* The stream sweep: one step from one buffer to the other through device memory.
 *
 * A tile is (bx*V) cells wide (V cells of 16 bytes per thread), one cell (3D) or `tile_stream` cells (2D) per
 * thread row in y. Each thread walks along the streaming axis with a window of rows in registers, so that a
 * row is loaded once per thread row however many points read it; Batch rows are loaded before the first is
 * used, so that enough bytes are in flight. Neighbours along x come from L1. Long streams of most point sets
 * are made with partial sums instead (stream_sums.cuh). */
#ifdef __CUDACC__
#pragma once

#include "kernels/fields.cuh"
#include "kernels/sweeps/stream.h"
#include "kernels/sweeps/stream_sums.cuh"

namespace stencil {

/* Tuning of the stream kernels: rows loaded at once, blocks on a multiprocessor (they share its registers),
 * threads of a block along x. Measured on an H200, docs/log/2026-11-22.md. Kernels are compiled with it, so
 * it is not in solver/machine/tuning/. */
struct stream_tuning {
    int batch, blocks, block_x;
};
template <class P, class T, bool Relaunch> constexpr stencil_stream_sums stream_sums_of() {
    return stencil_stream_sums_of(P::rank, P::radius, sizeof(T) == 8, Relaunch);
}
template <class P, class T, bool Relaunch, bool Ll> constexpr stream_tuning stream_tuning_of() {
    constexpr bool f64 = sizeof(T) == 8;
    constexpr stencil_stream_sums sums = stream_sums_of<P, T, Relaunch>();
    /* LL exchange serves short steps: with three blocks on a multiprocessor, or more rows, its state would
     * spill, to be loaded from L2 after each acquire. */
    constexpr bool star = P::row_reach(P::radius, 0) == 0;
    constexpr int blocks = Ll ? 2 : sums.blocks;
    /* A block sends the first or last row of its 2D tile. With more cells than threads, the list of the
     * remaining cells would be loaded from L2. */
    if (P::radius == 1 && star && P::rank == 2)
        return Relaunch ? stream_tuning{4, f64 ? 4 : 3, 128}
                        : stream_tuning{Ll ? 4 : 8, 2, Ll && !f64 ? 32 : 64};
    if (P::radius == 1 && P::rank == 2)
        return stream_tuning{4, f64 ? 2 : 3, 128};
    if (P::radius == 1 && star)
        return stream_tuning{f64 != Relaunch && !Ll ? 4 : 2, blocks, 32};
    if (P::radius == 1)
        return stream_tuning{1, blocks, 32};
    return stream_tuning{P::radius == 3 ? 1 : 2, blocks, P::rank == 2 ? 64 : 32};
}

template <class P, class T, int Batch, bool Classed, bool Fields = false> struct stream {
    using cells = stream_cells<P, T>;
    static constexpr int R = P::radius, V = vector_cells<T>, C = P::cross;
    static constexpr int rows = 2 * R + Batch, width = V + 2 * R;
    /* Aligned loads of the neighbours' vectors beat single cells when more than one cell per side is read. */
    static constexpr int side_vectors = R > 1 ? (R + V - 1) / V : 0;

    T window[2 * C + 1][rows][width];
    uint32_t mark[Batch]; /* of the thread's group in each row of a batch; only where Classed */

    /* Loads the cells left and right of the thread's in row `j` of cross offset `o`. */
    __device__ __forceinline__ void load_sides(int o, int j, const T *row) {
        T *w = window[o + C][j];
        if (side_vectors > 0) {
            T side[(side_vectors ? side_vectors : 1) * V];
            unrolled<side_vectors>([&](int s) { load_vector(row + (s - side_vectors) * V, side + s * V); });
            unrolled<R>([&](int i) { w[i] = side[side_vectors * V - R + i]; });
            unrolled<side_vectors>([&](int s) { load_vector(row + (s + 1) * V, side + s * V); });
            unrolled<R>([&](int i) { w[R + V + i] = side[i]; });
        } else {
            w[R - 1] = row[-1];
            w[R + V] = row[V];
        }
    }

    /* Returns the new value of cell v of row `u` of the batch. */
    template <class Weights, class Where>
    __device__ __forceinline__ T update(const Weights &weights, Where where, int u, int v) const {
        T sum = 0;
        P::each([&](int k, int dz, int dy, int dx) {
            const int m = P::rank == 3 ? dz : dy, o = P::rank == 3 ? dy : 0;
            sum = term(k, weights.point(k), where, window[o + C][u + m + R][v + dx + R], sum);
        });
        return sum;
    }

    __device__ __forceinline__ T centre(int u, int v) const {
        return window[C][u + R][v + R];
    }

    /* Loads the rows that the window has before the first batch. */
    __device__ __forceinline__ void start(const T *u, int64_t at, int64_t stream, int64_t cross) {
#pragma unroll
        for (int m = -R; m < R; m++) {
            const int64_t row_at = opaque(at + m * stream);
#pragma unroll
            for (int o = -C; o <= C; o++) {
                const int ahead = P::ahead(o, 0), sides = P::ahead(o, 1);
                const T *row = u + o * cross + row_at;
                if (m >= -ahead && m < ahead)
                    load_vector(row, window[o + C][m + R] + R);
                if (m >= -sides && m < sides)
                    load_sides(o, m + R, row);
            }
        }
    }

    /* Loads the rows that a batch adds. Of the last batch only `left` exist; the last of them is loaded again
     * for the rest, because conditional loads would cost a register each. */
    __device__ __forceinline__ void advance(const T *u, int64_t at, int64_t stream, int64_t cross, int left) {
#pragma unroll
        for (int k = 0; k < Batch; k++) {
#pragma unroll
            for (int o = -C; o <= C; o++) {
                const int ahead = P::ahead(o, 0), sides = P::ahead(o, 1);
                if (ahead >= 0)
                    load_vector(u + (ahead * stream + o * cross) + at, window[o + C][k + ahead + R] + R);
                if (sides >= 0)
                    load_sides(o, k + sides + R, u + (sides * stream + o * cross) + at);
            }
            at = opaque(k + 1 < left ? at + stream : at);
        }
    }

    /* Loads the marks of the rows that a batch completes, the last of `left` rows again for the rest. */
    __device__ __forceinline__ void load_marks(const uint8_t *at, int64_t stride, int left) {
#pragma unroll
        for (int k = 0; k < Batch; k++) {
            mark[k] = at == nullptr ? STENCIL_CLASS_PLAIN : __ldg(at);
            at += k + 1 < left ? stride : 0;
        }
    }

    __device__ __forceinline__ void shift() {
        unrolled<2 * C + 1, 2 * R, width>(
            [&](int o, int j, int i) { window[o][j][i] = window[o][j + Batch][i]; });
    }

    template <bool Check>
    __device__ __forceinline__ void tile(const stencil_kernel_args &s, int from, const place &p,
                                         double *partial) {
        const stencil_domain &d = s.domain;
        const T *u = static_cast<const T *>(d.u[from]);
        T *next = static_cast<T *>(d.u[!from]);
        const int64_t stream = P::rank == 3 ? d.plane : d.row, cross = P::rank == 3 ? d.row : 0;
        const int left_x = (int)d.n[STENCIL_X] - p.x; /* cells to the end of the row */
        /* A thread beyond the end of the row loads what the last one loads, and stores nothing. */
        int64_t at = p.z * d.plane + p.y * d.row + (left_x > 0 ? p.x : ((int)d.n[STENCIL_X] - 1) / V * V);
        if (Check)
            partial += p.z * d.partial_plane + p.y * d.partial_row + p.x / STENCIL_PARTIAL_CELLS;
        if (p.count <= 0)
            return;
        const uint8_t *marks = nullptr;
        const int64_t mark_stride = P::rank == 3 ? s.classes.mark_plane : s.classes.mark_row;
        if constexpr (Classed)
            marks = mark_at(s.classes, p.z, p.y, left_x > 0 ? p.x : (int)d.n[STENCIL_X] - 1);
        start(u, at, stream, cross);
        if (Batch == 1 && s.tile_stream == 1) {
            T value[V];
            if constexpr (Classed)
                load_marks(marks, mark_stride, 1);
            advance(u, at, stream, cross, 1);
            finish<Check>(s, from, u, next, {p.x, left_x, at}, 0, partial, value);
            if (left_x > 0 && cells::near_edge(d, p, 1))
                write_copies(d, !from, p.z, p.y, p.x, min(V, left_x), value);
            return;
        }
        for (int left = p.count; left > 0; left -= Batch) {
            if constexpr (Classed) {
                load_marks(marks, mark_stride, left);
                marks = marks == nullptr ? nullptr : marks + Batch * mark_stride;
            }
            advance(u, at, stream, cross, left);
#pragma unroll
            for (int k = 0; k < Batch; k++) {
                if (k < left) {
                    T value[V];
                    finish<Check>(s, from, u, next, {p.x, left_x, at}, k, partial, value);
                    if (Check)
                        partial += P::rank == 3 ? d.partial_plane : d.partial_row;
                }
                at = opaque(at + stream);
            }
            shift();
        }
        if (left_x > 0 && cells::near_edge(d, p, 1))
            copy_rows<T>(d, !from, p.z, p.y, p.x, P::rank == 3 ? p.count : 1, P::rank == 3 ? 1 : p.count);
    }

    /* Computes and stores one vector of cells and, in a checked step, sums its residual. */
    template <bool Check>
    __device__ __forceinline__ void finish(const stencil_kernel_args &s, int from, const T *u, T *next,
                                           const vector_place &p, int k, double *partial, T *value) {
        const stencil_domain &d = s.domain;
        const auto weights =
            weights_of<T>(d); /* loaded here, since a pointer that lives longer costs registers */
        const stencil_norm norm = s.schedule.norm;
        const T *b = static_cast<const T *>(d.b);
        if constexpr (Fields) {
            const vector_faces<P, T, V> faces(d, p.at);
            unrolled<V>([&](int v) {
                value[v] = update(
                    faces.of(d, v), [&] { return p.at + v; }, k, v);
            });
        } else {
            unrolled<V>([&](int v) {
                value[v] = update(
                    weights, [&] { return p.at + v; }, k, v);
            });
        }
        bool kept[V] = {};
        if constexpr (Classed) {
            const vector_classes<V> classes(s.classes, mark[k], p.at);
            unrolled<V>([&](int v) { kept[v] = classes.keeps(v); });
            cells::add_sources(s, from, p.at, value);
            unrolled<V>([&](int v) { value[v] = kept[v] ? centre(k, v) : value[v]; });
            if constexpr (Fields)
                give_reads<P>(s, from, u, p.at, p.left_x, classes, value);
            else
                give_classes<P>(s, from, u, p.at, p.left_x, classes, value);
            cells::store(weights.source(), nullptr, next, p, value);
        } else {
            cells::store(weights.source(), b, next, p, value);
        }
        if (Check) {
            double term[V];
#pragma unroll
            for (int v = 0; v < V; v++)
                term[v] = v < p.left_x && !kept[v] ? residual_term(value[v], centre(k, v), norm) : 0.0;
            cells::sum_residual(norm, p, term, partial);
        }
    }
};

/* The stream sweep. On small fields a thread has few rows, and the number of instructions takes the time: a
 * batch of few rows, or of one, needs fewer. */
template <class P, class T, bool Relaunch, bool Ll, bool Classed, bool Fields = false> struct stream_tiles {
    using cell = T;
    static constexpr bool classed = Classed;
    static constexpr stream_tuning tuning = stream_tuning_of<P, T, Relaunch, Ll>();
    /* Partial sums do not know the weights of the cell that they belong to. */
    static constexpr stencil_stream_sums sums =
        Fields ? stencil_stream_sums{1, 0, 2, 0} : stream_sums_of<P, T, Relaunch>();
    /* Tells whether loads and stores have L2 policies: they gain nothing where fma instructions take the time
     * (2D, radius 3) or steps are short (LL exchange). */
    static constexpr bool policies = !Ll && (P::rank == 3 || P::radius < 3);
    static constexpr int summed_ahead = sums.ahead > 0 ? sums.ahead : 1;
    using sums_sweep = stream_sums<P, T, sums.rows, summed_ahead, policies, Classed>;
    static constexpr int batch = tuning.batch, blocks = tuning.blocks, block_x = tuning.block_x,
                         cells = vector_cells<T>, shared_bytes = sums.ahead > 0 ? sums_sweep::bytes : 0;

    template <bool Check>
    __device__ __forceinline__ static void tile(const stencil_kernel_args &s, const tile_place &t, int from,
                                                double *partial) {
        if (batch > 1 && s.tile_stream == 1)
            tile_in<1, Check>(s, t, from, partial);
        else if (sums.ahead > 0 && s.tile_stream >= STENCIL_STREAM_LONG)
            tile_of_sums<Check>(s, t, from, partial);
        else if (batch > 4 && s.tile_stream <= 4)
            tile_in<4, Check>(s, t, from, partial);
        else
            tile_in<batch, Check>(s, t, from, partial);
    }

  private:
    template <bool Check>
    __device__ __forceinline__ static void tile_of_sums(const stencil_kernel_args &s, const tile_place &t,
                                                        int from, double *partial) {
        if constexpr (sums.ahead > 0) {
            sums_sweep sweep;
            sweep.template tile<Check>(s, from, stream_cells<P, T>::place_in(s, t, sums.rows), partial);
        }
    }

    template <int Batch, bool Check>
    __device__ __forceinline__ static void tile_in(const stencil_kernel_args &s, const tile_place &t,
                                                   int from, double *partial) {
        stream<P, T, Batch, Classed, Fields> sweep;
        sweep.template tile<Check>(s, from, stream_cells<P, T>::place_in(s, t, 1), partial);
    }
};
template <class P, class T, bool Relaunch, bool Ll>
using stream_sweep = stream_tiles<P, T, Relaunch, Ll, false>;
template <class P, class T, bool Relaunch, bool Ll>
using stream_classed = stream_tiles<P, T, Relaunch, Ll, true>;
template <class P, class T, bool Relaunch, bool Ll>
using stream_fielded = stream_tiles<P, T, Relaunch, Ll, true, true>;

} // namespace stencil
#else
#include "kernels/sweeps/stream.inc"
#endif
