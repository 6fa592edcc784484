/* Source terms, stores and residuals of the vectors of cells that all forms of the stream sweep compute. */
#pragma once

#include "kernels/cells.cuh"
#include "kernels/classes.cuh"
#include "kernels/ghosts.cuh"
#include "kernels/residual.cuh"
#include "kernels/tiles.cuh"

namespace stencil {

/* A vector of cells that is computed: its begin along x, the number of cells from there to the end of the
 * row, its element index. */
struct vector_place {
    int x, left_x;
    int64_t at;
};

/* The cells of a tile that a thread makes. */
struct place {
    int z, y, x; /* first cell of the thread along z, y, x */
    int count;   /* cells along the streaming axis; 0: the thread is outside the field */
};

template <class P, class T> struct stream_cells {
    static constexpr int V = vector_cells<T>,
                         sector = 32 / (int)sizeof(T); /* cells of a sector of L2 (32 bytes) */

    /* Finds the cells of a tile that this thread makes. rows: rows along y of a thread of a 3D tile. */
    __device__ __forceinline__ static place place_in(const stencil_kernel_args &s, const tile_place &t,
                                                     int rows) {
        const stencil_domain &d = s.domain;
        const uint32_t tx = s.tile_first[STENCIL_X] + t.x, ty = s.tile_first[STENCIL_Y] + t.y,
                       tz = s.tile_first[STENCIL_Z] + t.z;
        const int stream = (int)s.tile_stream;
        place p;
        p.x = (int)(tx * blockDim.x + threadIdx.x) * V;
        if (P::rank == 3) {
            p.z = (int)tz * stream;
            p.y = (int)(ty * blockDim.y + threadIdx.y) * rows;
            p.count = p.y < d.n[STENCIL_Y] ? min(stream, (int)d.n[STENCIL_Z] - p.z) : 0;
        } else {
            p.z = 0;
            p.y = (int)(ty * blockDim.y + threadIdx.y) * stream;
            p.count = max(0, min(stream, (int)d.n[STENCIL_Y] - p.y));
        }
        return p;
    }

    /* Tells whether there are edge cells among `width` cells from x on (by default the thread's) of `rows`
     * rows of y (3D). Few tiles have any, so they are copied after the streaming loop. */
    __device__ __forceinline__ static bool near_edge(const stencil_domain &d, const place &p, int rows, int x,
                                                     int width) {
        const int deep = P::rank == 3 ? p.count : 1, high = P::rank == 3 ? rows : p.count;
        return at_edge(d, STENCIL_X, x, x + width) || at_edge(d, STENCIL_Y, p.y, p.y + high) ||
               (P::rank == 3 && at_edge(d, STENCIL_Z, p.z, p.z + deep));
    }
    __device__ __forceinline__ static bool near_edge(const stencil_domain &d, const place &p, int rows) {
        return near_edge(d, p, rows, p.x, V);
    }

    /* Adds the source term to a vector of cells. The factor is 1, except in cycles of several weights. If it
     * is not and registers are few, cells of the source term are loaded singly: a second vector would spill
     * up to 96 bytes. */
    static __device__ __forceinline__ void add_source(const point_weight<T> &factor, const T *b, int64_t at,
                                                      T *value) {
        constexpr bool few_registers = P::rank == 3 && sizeof(T) == 4;
        const bool is_one = few_registers && factor.is_one();
        if (few_registers && !is_one) {
#pragma unroll
            for (int v = 0; v < V; v++)
                value[v] = source_term(
                    factor, [&] { return at + v; }, b[at + v], value[v]);
            return;
        }
        T source[V];
        load_vector(b + at, source);
#pragma unroll
        for (int v = 0; v < V; v++)
            value[v] = is_one ? value[v] + source[v]
                              : source_term(
                                    factor, [&] { return at + v; }, source[v], value[v]);
    }

    /* Adds all source arrays to a vector of cells, with the factors of the step that reads buffer `from`;
     * `factor` is that of a single array that does not change in time. */
    static __device__ __forceinline__ void add_sources(const stencil_kernel_args &s, int from, int64_t at,
                                                       T *value, const point_weight<T> &factor) {
#pragma unroll 1
        for (int k = 0; k < s.sums.sources; k++)
            add_source({factor_of_source(s, from, k, factor), &s.domain}, sum_array<T>(s, k), at, value);
    }

    /* Tells whether a vector is in the last sector of a row and includes cells after the row that may be
     * stored again: they keep their values, since both sides along x are boundaries. */
    __device__ __forceinline__ static bool ends_sector(const stencil_domain &d, const place &p) {
        const int left_x = (int)d.n[STENCIL_X] - p.x;
        return left_x < V && left_x > -(p.x % sector) && d.image[STENCIL_HERE - 1][0] == nullptr &&
               d.image[STENCIL_HERE + 1][0] == nullptr;
    }

    /* Adds the source term, if any, to a vector of cells and stores it. kept: old cells of the vector, which
     * are stored after the end of the row, or NULL. Policy: stores whole vectors with an L2 policy. */
    template <bool Policy = false>
    __device__ __forceinline__ static void store(const point_weight<T> &factor, const T *b, T *next,
                                                 const vector_place &p, T *value, const T *kept = nullptr,
                                                 uint64_t policy = 0) {
        if (b != nullptr)
            add_source(factor, b, p.at, value);
        if (V <= p.left_x) {
            if (Policy)
                store_vector(next + p.at, value, policy);
            else
                store_vector(next + p.at, value);
        } else if (kept != nullptr) {
            T all[V];
            load_vector(kept, all);
#pragma unroll
            for (int v = 0; v < V; v++)
                all[v] = v < p.left_x ? value[v] : all[v];
            store_vector(next + p.at, all);
        } else {
#pragma unroll
            for (int v = 0; v < V; v++)
                if (v < p.left_x)
                    next[p.at + v] = value[v];
        }
    }

    /* Sums the residual of a vector of cells, with those of the other lanes that share a partial sum. */
    __device__ __forceinline__ static void sum_residual(stencil_norm norm, const vector_place &p,
                                                        const double *term, double *partial) {
        const double sum = partial_sum<V>(term, norm);
        if (p.left_x > 0 && p.x % STENCIL_PARTIAL_CELLS == 0)
            *partial = sum;
    }
};

} // namespace stencil
