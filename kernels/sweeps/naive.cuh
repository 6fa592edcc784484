/* The naive sweep: one thread for each cell of a tile, without vectors. Of all sweeps, read this one first. A
 * sweep makes the cells of a tile from one buffer into the other. All sweeps share the choice of a block's
 * tiles (kernels/tiles.cuh), the code between steps (kernels/persistent.cuh) and the copies of edge cells
 * (kernels/ghosts.cuh). */
#ifdef __CUDACC__
#pragma once

#include "kernels/cells.cuh"
#include "kernels/fields.cuh"
#include "kernels/ghosts.cuh"
#include "kernels/tiles.cuh"

namespace stencil {

/* Loop: a kernel for classes makes several steps in a persistent loop. */
template <class P, class T, bool Classed, bool Loop, bool Fields = false> struct naive_cells {
    using cell = T;
    static constexpr bool classed = Classed;
    /* Least blocks on a multiprocessor; threads of a block, and cells of a thread, along x; dynamic shared
     * memory of a block. */
    static constexpr int blocks = 2, block_x = STENCIL_PARTIAL_CELLS, cells = 1, shared_bytes = 0;

    template <bool Check>
    __device__ __forceinline__ static void tile(const stencil_kernel_args &s, const tile_place &t, int from,
                                                double *partial) {
        const stencil_domain &d = s.domain;
        const int z = (int)(s.tile_first[STENCIL_Z] + t.z);
        const int y = (int)((s.tile_first[STENCIL_Y] + t.y) * blockDim.y + threadIdx.y);
        const int x = (int)((s.tile_first[STENCIL_X] + t.x) * blockDim.x + threadIdx.x);
        const bool inside = y < d.n[STENCIL_Y] && x < d.n[STENCIL_X];
        const int64_t at = z * d.plane + y * d.row + x;
        const T *u = static_cast<const T *>(d.u[from]);
        const auto weights = weights_of_step<T, Loop>(s, from);
        double term = 0;
        if (inside) {
            T value = 0;
            if constexpr (!Fields)
                value = sum_points(weights, u + at, at);
            bool kept = false;
            if constexpr (Classed) {
                const uint32_t of = class_at(s.classes, at);
                kept = !stencil_class_is_updated(of);
                if (kept)
                    value = of == STENCIL_CLASS_DRIVEN ? driven_value<T>(s, from, at) : u[at];
                else if constexpr (Fields)
                    value = value_of_faces<P>(s, weights, from, u, at, of);
                else
                    value = stencil_class_is_varied(of) ? value_of_class<P>(s, from, u, at, of)
                                                        : add_sources(s, from, at, value, weights.source());
            } else if (d.b != nullptr) {
                value = source_term(
                    weights.source(), [&] { return at; }, static_cast<const T *>(d.b)[at], value);
            }
            static_cast<T *>(d.u[!from])[at] = value;
            if (at_edge(d, STENCIL_Z, z, z + 1) || at_edge(d, STENCIL_Y, y, y + 1) ||
                at_edge(d, STENCIL_X, x, x + 1))
                write_copies<T, 1>(d, !from, z, y, x, 1, &value);
            if (Check && !kept)
                term = residual_term(value, u[at], s.schedule.norm);
        }
        if (Check)
            sum_partial(term, s.schedule.norm,
                        inside ? partial + z * d.partial_plane + y * d.partial_row + x / STENCIL_PARTIAL_CELLS
                               : nullptr);
    }

    /* Returns the new value of the cell at u, but for sources; at: its element index. */
    __device__ __forceinline__ static T sum_points(const uniform_weights<T> &weights, const T *u,
                                                   int64_t at) {
        const stencil_domain &d = *weights.domain;
        const auto where = [&] { return at; };
        T sum = 0;
        P::each([&](int k, int dz, int dy, int dx) {
            sum = term(k, weights.point(k), where, u[dz * d.plane + dy * d.row + dx], sum);
        });
        return sum;
    }

    /* Stores a partial sum of 64 terms, which two warps have; the first thread of the two stores it. */
    __device__ __forceinline__ static void sum_partial(double term, stencil_norm norm, double *partial) {
        __shared__ double half[block_threads / 32];
        const uint32_t warp = thread_in_block() / 32;
        const double sum = combine_lanes(term, 32, norm);
        __syncthreads(); /* waits until all threads have read the half sums of the tile before */
        if (threadIdx.x % 32 == 0)
            half[warp] = sum;
        __syncthreads();
        if (threadIdx.x == 0 && partial != nullptr)
            *partial = combine(half[warp], half[warp + 1], norm);
    }
};
template <class P, class T, bool Relaunch, bool Ll> using naive_sweep = naive_cells<P, T, false, false>;
template <class P, class T, bool Relaunch, bool Ll> using naive_classed = naive_cells<P, T, true, !Relaunch>;
template <class P, class T, bool Relaunch, bool Ll>
using naive_fielded = naive_cells<P, T, true, !Relaunch, true>;

} // namespace stencil
#else
/* The CPU twin of the naive sweep: one cell after the other, row by row. */

