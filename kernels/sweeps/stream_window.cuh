/* The window of the stream sweep: a thread walks along the streaming axis with a window of rows in registers.
 * Batch rows are loaded before the first is used. */
#pragma once

#include "kernels/sweeps/stream_cells.cuh"

namespace stencil {

/* Loop: as in weights_of_step(). */
template <class P, class T, int Batch, bool Loop> struct stream_window {
    using cells = stream_cells<P, T>;
    static constexpr int R = P::radius, V = vector_cells<T>, C = P::cross;
    static constexpr int rows = 2 * R + Batch, width = V + 2 * R;
    /* Aligned loads of the neighbours' vectors beat single cells when more than one cell per side is read. */
    static constexpr int side_vectors = R > 1 ? (R + V - 1) / V : 0;

    T window[2 * C + 1][rows][width];

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
        start(u, at, stream, cross);
        if (Batch == 1 && s.tile_stream == 1) {
            T value[V];
            advance(u, at, stream, cross, 1);
            finish<Check>(s, from, next, {p.x, left_x, at}, 0, partial, value);
            if (left_x > 0 && cells::near_edge(d, p, 1))
                write_copies(d, !from, p.z, p.y, p.x, min(V, left_x), value);
            return;
        }
        for (int left = p.count; left > 0; left -= Batch) {
            advance(u, at, stream, cross, left);
#pragma unroll
            for (int k = 0; k < Batch; k++) {
                if (k < left) {
                    T value[V];
                    finish<Check>(s, from, next, {p.x, left_x, at}, k, partial, value);
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
    __device__ __forceinline__ void finish(const stencil_kernel_args &s, int from, T *next,
                                           const vector_place &p, int k, double *partial, T *value) {
        const stencil_domain &d = s.domain;
        const auto weights =
            weights_of_step<T, Loop>(s, from); /* loaded here: a pointer that lives longer costs registers */
        const stencil_norm norm = s.schedule.norm;
        const T *b = static_cast<const T *>(d.b);
        unrolled<V>([&](int v) {
            value[v] = update(
                weights, [&] { return p.at + v; }, k, v);
        });
        cells::store(weights.source(), b, next, p, value);
        if (Check) {
            double term[V];
#pragma unroll
            for (int v = 0; v < V; v++)
                term[v] = v < p.left_x ? residual_term(value[v], centre(k, v), norm) : 0.0;
            cells::sum_residual(norm, p, term, partial);
        }
    }
};

} // namespace stencil
