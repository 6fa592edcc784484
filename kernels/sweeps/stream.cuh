/* The stream sweep: one step from one buffer to the other through device memory.
 *
 * A tile is (bx*V) cells wide (V cells of 16 bytes per thread), one cell (3D) or `tile_stream` cells (2D) per
 * thread row in y. Each thread walks along the streaming axis with a window of rows in registers, so that a
 * row is loaded once per thread row however many points read it; Batch rows are loaded before the first is
 * used, so that enough bytes are in flight. Neighbours along x come from L1. */
#ifdef __CUDACC__
#pragma once

#include "kernels/cells.cuh"
#include "kernels/residual.cuh"
#include "kernels/ghosts.cuh"
#include "kernels/tiles.cuh"

namespace stencil {

/* Rows loaded at once, blocks on a multiprocessor (they share its registers) and threads of a block along x:
 * measured on an H200, docs/performance.md. */
struct stream_tuning {
    int batch, blocks, block_x;
};
template <class P, class T, bool Relaunch, bool Ll> constexpr stream_tuning stream_tuning_of() {
    constexpr bool f64 = sizeof(T) == 8;
    /* LL exchange is for short steps: with three blocks, or more rows, its state would not stay in registers,
     * and what is spilled has to be fetched from L2 after each acquire. */
    constexpr bool star = P::row_reach(P::radius, 0) == 0;
    /* In 2D a block sends the first or last row of its tile: no more cells than threads that send them, or
     * the list of the rest is fetched from L2. */
    if (P::radius == 1 && star && P::rank == 2)
        return Relaunch ? stream_tuning{4, f64 ? 4 : 3, 128}
                        : stream_tuning{Ll ? 4 : 8, 2, Ll && !f64 ? 32 : 64};
    if (P::radius == 1 && star)
        return Relaunch ? f64 ? stream_tuning{2, 4, 32} : stream_tuning{4, 3, 32}
               : f64 ? stream_tuning{Ll ? 2 : 4, 2, 64}
                        : stream_tuning{2, Ll ? 2 : 3, 128};
    if (P::radius == 1)
        return P::rank == 2 ? stream_tuning{4, f64 ? 2 : 3, 128} : stream_tuning{1, 2, 32};
    return stream_tuning{P::radius == 3 ? 1 : 2, 2, P::rank == 2 ? 64 : 32};
}

/* A vector of cells on its way: where it begins along x, how many cells there are from there to the end of
 * the row, its element. */
struct vector_place {
    int x, left_x;
    int64_t at;
};

/* Where a thread stands in its tile. */
struct place {
    int z, y, x; /* first cell */
    int count;   /* cells along the streaming axis; 0: outside */
};

/* Hides how an offset came about. Rows are addressed as base + offset, with the base the same for all
 * threads; without this the compiler keeps a pointer of its own for every row of the batch and runs out of
 * registers. */
__device__ __forceinline__ int64_t opaque(int64_t offset) {
    asm volatile("" : "+l"(offset));
    return offset;
}

template <class P, class T, int Batch> struct stream {
    static constexpr int R = P::radius, V = vector_cells<T>, C = P::cross;
    static constexpr int rows = 2 * R + Batch, width = V + 2 * R;
    /* Aligned loads of the neighbours' vectors beat single cells when more than one cell per side is read. */
    static constexpr int side_vectors = R > 1 ? (R + V - 1) / V : 0;

    T window[2 * C + 1][rows][width];

    /* The cells beside the thread's own in row `j` of cross offset `o`. */
    __device__ __forceinline__ void load_sides(int o, int j, const T *row) {
        T *w = window[o + C][j];
        if (side_vectors > 0) {
            T side[(side_vectors ? side_vectors : 1) * V];
#pragma unroll
            for (int s = 0; s < side_vectors; s++)
                load_vector(row + (s - side_vectors) * V, side + s * V);
#pragma unroll
            for (int i = 0; i < R; i++)
                w[i] = side[side_vectors * V - R + i];
#pragma unroll
            for (int s = 0; s < side_vectors; s++)
                load_vector(row + (s + 1) * V, side + s * V);
#pragma unroll
            for (int i = 0; i < R; i++)
                w[R + V + i] = side[i];
        } else {
            w[R - 1] = row[-1];
            w[R + V] = row[V];
        }
    }

    /* The one expression of the cell update, for cell v of row `u` of the batch. */
    __device__ __forceinline__ T update(const T *weight, int u, int v) const {
        T sum = 0;
        int k = 0;
#pragma unroll
        for (int m = -R; m <= R; m++)
#pragma unroll
            for (int o = -C; o <= C; o++)
#pragma unroll
                for (int dx = -R; dx <= R; dx++)
                    if (P::contains(m, o, dx)) {
                        const T value = window[o + C][u + m + R][v + dx + R];
                        sum = k == 0 ? multiply(weight[0], value) : fma(weight[k], value, sum);
                        k++;
                    }
        return sum;
    }

    __device__ __forceinline__ T centre(int u, int v) const {
        return window[C][u + R][v + R];
    }

    /* The rows that the first batch finds already there. */
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

    /* The rows that a batch adds. Of the last batch `left` exist; the last of them is loaded again for the
     * others, because a value that may or may not be loaded would cost a register for good. */
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
#pragma unroll
        for (int o = 0; o < 2 * C + 1; o++)
#pragma unroll
            for (int j = 0; j < 2 * R; j++)
#pragma unroll
                for (int i = 0; i < width; i++)
                    window[o][j][i] = window[o][j + Batch][i];
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
            finish<Check>(s, next, {p.x, left_x, at}, 0, partial, value);
            if (left_x > 0 && near_edge(d, p))
                write_copies(d, !from, p.z, p.y, p.x, min(V, left_x), value);
            return;
        }
        for (int left = p.count; left > 0; left -= Batch) {
            advance(u, at, stream, cross, left);
#pragma unroll
            for (int k = 0; k < Batch; k++) {
                if (k < left) {
                    T value[V];
                    finish<Check>(s, next, {p.x, left_x, at}, k, partial, value);
                    if (Check)
                        partial += P::rank == 3 ? d.partial_plane : d.partial_row;
                }
                at = opaque(at + stream);
            }
            shift();
        }
        if (left_x > 0 && near_edge(d, p))
            copy_rows<T>(d, !from, p.z, p.y, p.x, P::rank == 3 ? p.count : 1, P::rank == 3 ? 1 : p.count);
    }

    /* The factor is 1 but in a cycle of several. Where registers are few, cells are then loaded by
     * themselves: a second vector to multiply makes the loop spill up to 96 bytes. */
    static __device__ __forceinline__ void add_source(T factor, const T *b, T *value) {
        constexpr bool few_registers = P::rank == 3 && sizeof(T) == 4;
        if (few_registers && factor != T(1)) {
#pragma unroll
            for (int v = 0; v < V; v++)
                value[v] = fma(factor, b[v], value[v]);
            return;
        }
        T source[V];
        load_vector(b, source);
#pragma unroll
        for (int v = 0; v < V; v++)
            value[v] = few_registers ? value[v] + source[v] : fma(factor, source[v], value[v]);
    }

    /* Computes, stores and, in a step that is checked, sums one vector of cells. */
    template <bool Check>
    __device__ __forceinline__ void finish(const stencil_kernel_args &s, T *next, const vector_place &p,
                                           int k, double *partial, T *value) {
        const stencil_domain &d = s.domain;
        const T *weight = weights_of<T>(d.weights); /* a pointer that lives longer costs registers */
        const stencil_norm norm = s.schedule.norm;
        const T *b = static_cast<const T *>(d.b);
#pragma unroll
        for (int v = 0; v < V; v++)
            value[v] = update(weight, k, v);
        if (b != nullptr)
            add_source(weight[STENCIL_SOURCE_WEIGHT], b + p.at, value);
        if (V <= p.left_x) {
            store_vector(next + p.at, value);
        } else {
#pragma unroll
            for (int v = 0; v < V; v++)
                if (v < p.left_x)
                    next[p.at + v] = value[v];
        }
        if (Check) {
            double term[V];
#pragma unroll
            for (int v = 0; v < V; v++)
                term[v] = v < p.left_x ? residual_term(value[v], centre(k, v), norm) : 0.0;
            const double sum = partial_sum<V>(term, norm);
            if (p.left_x > 0 && p.x % STENCIL_PARTIAL_CELLS == 0)
                *partial = sum;
        }
    }

    /* Whether this thread has edge cells. Few tiles do, so the streaming loop stays free of their copies. */
    __device__ __forceinline__ static bool near_edge(const stencil_domain &d, const place &p) {
        const int deep = P::rank == 3 ? p.count : 1, high = P::rank == 3 ? 1 : p.count;
        return at_edge(d, STENCIL_X, p.x, p.x + V) || at_edge(d, STENCIL_Y, p.y, p.y + high) ||
               (P::rank == 3 && at_edge(d, STENCIL_Z, p.z, p.z + deep));
    }
};

