/* The window of the stream sweep for cells of several classes, and for fields of weights.
 *
 * Before its march a warp looks at the marks of all groups in it (march_class()). No branch divides the warp:
 *
 *      all plain       made by the window for plain problems (stream.cuh)
 *      all kept        not made: both buffers have held these cells since they were loaded
 *      all of a class  made with the weights of its row
 *      mixed           classes are loaded with the rows. A vector whose cells all have the same row is made
 *                      with its weights, all others with those of the step, and then their cells of a row
 *                      again, from the same registers; a vector of kept cells is not stored
 */
#pragma once

#include "kernels/fields.cuh"
#include "kernels/sweeps/stream_window.cuh"

namespace stencil {

template <class P, class T, int Batch, bool Loop, bool Fields>
struct classed_window : stream_window<P, T, Batch, Loop> {
    using base = stream_window<P, T, Batch, Loop>;
    using cells = stream_cells<P, T>;
    using base::advance, base::centre, base::shift, base::start, base::update, base::window;
    static constexpr int R = P::radius, V = vector_cells<T>;
    using faces = std::conditional_t<Fields, march_faces<P, T, V, Batch>, no_faces>;

    /* The state of a march, the same for all of its batches. */
    struct course {
        const stencil_kernel_args &s;
        int from;
        int x;
        uint32_t march; /* the class of all its cells, or MIXED */

        /* Found again where they are needed: values that live longer cost registers. */
        __device__ __forceinline__ T *next() const {
            return static_cast<T *>(s.domain.u[!from]);
        }
        __device__ __forceinline__ uniform_weights<T> weights() const {
            return weights_of_step<T, Loop>(s, from);
        }
        __device__ __forceinline__ int left_x() const {
            return (int)s.domain.n[STENCIL_X] - x;
        }
        __device__ __forceinline__ int64_t stream() const {
            return P::rank == 3 ? s.domain.plane : s.domain.row;
        }
    };

    uint32_t of[Batch]; /* classes of the thread's cells in the rows of a batch */

