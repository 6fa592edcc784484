/* Classes of cells on a GPU. A kernel that is compiled for classes (Classed) updates all cells of a vector
 * alike, and then gives those of other classes what these ask for. Groups of plain cells cost the load of a
 * mark. */
#pragma once

#include "kernels/cells.cuh"
#include "kernels/residual.cuh"

namespace stencil {

/* Returns the address of the mark of the group that has cell x of row (z, y). */
__device__ __forceinline__ const uint8_t *mark_at(const stencil_classes &c, int z, int y, int x) {
    return c.mark + z * c.mark_plane + y * c.mark_row + x / STENCIL_GROUP_CELLS;
}

/* The classes of V consecutive cells, the mark of whose group is known: their bytes are loaded only where the
 * group is mixed. No kernel writes classes or marks, so all loads of them are __ldg(). */
template <int V> struct vector_classes {
    uint32_t of; /* a byte for each cell, the first one lowest */

    __device__ __forceinline__ vector_classes(const stencil_classes &c, uint32_t mark, int64_t at) {
        of = mark * 0x01010101u;
        if (mark != STENCIL_MARK_MIXED)
            return;
        if constexpr (V == 4)
            of = __ldg(reinterpret_cast<const uint32_t *>(c.of + at));
        else if constexpr (V == 2)
            of = __ldg(reinterpret_cast<const uint16_t *>(c.of + at));
        else
            of = __ldg(c.of + at);
    }
    __device__ __forceinline__ uint32_t of_cell(int v) const {
        return of >> (8 * v) & 0xffu;
    }
    /* Tells whether cell v keeps its value. */
    __device__ __forceinline__ bool keeps(int v) const {
        return of_cell(v) == STENCIL_CLASS_KEPT;
    }
    /* Puts the old values of the cells that keep theirs among the new ones. */
    template <class T> __device__ __forceinline__ void keep(const T *old, T *value) const {
#pragma unroll
        for (int v = 0; v < V; v++)
            value[v] = keeps(v) ? old[v] : value[v];
    }
};

/* The row of a class in the palette: the weights of all points, then the constant. */
template <class T> __device__ __forceinline__ const T *row_of_class(const stencil_classes &c, uint32_t of) {
    const stencil_weights &weights = c.palette[of - 1];
    if constexpr (sizeof(T) == sizeof(float))
        return weights.f32;
    else
        return weights.f64;
}

/* Returns a sum with point k of a cell added, by the weight in a row of the palette: where that is 0, the
 * neighbour's value is not used. where() as in term(). */
template <class T, class Where>
__device__ __forceinline__ T term_of_class(const stencil_domain &d, const T *row, int k, Where where, T value,
                                           T sum) {
    const point_weight<T> weight = {__ldg(row + k), &d};
    return term(k, weight, where, weight.value == T(0) ? T(0) : value, sum);
}
/* Returns the complete sum of a cell with the source term and the constant of the row added. */
template <class T> __device__ __forceinline__ T end_of_class(const T *row, bool has_source, T source, T sum) {
    const T constant = __ldg(row + STENCIL_SOURCE_WEIGHT);
    if (has_source)
        sum += source;
    return constant == T(0) ? sum : sum + constant;
}

/* Returns the new value of the cell at element `at`, whose class `of` names a row of the palette.
 * neighbour(dz, dy, dx) returns the old value of a cell beside it. */
template <class P, class T, class Neighbour>
__device__ __forceinline__ T value_of_class(const stencil_kernel_args &s, int64_t at, uint32_t of,
                                            Neighbour neighbour) {
    const stencil_domain &d = s.domain;
    const T *const row = row_of_class<T>(s.classes, of), *const b = static_cast<const T *>(d.b);
    T sum = 0;
    P::each([&](int k, int dz, int dy, int dx) {
        sum = term_of_class(
            d, row, k, [&] { return at; }, neighbour(dz, dy, dx), sum);
    });
    return end_of_class(row, b != nullptr, b != nullptr ? b[at] : T(0), sum);
}
/* The same, with neighbours of the field u. They are loaded again: they are in L1. */
template <class P, class T>
__device__ __forceinline__ T value_of_class(const stencil_kernel_args &s, const T *u, int64_t at,
                                            uint32_t of) {
    const stencil_domain &d = s.domain;
    return value_of_class<P, T>(
        s, at, of, [&](int dz, int dy, int dx) { return u[at + dz * d.plane + dy * d.row + dx]; });
}

/* Gives those of the first `count` cells of a vector at element `at` new values that have weights of their
 * own. The loop is not unrolled: it has the code of one update. */
template <class P, class T, int V>
__device__ __forceinline__ void give_classes(const stencil_kernel_args &s, const T *u, int64_t at, int count,
                                             const vector_classes<V> &classes, T *value) {
    if (classes.of == STENCIL_CLASS_PLAIN || s.classes.palette == nullptr)
        return;
#pragma unroll 1
    for (int v = 0; v < min(V, count); v++) {
        if (!stencil_class_has_row(classes.of_cell(v)))
            continue;
        const T one = value_of_class<P>(s, u, at + v, classes.of_cell(v));
        unrolled<V>([&](int w) { value[w] = w == v ? one : value[w]; });
    }
}

} // namespace stencil
