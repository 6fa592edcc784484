/* Source terms, stores and residuals of the vectors of cells that all forms of the stream sweep compute. */
#pragma once

#include "kernels/cells.cuh"
#include "kernels/ghosts.cuh"
#include "kernels/residual.cuh"
#include "kernels/tiles.cuh"

namespace stencil {

/* A vector of cells on its way: where it begins along x, how many cells there are from there to the end of
 * the row, its element. */
struct vector_place {
    int x, left_x;
    int64_t at;
};

/* The place of a thread in its tile. */
struct place {
    int z, y, x; /* first cell */
    int count;   /* cells along the streaming axis; 0: outside */
};

template <class P, class T> struct stream_cells {
    static constexpr int V = vector_cells<T>, sector = 32 / (int)sizeof(T); /* cells of 32 bytes, of L2 */

    /* This thread's place in a tile, in which a thread of a 3D tile has `rows` rows of y. */
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

    /* Tells whether this thread has edge cells, in `rows` rows of y in 3D and `width` cells from x on, by
     * default its own. Few tiles do, so the streaming loop stays free of their copies. */
    __device__ __forceinline__ static bool near_edge(const stencil_domain &d, const place &p, int rows, int x,
                                                     int width) {
        const int deep = P::rank == 3 ? p.count : 1, high = P::rank == 3 ? rows : p.count;
        return at_edge(d, STENCIL_X, x, x + width) || at_edge(d, STENCIL_Y, p.y, p.y + high) ||
               (P::rank == 3 && at_edge(d, STENCIL_Z, p.z, p.z + deep));
    }
    __device__ __forceinline__ static bool near_edge(const stencil_domain &d, const place &p, int rows) {
        return near_edge(d, p, rows, p.x, V);
    }

    /* The factor is 1 but in a cycle of several. Where registers are few, cells are then loaded by
     * themselves: a second vector to multiply makes the loop spill up to 96 bytes. */
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

    /* Tells whether a vector belongs to the last sector of a row and holds what is behind the row, which may
     * be stored again: both sides are boundaries, so cells there keep their values. */
    __device__ __forceinline__ static bool ends_sector(const stencil_domain &d, const place &p) {
        const int left_x = (int)d.n[STENCIL_X] - p.x;
        return left_x < V && left_x > -(p.x % sector) && d.image[STENCIL_HERE - 1][0] == nullptr &&
               d.image[STENCIL_HERE + 1][0] == nullptr;
    }

    /* Adds the source, if any, to a vector of cells and stores it; `kept`: the same cells before, whose part
     * behind the end of the row is stored with them, or NULL. Policy: whether L2 is told what to do with
     * whole vectors. */
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

    /* Sums the residual of a vector of cells together with the other lanes. */
    __device__ __forceinline__ static void sum_residual(stencil_norm norm, const vector_place &p,
                                                        const double *term, double *partial) {
        const double sum = partial_sum<V>(term, norm);
        if (p.left_x > 0 && p.x % STENCIL_PARTIAL_CELLS == 0)
            *partial = sum;
    }
};

} // namespace stencil