/* Returns the sum of the points of the cell at u. */
ALWAYS_INLINE CPU_REAL CPU_(naive_cell)(const stencil_domain *d, const CPU_REAL *u, CPU_(weights) weights,
                                        stencil_shape shape) {
    const int radius = shape.radius, rz = shape.rank == 3 ? radius : 0;
    CPU_REAL sum = 0;
    int k = 0;
    for (int dz = -rz; dz <= rz; dz++)
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++)
                if (stencil_rule_contains(shape.rule, radius, dz, dy, dx)) {
                    const CPU_REAL value = u[dz * d->plane + dy * d->row + dx];
                    sum = CPU_(term_one)(k, CPU_(weight)(&weights, k, 0, 0), value, sum);
                    k++;
                }
    return sum;
}

/* Returns a sum with the source terms of cell x of row (z, y) added. */
ALWAYS_INLINE CPU_REAL CPU_(naive_sources)(const stencil_domain *d, const stencil_cpu_pass *pass,
                                           CPU_(weights) weights, int64_t x, CPU_REAL sum) {
    const int64_t at = weights.z * d->plane + weights.y * d->row + x;
    if (d->b != NULL)
        sum = CPU_(term_one)(STENCIL_SOURCE_WEIGHT, CPU_(weight)(&weights, STENCIL_SOURCE_WEIGHT, 0, 0),
                             ((const CPU_REAL *)d->b)[at], sum);
    for (int k = 1; pass->sums != NULL && k < pass->sums->sources; k++)
        sum = CPU_(fma_one)((CPU_REAL)pass->factor[k], ((const CPU_REAL *)pass->sums->array[k])[at], sum);
    return sum;
}

/* Returns the sum of the points of the cell at element `at` of u, whose weights come from its faces.
 * `class_of`: the row of its class; NULL: it reads the cells of all its points. */
ALWAYS_INLINE CPU_REAL CPU_(naive_field_cell)(const stencil_domain *d, const CPU_REAL *u, int64_t at,
                                              const CPU_REAL *of, const CPU_REAL *class_of,
                                              stencil_shape shape) {
    const int rank = shape.rank;
    const CPU_(faces) faces = CPU_(faces_at)(d, 0);
    CPU_REAL face[6], weight[7], sum = 0;
    int64_t away[7];
    CPU_(load_faces_one)(face, &faces, at, rank);
    CPU_(field_weights_one)(weight, face, of, faces.divides, rank);
    for (int k = 0; k <= 2 * rank; k++) {
        const int axis = 3 - rank + (k < rank ? k : 2 * rank - k);
        const int64_t far = k == rank ? 0 : axis == STENCIL_X ? 1 : axis == STENCIL_Y ? d->row : d->plane;
        away[k] = k < rank ? -far : far;
    }
    for (int k = 0; k <= 2 * rank; k++) {
        const CPU_REAL value =
            class_of == NULL ? u[at + away[k]] : CPU_(read_point)(u + at, class_of, away, k, rank);
        sum = CPU_(term_one)(k, weight[k], value, sum);
    }
    return sum;
}

