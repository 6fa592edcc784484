/* Cells whose weights come from arrays of face weights, on a GPU: stars of radius 1. The weights are those
 * that solver/problem/faces.h describes; kernels/cpu_fields.inc has the same arithmetic for the CPU. */
#pragma once

#include "kernels/classes.cuh"

namespace stencil {

__device__ __forceinline__ float divide(float a, float b) {
    return __fdiv_rn(a, b);
}
__device__ __forceinline__ double divide(double a, double b) {
    return __ddiv_rn(a, b);
}

/* The weight provider of one cell: what its faces make of the weights of the step. */
template <class P, class T> struct field_weights {
    static constexpr int faces = P::count - 1, half = faces / 2;
    T of[P::count];
    const stencil_domain *domain;
    T factor; /* of the source term */

    /* step: the weights of the step; face: weights of the cell's faces, in the order of its points. */
    __device__ __forceinline__ field_weights(const uniform_weights<T> &step, const T *face)
        : domain(step.domain) {
        T centre = step.weight[half];
        factor = step.weight[STENCIL_SOURCE_WEIGHT];
        if (domain->divides) {
            T sum = face[0];
            unrolled<faces - 1>([&](int i) { sum += face[i + 1]; });
            const T over = divide(step.weight[0], sum);
            unrolled<faces>([&](int i) { of[i < half ? i : i + 1] = multiply(face[i], over); });
        } else {
            unrolled<faces>([&](int i) {
                centre -= face[i];
                of[i < half ? i : i + 1] = face[i];
            });
        }
        of[half] = centre;
    }
    __device__ __forceinline__ point_weight<T> point(int k) const {
        return {of[k], domain};
    }
    __device__ __forceinline__ point_weight<T> source() const {
        return {factor, domain};
    }
};

/* The axis of face i of a cell, and whether the face is before the cell. */
template <class P> __device__ __forceinline__ constexpr int axis_of_face(int i) {
    return 3 - P::rank + (i < P::rank ? i : 2 * P::rank - 1 - i);
}
__device__ __forceinline__ int64_t stride_of(const stencil_domain &d, int axis) {
    return axis == STENCIL_X ? 1 : axis == STENCIL_Y ? d.row : d.plane;
}

/* Loads the weights of the faces of a cell. */
template <class P, class T>
__device__ __forceinline__ void load_faces(const stencil_domain &d, int64_t at, T *face) {
    unrolled<2 * P::rank>([&](int i) {
        const int axis = axis_of_face<P>(i);
        const T *of = static_cast<const T *>(d.face[axis]) + at;
        face[i] = __ldg(i < P::rank ? of - stride_of(d, axis) : of);
    });
}

/* The faces of a batch of rows (2D) or planes (3D) of V consecutive cells, the first at a 16-byte boundary. A
 * face along the streaming axis is behind one row and before the next. */
template <class P, class T, int V, int Batch> struct march_faces {
    static constexpr int stream = P::rank == 3 ? STENCIL_Z : STENCIL_Y;
    T along[Batch + 1][V], x[Batch][V + 1];
    T across[P::rank == 3 ? Batch : 1][2][V]; /* those along y of 3D */

    /* Loads the faces of the rows from element `at` on, `stride` elements from each other. Only `left` exist:
     * the last of them is loaded again for the rest. */
    __device__ __forceinline__ void load(const stencil_domain &d, int64_t at, int64_t stride, int left) {
        const T *const of_x = static_cast<const T *>(d.face[STENCIL_X]),
                       *const of_y = static_cast<const T *>(d.face[STENCIL_Y]),
                       *const of_stream = static_cast<const T *>(d.face[stream]);
        load_vector(of_stream + at - stride, along[0]);
#pragma unroll
        for (int k = 0; k < Batch; k++) {
            load_vector(of_stream + at, along[k + 1]);
            x[k][0] = __ldg(of_x + at - 1);
            load_vector(of_x + at, x[k] + 1);
            if constexpr (P::rank == 3) {
                load_vector(of_y + at - d.row, across[k][0]);
                load_vector(of_y + at, across[k][1]);
            }
            at = opaque(k + 1 < left ? at + stride : at);
        }
    }
    /* The weights of cell v of row k. */
    __device__ __forceinline__ field_weights<P, T> of(const uniform_weights<T> &step, int k, int v) const {
        if constexpr (P::rank == 3) {
            const T face[] = {along[k][v], across[k][0][v], x[k][v],
                              x[k][v + 1], across[k][1][v], along[k + 1][v]};
            return field_weights<P, T>(step, face);
        } else {
            const T face[] = {along[k][v], x[k][v], x[k][v + 1], along[k + 1][v]};
            return field_weights<P, T>(step, face);
        }
    }
};
struct no_faces {};

/* Returns what point k of a cell at u reads, `away` elements from the cell: its class says it. */
template <class T> __device__ __forceinline__ T read_point(const T *u, const T *row, int k, int64_t away) {
    const T *read = row + STENCIL_READS * k;
    T value = __ldg(read + STENCIL_READ_CONSTANT);
    const T opposite = __ldg(read + STENCIL_READ_OPPOSITE), centre = __ldg(read + STENCIL_READ_CENTRE);
    if (__ldg(read + STENCIL_READ_STRAIGHT) != T(0))
        return u[away];
    if (opposite != T(0))
        value = fma(opposite, u[-away], value);
    return centre != T(0) ? fma(centre, u[0], value) : value;
}

/* Returns the new value of the cell at element `at` of the field u, of class `of` (PLAIN: it reads all of its
 * points), as its faces make it. */
template <class P, class T>
__device__ __forceinline__ T value_of_faces(const stencil_kernel_args &s, const uniform_weights<T> &step,
                                            int from, const T *u, int64_t at, uint32_t of) {
    const stencil_domain &d = s.domain;
    const T *row = stencil_class_is_varied(of) ? row_of_cell<T>(s.classes, of, at) : nullptr;
    const auto where = [&] { return at; };
    T face[2 * P::rank], sum = 0;
    load_faces<P>(d, at, face);
    const field_weights<P, T> weights(step, face);
    P::each([&](int k, int dz, int dy, int dx) {
        const int64_t away = dz * d.plane + dy * d.row + dx;
        const T value = row == nullptr ? u[at + away] : read_point(u + at, row, k, away);
        sum = term(k, weights.point(k), where, value, sum);
    });
    return add_sources(s, from, at, sum, weights.source());
}

/* Gives cells of a vector new values, of the field u, that are driven or whose row says what their points
 * read. */
template <class P, class T, int V>
__device__ __forceinline__ void give_reads(const stencil_kernel_args &s, const uniform_weights<T> &step,
                                           int from, const T *u, int64_t at, int count,
                                           const vector_classes<V> &classes, T *value) {
    give_values(s, from, at, count, classes, value, [&](int64_t element, uint32_t of) {
        return value_of_faces<P>(s, step, from, u, element, of);
    });
}

} // namespace stencil