/* This thread's place in a tile. */
template <class P, class T>
__device__ __forceinline__ place place_in(const stencil_kernel_args &s, const tile_place &t) {
    const stencil_domain &d = s.domain;
    const uint32_t tx = s.tile_first[STENCIL_X] + t.x, ty = s.tile_first[STENCIL_Y] + t.y,
                   tz = s.tile_first[STENCIL_Z] + t.z;
    const int stream = (int)s.tile_stream;
    place p;
    p.x = (int)(tx * blockDim.x + threadIdx.x) * vector_cells<T>;
    if (P::rank == 3) {
        p.z = (int)tz * stream;
        p.y = (int)(ty * blockDim.y + threadIdx.y);
        p.count = p.y < d.n[STENCIL_Y] ? min(stream, (int)d.n[STENCIL_Z] - p.z) : 0;
    } else {
        p.z = 0;
        p.y = (int)(ty * blockDim.y + threadIdx.y) * stream;
        p.count = max(0, min(stream, (int)d.n[STENCIL_Y] - p.y));
    }
    return p;
}

/* Small fields have tiles of few rows for each thread, which has fewer instructions to go through with a
 * small batch, or none: at that size they are what takes time. */
template <class P, class T, bool Relaunch, bool Ll> struct stream_sweep {
    using cell = T;
    static constexpr stream_tuning tuning = stream_tuning_of<P, T, Relaunch, Ll>();
    static constexpr int batch = tuning.batch, blocks = tuning.blocks, block_x = tuning.block_x,
                         cells = vector_cells<T>;

    template <bool Check>
    __device__ __forceinline__ static void tile(const stencil_kernel_args &s, const tile_place &t, int from,
                                                double *partial) {
        if (batch > 1 && s.tile_stream == 1)
            tile_in<1, Check>(s, t, from, partial);
        else if (batch > 4 && s.tile_stream <= 4)
            tile_in<4, Check>(s, t, from, partial);
        else
            tile_in<batch, Check>(s, t, from, partial);
    }

  private:
    template <int Batch, bool Check>
    __device__ __forceinline__ static void tile_in(const stencil_kernel_args &s, const tile_place &t,
                                                   int from, double *partial) {
        stream<P, T, Batch> sweep;
        sweep.template tile<Check>(s, from, place_in<P, T>(s, t), partial);
    }
};

} // namespace stencil
#else
#include "kernels/sweeps/stream.inc"
#endif
