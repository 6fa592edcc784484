/* Classes of cells on a GPU, for kernels that are compiled for them (Classed). Where a group of cells is
 * mixed, they update all of its cells alike, and then give those of other classes what these ask for. Groups
 * of plain cells cost a look at their mark. */
#pragma once

#include "kernels/cells.cuh"
#include "kernels/residual.cuh"
#include "sync/memory.cuh"

namespace stencil {

/* Returns the block's pointer to the factors in time of the step that reads buffer `from`: the block has one
 * to those of the step that it makes, and one to those of the next. put_factors() writes that of the step
 * after `step` steps, which reads buffer `from`; a barrier of the block must follow. */
template <class T> __device__ __forceinline__ const T *&factors_at(int from) {
    __shared__ const T *at[2];
    return at[from];
}
template <class T>
__device__ __forceinline__ void put_factors(const stencil_kernel_args &s, int64_t step, int from) {
    if (s.sums.factor != nullptr && threadIdx.x == 0 && threadIdx.y == 0)
        factors_at<T>(from) = factors_of<T>(s, step);
}

/* Returns the block's copy of the weights of the step that reads buffer `from`, in a persistent loop of such
 * a kernel. start_weights() writes those of the first step, copy_weights() begins to copy those at a place of
 * the cycle: await_copies() and a barrier of the block must follow. */
template <class T> __device__ __forceinline__ T *loop_weights(int from) {
    __shared__ __align__(16) T weight[2][(STENCIL_WEIGHTS + 3) / 4 * 4];
    return weight[from];
}
template <class T> __device__ __forceinline__ void start_weights(const stencil_kernel_args &s) {
    const uniform_weights<T> first = weights_of<T>(s.domain);
    for (int i = (int)thread_in_block(); i < STENCIL_WEIGHTS; i += block_threads)
        loop_weights<T>(0)[i] = loop_weights<T>(1)[i] = first.weight[i];
}
template <class T>
__device__ __forceinline__ void copy_weights(const stencil_kernel_args &s, int place, int from) {
    static_assert(sizeof(stencil_weights) % 16 == 0, "weights of a step are copied as vectors");
    const int i = (int)thread_in_block() * vector_cells<T>;
    if (i < STENCIL_WEIGHTS)
        copy_vector(loop_weights<T>(from) + i, weights_of<T>(s.domain, s.cycle[place]).weight + i);
    end_copies();
}
/* Returns the provider of the weights of the step that reads buffer `from`. Loop: a kernel for classes makes
 * it in a persistent loop. */
template <class T, bool Loop>
__device__ __forceinline__ uniform_weights<T> weights_of_step(const stencil_kernel_args &s, int from) {
    if constexpr (Loop)
        return {loop_weights<T>(from), &s.domain};
    else
        return weights_of<T>(s.domain);
}

/* Returns array k of those with factors in time. */
template <class T> __device__ __forceinline__ const T *sum_array(const stencil_kernel_args &s, int k) {
    return static_cast<const T *>(s.sums.array[k]);
}

/* Returns the number of the mark of the group that has cell x of row (z, y), from that of cell (0, 0, 0) on.
 * (Fields with 2^31 groups have 137 billion cells.) */
__device__ __forceinline__ int32_t mark_number(const stencil_classes &c, int z, int y, int x) {
    return z * (int32_t)c.mark_plane + y * (int32_t)c.mark_row + (int32_t)((uint32_t)x / STENCIL_GROUP_CELLS);
}
/* Loads a mark, which L2 keeps for the next step. No kernel writes marks or classes, so loads of them need
 * not be coherent. */
__device__ __forceinline__ uint32_t load_mark(const uint8_t *at) {
    return load_byte(at, l2_policy(l2_line::keep, true));
}

/* Returns the class of the cell at an element. */
__device__ __forceinline__ uint32_t class_at(const stencil_classes &c, int64_t at) {
    return c.of == nullptr ? STENCIL_CLASS_PLAIN : __ldg(c.of + at);
}

/* The classes of V consecutive cells: a byte for each, the first one lowest. */
template <int V> struct vector_classes {
    uint32_t of;

    __device__ __forceinline__ uint32_t of_cell(int v) const {
        return of >> (8 * v) & 0xffu;
    }
    /* Tells whether cell v keeps its value, or is driven. */
    __device__ __forceinline__ bool keeps(int v) const {
        return !stencil_class_is_updated(of_cell(v));
    }
    /* Tells whether all cells have a class. */
    __device__ __forceinline__ bool all_are(uint32_t class_of) const {
        constexpr uint32_t all = V == 4 ? ~0u : (1u << (8 * V)) - 1;
        return ((of ^ class_of * 0x01010101u) & all) == 0;
    }
    /* Tells whether all cells keep their values. */
    __device__ __forceinline__ bool all_kept() const {
        return all_are(STENCIL_CLASS_KEPT);
    }
    /* Tells whether any of the first `count` cells keeps its value; any cell has a row, or is driven. */
    __device__ __forceinline__ bool any_kept(int count) const {
        bool any = false;
        unrolled<V>([&](int v) { any = any || (v < count && of_cell(v) == STENCIL_CLASS_KEPT); });
        return any;
    }
    __device__ __forceinline__ bool any_given() const {
        bool any = false;
        unrolled<V>([&](int v) {
            any = any || stencil_class_is_varied(of_cell(v)) || of_cell(v) == STENCIL_CLASS_DRIVEN;
        });
        return any;
    }
};
/* Returns the classes of V consecutive cells from an element on, whose groups have the class or mark `mark`:
 * only where that is MIXED, their bytes are loaded. */
template <int V>
__device__ __forceinline__ uint32_t classes_of(const stencil_classes &c, uint32_t mark, int64_t at) {
    if (mark != STENCIL_MARK_MIXED)
        return mark * 0x01010101u;
    if constexpr (V == 4)
        return __ldg(reinterpret_cast<const uint32_t *>(c.of + at));
    else if constexpr (V == 2)
        return __ldg(reinterpret_cast<const uint16_t *>(c.of + at));
    else
        return __ldg(c.of + at);
}

/* Returns the class of all cells whose marks the lanes of a warp have, or MIXED. */
__device__ __forceinline__ uint32_t class_of_all(uint32_t mark) {
    const uint32_t first = __shfl_sync(~0u, mark, 0);
    return __all_sync(~0u, mark == first) ? first : (uint32_t)STENCIL_MARK_MIXED;
}

/* Returns the class of all cells that a warp makes, V each from (z, y, x) on in `count` rows (2D) or planes
 * (3D), or MIXED. Each lane looks at the marks of some of their groups. */
template <class P, int V>
__device__ __forceinline__ uint32_t march_class(const stencil_kernel_args &s, int z, int y, int x,
                                                int count) {
    if (s.classes.mark == nullptr)
        return STENCIL_CLASS_PLAIN;
    constexpr int groups = 32 * V / STENCIL_GROUP_CELLS, rows = 32 / groups;
    const uint32_t lane = threadIdx.x % 32;
    const int row = (int)(lane / groups), of = x + (int)(lane % groups * STENCIL_GROUP_CELLS - lane * V);
    const int32_t stride = (int32_t)(P::rank == 3 ? s.classes.mark_plane : s.classes.mark_row),
                  first = mark_number(s.classes, z, y, min(of, (int)s.domain.n[STENCIL_X] - 1));
    uint32_t mark = load_mark(s.classes.mark + (first + min(row, count - 1) * stride));
#pragma unroll 1
    for (int i = row + rows; i < count; i += rows)
        mark = load_mark(s.classes.mark + (first + i * stride)) == mark ? mark : (uint32_t)STENCIL_MARK_MIXED;
    return class_of_all(mark);
}

/* Tells whether updated cells add other arrays than the source term that kernels for plain problems know. */
__device__ __forceinline__ bool has_sums(const stencil_kernel_args &s) {
    return s.sums.sources > 1 || s.sums.factor != nullptr;
}

/* The row of a class in the palette: the weights of all points, then the constant. */
template <class T> __device__ __forceinline__ const T *row_of_class(const stencil_classes &c, uint32_t of) {
    const stencil_weights &weights = c.palette[of - 1];
    if constexpr (sizeof(T) == sizeof(float))
        return weights.f32;
    else
        return weights.f64;
}
/* Tells whether a class has a weight of 0, or a constant, so that an update has to test for them. */
template <class P, class T>
__device__ __forceinline__ bool is_tested_class(const stencil_classes &c, uint32_t of) {
    const T *const row = row_of_class<T>(c, of);
    bool tested = __ldg(row + STENCIL_SOURCE_WEIGHT) != T(0);
#pragma unroll 1
    for (int k = 0; k < P::count; k++)
        tested = tested || __ldg(row + k) == T(0);
    return tested;
}
/* Tells, to all threads of the block, whether any class of the palette has to be tested. */
template <class P, class T> __device__ __forceinline__ bool any_tested_class(const stencil_kernel_args &s) {
    bool tested = false;
    for (int of = 1 + (int)threadIdx.x; of <= s.class_passes.palette_count; of += (int)blockDim.x)
        tested = tested || is_tested_class<P, T>(s.classes, (uint32_t)of);
    return __syncthreads_or(tested);
}
/* Returns the row of the cell at an element, whose class may be WIDE. */
template <class T>
__device__ __forceinline__ const T *row_of_cell(const stencil_classes &c, uint32_t of, int64_t at) {
    return row_of_class<T>(c, of == STENCIL_CLASS_WIDE ? STENCIL_BYTE_ROWS + __ldg(c.row + at) : of);
}

/* Returns the factor of source array k: that of the step or, where none changes in time, `factor`. */
template <class T>
__device__ __forceinline__ T factor_of_source(const stencil_kernel_args &s, int from, int k,
                                              const point_weight<T> &factor) {
    return s.sums.factor == nullptr ? factor.value : __ldg(factors_at<T>(from) + k);
}

/* Returns a sum with the source terms of the cell at element `at` added; `factor` is that of a single array
 * that does not change in time. */
template <class T>
__device__ __forceinline__ T add_sources(const stencil_kernel_args &s, int from, int64_t at, T sum,
                                         const point_weight<T> &factor) {
    const auto where = [&] { return at; };
#pragma unroll 1
    for (int k = 0; k < s.sums.sources; k++)
        sum = source_term(point_weight<T>{factor_of_source(s, from, k, factor), &s.domain}, where,
                          sum_array<T>(s, k)[at], sum);
    return sum;
}

/* Returns the value that the driven cell at element `at` has after the step that reads buffer `from`. */
template <class T>
__device__ __forceinline__ T driven_value(const stencil_kernel_args &s, int from, int64_t at) {
    const T *const factors = factors_at<T>(from) + STENCIL_SUM_ARRAYS;
    const auto where = [&] { return at; };
    T sum = 0;
#pragma unroll 1
    for (int k = 0; k < s.sums.driven; k++)
        sum = term(k, point_weight<T>{__ldg(factors + k), &s.domain}, where, sum_array<T>(s, k)[at], sum);
    return sum;
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

/* Returns the new value of the cell at element `at`, whose class `of` names a row of the palette, in a
 * problem with one source at most, which does not change in time. neighbour(dz, dy, dx) returns the old value
 * of a cell beside it. */
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
/* Returns the new value of the cell at element `at` of the field u in a step that reads buffer `from`, whose
 * class `of` names a row of the palette or is WIDE. Its neighbours are loaded again: they are in L1. */
template <class P, class T>
__device__ __forceinline__ T value_of_class(const stencil_kernel_args &s, int from, const T *u, int64_t at,
                                            uint32_t of) {
    const stencil_domain &d = s.domain;
    const T *row = row_of_cell<T>(s.classes, of, at);
    const auto where = [&] { return at; };
    T sum = 0;
    P::each([&](int k, int dz, int dy, int dx) {
        sum = term_of_class(d, row, k, where, u[at + dz * d.plane + dy * d.row + dx], sum);
    });
    sum = add_sources(s, from, at, sum, point_weight<T>{T(1), &d});
    return end_of_class(row, false, T(0), sum);
}

/* Gives those of the first `count` cells of a vector at element `at` new values that are driven or have a row
 * of weights, by value_of(element, class). The loop is not unrolled: it has the code of one update. */
template <class T, int V, class Value>
__device__ __forceinline__ void give_values(const stencil_kernel_args &s, int from, int64_t at, int count,
                                            const vector_classes<V> &classes, T *value, Value value_of) {
    if (classes.of == STENCIL_CLASS_PLAIN || (s.classes.palette == nullptr && s.sums.driven == 0))
        return;
#pragma unroll 1
    for (int v = 0; v < min(V, count); v++) {
        const uint32_t of = classes.of_cell(v);
        if (!stencil_class_is_varied(of) && of != STENCIL_CLASS_DRIVEN)
            continue;
        const T one = of == STENCIL_CLASS_DRIVEN ? driven_value<T>(s, from, at + v) : value_of(at + v, of);
        unrolled<V>([&](int w) { value[w] = w == v ? one : value[w]; });
    }
}
/* The same for driven cells alone. */
template <class T, int V>
__device__ __forceinline__ void give_driven(const stencil_kernel_args &s, int from, int64_t at, int count,
                                            const vector_classes<V> &classes, T *value) {
    if (s.sums.driven == 0)
        return;
#pragma unroll 1
    for (int v = 0; v < min(V, count); v++)
        if (classes.of_cell(v) == STENCIL_CLASS_DRIVEN) {
            const T one = driven_value<T>(s, from, at + v);
            unrolled<V>([&](int w) { value[w] = w == v ? one : value[w]; });
        }
}

} // namespace stencil