    /* One: march is a class that has a row. */
    template <bool Check, bool One>
    __device__ __forceinline__ void tile(const stencil_kernel_args &s, int from, const place &p,
                                         uint32_t march, double *partial) {
        const stencil_domain &d = s.domain;
        const T *u = static_cast<const T *>(d.u[from]);
        const int64_t stream = P::rank == 3 ? d.plane : d.row, cross = P::rank == 3 ? d.row : 0;
        const int left_x = (int)d.n[STENCIL_X] - p.x; /* cells to the end of the row */
        /* A thread beyond the end of the row loads what the last one loads, and stores nothing. */
        int64_t at = p.z * d.plane + p.y * d.row + (left_x > 0 ? p.x : ((int)d.n[STENCIL_X] - 1) / V * V);
        if (Check)
            partial += p.z * d.partial_plane + p.y * d.partial_row + p.x / STENCIL_PARTIAL_CELLS;
        const course c = {s, from, p.x, march};
        start(u, at, stream, cross);
        for (int left = march == STENCIL_CLASS_KEPT && !Check ? 0 : p.count; left > 0; left -= Batch) {
            advance(u, at, stream, cross, left);
            faces f;
            if constexpr (Fields)
                f.load(d, at, stream, left);
            if constexpr (!One)
                load_classes(c, at, left);
#pragma unroll
            for (int k = 0; k < Batch; k++) {
                if (k < left) {
                    make_row<Check, One>(c, f, at, k, partial);
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

  private:
    /* Loads the classes of the rows of a batch. Of the last batch only `left` exist. */
    __device__ __forceinline__ void load_classes(const course &c, int64_t at, int left) {
#pragma unroll
        for (int k = 0; k < Batch; k++) {
            of[k] = classes_of<V>(c.s.classes, c.march, at);
            at += k + 1 < left ? c.stream() : 0;
        }
    }

    /* Makes a vector of cells. */
    template <bool Check, bool One>
    __device__ __forceinline__ void make_row(const course &c, const faces &f, int64_t at, int k,
                                             double *partial) {
        const stencil_kernel_args &s = c.s;
        const vector_place p = {c.x, c.left_x(), at};
        const vector_classes<V> classes = {One ? c.march * 0x01010101u : of[k]};
        T value[V];
        if constexpr (One) {
            make_of_class(c, at, k, value);
        } else {
            const uint32_t of_all = Fields ? (uint32_t)STENCIL_CLASS_PLAIN : row_of_all(s, classes);
            if (!Fields && __any_sync(~0u, of_all != STENCIL_CLASS_PLAIN)) {
                make_of_rows(c, at, k, of_all, value);
            } else {
                sum_points(c, f, at, k, value);
                cells::add_sources(s, c.from, at, value, c.weights().source());
            }
            give(c, at, k, classes, of_all, value);
        }
        if (One || !classes.all_kept())
            cells::store(point_weight<T>{T(1), &s.domain}, nullptr, c.next(), p, value);
        if (Check) {
            double term[V];
#pragma unroll
            for (int v = 0; v < V; v++)
                term[v] = v < c.left_x() && (One || !classes.keeps(v))
                              ? residual_term(value[v], centre(k, v), s.schedule.norm)
                              : 0.0;
            cells::sum_residual(s.schedule.norm, p, term, partial);
        }
    }

    __device__ __forceinline__ void sum_points(const course &c, const faces &f, int64_t at, int k,
                                               T *value) const {
        const auto weights = c.weights();
        unrolled<V>([&](int v) {
            const auto where = [&] { return at + v; };
            if constexpr (Fields)
                value[v] = update(f.of(weights, k, v), where, k, v);
            else
                value[v] = update(weights, where, k, v);
        });
    }

    /* Makes a vector all cells of which are of the march's class. */
    __device__ __forceinline__ void make_of_class(const course &c, int64_t at, int k, T *value) const {
        const stencil_domain &d = c.s.domain;
        const T *const row = opaque(row_of_class<T>(c.s.classes, c.march)); /* loaded again for each vector */
        unrolled<V>([&](int v) { value[v] = sum_of_class(d, row, at, k, v); });
        cells::add_sources(c.s, c.from, at, value, point_weight<T>{T(1), &d});
        unrolled<V>([&](int v) { value[v] = end_of_class(row, false, T(0), value[v]); });
    }

    /* Returns the class of all cells of a vector, if it names a row of the palette; else PLAIN. */
    __device__ __forceinline__ static uint32_t row_of_all(const stencil_kernel_args &s,
                                                          const vector_classes<V> &classes) {
        const uint32_t first = classes.of_cell(0);
        return s.classes.palette != nullptr && stencil_class_has_row(first) && classes.all_are(first)
                   ? first
                   : (uint32_t)STENCIL_CLASS_PLAIN;
    }
    /* Makes a vector with the weights of the row of class `of` or, if that is PLAIN, of the step: each lane
     * its own. Points of weight 0 of a row are not read. */
    __device__ __forceinline__ void make_of_rows(const course &c, int64_t at, int k, uint32_t of,
                                                 T *value) const {
        const stencil_domain &d = c.s.domain;
        const auto step = c.weights();
        const bool own = of != STENCIL_CLASS_PLAIN;
        const T *const row = row_of_class<T>(c.s.classes, own ? of : 1u);
        unrolled<V>([&](int v) { value[v] = 0; });
        P::each([&](int point, int dz, int dy, int dx) {
            const int m = P::rank == 3 ? dz : dy, o = P::rank == 3 ? dy : 0;
            const T of_row = __ldg(row + point);
            const point_weight<T> weight = {own ? of_row : step.point(point).value, &d};
            const bool unread = own && of_row == T(0);
            unrolled<V>([&](int v) {
                const T cell = window[o + P::cross][k + m + R][v + dx + R];
                value[v] = term(
                    point, weight, [&] { return at + v; }, unread ? T(0) : cell, value[v]);
            });
        });
        cells::add_sources(c.s, c.from, at, value, point_weight<T>{own ? T(1) : step.source().value, &d});
        const T constant = own ? __ldg(row + STENCIL_SOURCE_WEIGHT) : T(0);
        unrolled<V>([&](int v) { value[v] = constant == T(0) ? value[v] : value[v] + constant; });
    }

    /* Returns the sum of the points of cell v with the weights of a row of the palette. */
    __device__ __forceinline__ T sum_of_class(const stencil_domain &d, const T *row, int64_t at, int k,
                                              int v) const {
        T sum = 0;
        P::each([&](int point, int dz, int dy, int dx) {
            const int m = P::rank == 3 ? dz : dy, o = P::rank == 3 ? dy : 0;
            sum = term_of_class(
                d, row, point, [&] { return at + v; }, window[o + P::cross][k + m + R][v + dx + R], sum);
        });
        return sum;
    }

    /* Gives the cells of a vector in a mixed march, or of classes without a row, what these ask for. of_all:
     * the row with which all of them are made already, or PLAIN. */
    __device__ __forceinline__ void give(const course &c, int64_t at, int k, const vector_classes<V> &classes,
                                         uint32_t of_all, T *value) const {
        const stencil_kernel_args &s = c.s;
        unrolled<V>([&](int v) { value[v] = classes.keeps(v) ? centre(k, v) : value[v]; });
        if constexpr (Fields) {
            give_reads<P>(s, c.weights(), c.from, static_cast<const T *>(s.domain.u[c.from]), at, c.left_x(),
                          classes, value);
        } else {
            give_driven(s, c.from, at, c.left_x(), classes, value);
            if (s.classes.palette == nullptr || classes.of == STENCIL_CLASS_PLAIN ||
                of_all != STENCIL_CLASS_PLAIN)
                return;
#pragma unroll
            for (int v = 0; v < V; v++)
                if (v < c.left_x() && stencil_class_is_varied(classes.of_cell(v))) {
                    const T *const row = row_of_cell<T>(s.classes, classes.of_cell(v), at + v);
                    const T sum = add_sources(s, c.from, at + v, sum_of_class(s.domain, row, at, k, v),
                                              point_weight<T>{T(1), &s.domain});
                    value[v] = end_of_class(row, false, T(0), sum);
                }
        }
    }
};

} // namespace stencil