/* Returns the sum of the points of the cell at u with a row of the palette. */
ALWAYS_INLINE CPU_REAL CPU_(naive_of_class)(const stencil_domain *d, const CPU_REAL *u, const CPU_REAL *of,
                                            stencil_shape shape) {
    const int radius = shape.radius, rz = shape.rank == 3 ? radius : 0;
    CPU_REAL sum = 0;
    int k = 0;
    for (int dz = -rz; dz <= rz; dz++)
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++)
                if (stencil_rule_contains(shape.rule, radius, dz, dy, dx)) {
                    const CPU_REAL value = of[k] == 0 ? 0 : u[dz * d->plane + dy * d->row + dx];
                    sum = CPU_(term_one)(k, of[k], value, sum);
                    k++;
                }
    return sum;
}

/* Gives the cells of row (z, y), whose results are in `next` as if all were plain, what their classes ask
 * for. */
ALWAYS_INLINE void CPU_(naive_classes)(const stencil_domain *d, const stencil_cpu_pass *pass, CPU_REAL *next,
                                       CPU_(weights) weights, stencil_shape shape) {
    const stencil_classes *c = pass->classes;
    const int64_t z = weights.z, y = weights.y, at = z * d->plane + y * d->row;
    const CPU_REAL *u = (const CPU_REAL *)d->u[pass->from] + at;
    CPU_(keep_cells)(d, c, next, u, z, y, 0, d->n[STENCIL_X]);
    for (int64_t x = 0; x < d->n[STENCIL_X] && c->palette != NULL; x++) {
        const uint8_t of = c->of[at + x];
        if (!stencil_class_is_varied(of))
            continue;
        const CPU_REAL *row = c->palette[stencil_palette_at(c, of, at + x)].CPU_PRECISION,
                       constant = row[STENCIL_SOURCE_WEIGHT];
        const bool fields = d->face[STENCIL_X] != NULL; /* whose rows have the constants of points */
        next[x] =
            CPU_(naive_sources)(d, pass, weights, x,
                                fields ? CPU_(naive_field_cell)(d, u - at, at + x, weights.of, row, shape)
                                       : CPU_(naive_of_class)(d, u + x, row, shape));
        next[x] = fields || constant == 0 ? next[x] : next[x] + constant;
    }
    if (pass->sums != NULL && pass->sums->driven > 0)
        CPU_(drive_cells)(d, c, pass->sums, pass->factor, next, z, y, 0, d->n[STENCIL_X]);
}

ALWAYS_INLINE void CPU_(naive)(const stencil_domain *d, const stencil_cpu_pass *pass, stencil_shape shape) {
    for (int64_t r = pass->first; r < pass->last; r++) {
        const int64_t z = r / d->n[STENCIL_Y], y = r % d->n[STENCIL_Y], at = z * d->plane + y * d->row;
        const CPU_REAL *u = (const CPU_REAL *)d->u[pass->from] + at;
        CPU_REAL *next = (CPU_REAL *)d->u[!pass->from] + at;
        const CPU_(weights) weights = {pass->weights[0]->CPU_PRECISION, z, y};
        const bool fields = shape.rule == STENCIL_STAR && shape.radius == 1 && d->face[STENCIL_X] != NULL;
        for (int64_t x = 0; x < d->n[STENCIL_X]; x++)
            next[x] = CPU_(naive_sources)(
                d, pass, weights, x,
                fields ? CPU_(naive_field_cell)(d, u - at, at + x, weights.of, NULL, shape)
                       : CPU_(naive_cell)(d, u + x, weights, shape));
        if (pass->classes != NULL)
            CPU_(naive_classes)(d, pass, next, weights, shape);
        if (pass->partial != NULL && pass->classes != NULL)
            CPU_(sum_partials_of)
        (d, pass->classes, next, u, z, y, 0, d->n[STENCIL_X], partials_at(d, pass, z, y, 0), pass->norm);
        else if (pass->partial != NULL)
            CPU_(sum_partials)(next, u, d->n[STENCIL_X], partials_at(d, pass, z, y, 0), pass->norm);
        CPU_(copy_row)(d, !pass->from, z, y);
    }
}
#endif
