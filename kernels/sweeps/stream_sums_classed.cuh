/* Partial sums of the stream sweep for cells of several classes.
 *
 * Each lane of a warp loads the mark of one of the groups that a row (2D) or the rows of a plane (3D) have in
 * the warp's tile, one row or plane before the first of its points is added. No branch divides the warp:
 *
 *      plain          summed and stored as by the sweep for plain problems
 *      of one row     of the palette, none of whose weights is 0: summed with these weights
 *      anything else  summed with the weights of the step; classes are loaded before the last points are
 *                     added, cells of rows and driven ones made by themselves once vectors are stored
 *
 * Kept cells are not stored: both buffers have held them since they were loaded.
 */
#pragma once

#include "kernels/classes.cuh"
#include "kernels/sweeps/stream_sums.cuh"

namespace stencil {

/* The weights of the sums that a row or plane is added to: for each of a row of the palette, or of the step.
 */
template <class P, class T> struct sums_weights {
    const T *row[2 * P::radius + 1]; /* of sum m; NULL: those of the step */
    uniform_weights<T> step;

    /* The sum that takes point k. */
    __device__ __forceinline__ static constexpr int sum_of(int k) {
        int m = 0;
        for (int j = 1 - P::radius; j <= P::radius; j++)
            m += k >= P::number(P::rank == 3 ? j : 0, P::rank == 3 ? -P::radius : j, -P::radius);
        return m;
    }
    __device__ __forceinline__ point_weight<T> point(int k) const {
        const T *const from = row[sum_of(k)];
        return {from != nullptr ? __ldg(from + k) : step.point(k).value, step.domain};
    }
};

template <class P, class T, int Rows, int Ahead, bool Policies, bool Loop>
struct classed_sums : stream_sums<P, T, Rows, Ahead, Policies, Loop> {
    using base = stream_sums<P, T, Rows, Ahead, Policies, Loop>;
    using cells = stream_cells<P, T>;
    using course = typename base::course;
    using base::add, base::lane, base::sum;
    static constexpr int R = P::radius, V = vector_cells<T>, warp = 32,
                         groups = warp * V / STENCIL_GROUP_CELLS; /* of a row in a warp's tile */
    static_assert(groups * Rows <= warp && V * Rows <= warp, "a mark for each lane, at most");

    /* Tells whether sums may have the weights of a row: with far points of 3D, registers are too few for one
     * more way to add. */
    static constexpr bool gives = P::rank == 2 || R == 1;
    static constexpr int known = gives ? 0 : 2 * R; /* the first sum whose mark is known */
    /* The state of the sums in few registers: byte m - known has the mark of the lane's group in the row or
     * plane of sum m; bit m of the last byte tells whether that sum has the weights of a row of the palette.
     */
    using word = std::conditional_t<(2 * R + 1 - known < 4), uint32_t, uint64_t>;
    static constexpr int given = 8 * ((int)sizeof(word) - 1); /* the first bit of the last byte */
    static_assert(2 * R + 1 - known < (int)sizeof(word), "a byte for each sum, and one more");
    word state;
    uint32_t coming;   /* the mark of the lane's group in the row or plane that is known next */
    int32_t next_mark; /* where the one after it is, from the first mark on */
    uint32_t of[Rows]; /* classes of the cells that are complete next */

    template <bool Check>
    __device__ __forceinline__ void tile(const stencil_kernel_args &s, int from, const place &p,
                                         double *partial) {
        const uint32_t lane = threadIdx.x % warp;
        const int group = (int)(lane / Rows % groups), row = (int)(lane % Rows);
        state = 0;
        if (p.count > 0)
            next_mark = mark_number(
                s.classes, p.z, P::rank == 3 ? min(p.y + row, (int)s.domain.n[STENCIL_Y] - 1) : p.y,
                min(p.x + group * STENCIL_GROUP_CELLS - (int)lane * V, (int)s.domain.n[STENCIL_X] - 1));
        load_mark_of(s, known == 0 ? p.count : 0);
        base::template tile<Check>(*this, s, from, p, partial);
    }

    /* Loads the mark of the row or plane that is known next; `left` are still to come, with it. */
    __device__ __forceinline__ void load_mark_of(const stencil_kernel_args &s, int left) {
        coming = STENCIL_CLASS_PLAIN;
        if (s.classes.mark != nullptr && left > 0) {
            coming = load_mark(s.classes.mark + next_mark);
            next_mark += (int32_t)(P::rank == 3 ? s.classes.mark_plane : s.classes.mark_row);
        }
    }
    __device__ __forceinline__ uint32_t mark_of(int m) const {
        return (uint32_t)(state >> 8 * (m - known)) & 0xff;
    }
    __device__ __forceinline__ bool is_given(int m) const {
        return gives && (state >> (given + m) & 1) != 0;
    }
    __device__ __forceinline__ bool is_plain(int m) const {
        return __all_sync(~0u, mark_of(m) == STENCIL_CLASS_PLAIN);
    }

    __device__ __forceinline__ void add_next(const stencil_kernel_args &s, int from, const place &p,
                                             const course &c, const T *in, int left) {
        const int64_t at = c.to + min(p.count + R - left, R) * c.stream;
        constexpr word marks = ((word)1 << 8 * (2 * R + 1 - known)) - 1;
        constexpr word bits = gives ? (((word)1 << (2 * R + 1)) - 1) << given : 0;
        state = (state << 8 & marks) | coming | ((state & bits) << 1 & bits);
        load_mark_of(s, left > p.count + 2 * R + 1 - known ? 0 : left - 2 * R - 1 + known);
        if (!__all_sync(~0u, state == 0)) {
            if (gives && takes_row(s))
                state |= (word)1 << given;
            if (!is_plain(2 * R))
                load_classes(s, p, c);
        }
        if (!gives || state >> given == 0) {
            add(weights_of_step<T, Loop>(s, from), in, at, c.stream, c.cross);
            return;
        }
        sums_weights<P, T> weights = {{}, weights_of_step<T, Loop>(s, from)};
        unrolled<2 * R + 1>([&](int m) { weights.row[m] = row_given(s, m); });
        add(weights, in, at, c.stream, c.cross);
    }

    /* Returns the row of weights that sum m has, or NULL. */
    __device__ __forceinline__ const T *row_given(const stencil_kernel_args &s, int m) const {
        return is_given(m) ? row_of_class<T>(s.classes, __shfl_sync(~0u, mark_of(m), 0)) : nullptr;
    }

    /* Tells whether the sum that begins can be made with the weights of a row: all of its cells have it, and
     * none of its weights is 0. */
    __device__ __forceinline__ bool takes_row(const stencil_kernel_args &s) const {
        const uint32_t all = class_of_all(mark_of(0));
        bool zero = false;
        if (!stencil_class_has_row(all))
            return false;
        const T *const row = row_of_class<T>(s.classes, all);
        for (int k = lane(); k < P::count; k += warp)
            zero = zero || __ldg(row + k) == T(0);
        return !__any_sync(~0u, zero);
    }

    /* Loads the classes of the cells that are complete next. */
    __device__ __forceinline__ void load_classes(const stencil_kernel_args &s, const place &p,
                                                 const course &c) {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const uint32_t own = __shfl_sync(~0u, mark_of(2 * R), lane() * groups / warp * Rows + r);
            of[r] = p.x < s.domain.n[STENCIL_X]
                        ? classes_of<V>(s.classes, own, c.to + min(r, c.last) * c.cross)
                        : STENCIL_CLASS_PLAIN;
        }
    }

    /* Stores complete sums and, in a checked step, sums residuals. */
    template <bool Check>
    __device__ __forceinline__ void finish(const stencil_kernel_args &s, int from, const place &p,
                                           const course &c, const T *old_ends, double *partial) {
        const bool plain = is_plain(2 * R);
        if (plain && !has_sums(s)) {
            base::template finish<Check>(s, from, p, c, old_ends, partial);
            return;
        }
        if (plain)
            unrolled<Rows>([&](int r) { of[r] = STENCIL_CLASS_PLAIN; });
        const T *const given_row = row_given(s, 2 * R);
        const uint64_t policy = l2_policy(l2_line::give_away, s.past_l2);
#pragma unroll
        for (int r = 0; r < Rows; r++)
            if (r == 0 || r <= c.last)
                store_row(s, from, p, c.to + r * c.cross, r, given_row,
                          base::keeps && cells::ends_sector(s.domain, p) ? old_ends + r * V : nullptr,
                          policy);
        if (!plain && given_row == nullptr)
            mend(s, from, p, c);
        if (Check)
            sum_residuals(s, from, p, c, partial);
    }

    /* Stores the vector of row r, but for its kept cells. given_row: the weights with which it was summed, of
     * a row of the palette, or NULL. */
    __device__ __forceinline__ void store_row(const stencil_kernel_args &s, int from, const place &p,
                                              int64_t at, int r, const T *given_row, const T *old_ends,
                                              uint64_t policy) {
        const stencil_domain &d = s.domain;
        T *const value = sum[2 * R][r], *const next = static_cast<T *>(d.u[!from]);
        const int left_x = (int)d.n[STENCIL_X] - p.x;
        const vector_classes<V> classes = {of[r]};
        const point_weight<T> one = {T(1), &d};
        cells::add_sources(s, from, at, value,
                           given_row != nullptr ? one : weights_of_step<T, Loop>(s, from).source());
        if (given_row != nullptr)
            unrolled<V>([&](int v) { value[v] = end_of_class(given_row, false, T(0), value[v]); });
        if (!classes.any_kept(left_x))
            cells::template store<Policies>(one, nullptr, next, {p.x, left_x, at}, value, old_ends, policy);
        else if (!classes.all_kept())
            unrolled<V>([&](int v) {
                if (v < left_x && classes.of_cell(v) != STENCIL_CLASS_KEPT)
                    next[at + v] = value[v];
            });
    }

    /* Makes the cells of a mixed row or plane that have a row of weights, or are driven, from the field:
     * lanes with such cells are shared out among all lanes, a lane for each of their rows. */
    __device__ __forceinline__ void mend(const stencil_kernel_args &s, int from, const place &p,
                                         const course &c) {
        if (s.classes.palette == nullptr && s.sums.driven == 0)
            return;
        bool any = false;
#pragma unroll
        for (int r = 0; r < Rows; r++)
            any = any || (r <= c.last && vector_classes<V>{of[r]}.any_given());
        uint32_t owners = __ballot_sync(~0u, any);
        if (owners == 0)
            return;
        __syncwarp(); /* vectors are stored */
#pragma unroll 1
        while (owners != 0) {
            uint32_t left = owners;
#pragma unroll
            for (int i = 0; i < warp / Rows; i++) {
                left = i < lane() / Rows ? left & (left - 1) : left;
                owners &= owners - 1;
            }
            const int owner = left != 0 ? __ffs((int)left) - 1 : lane(), row = lane() % Rows;
            const int64_t to = __shfl_sync(~0u, c.to, owner) + row * c.cross;
            const int count =
                left != 0 && row <= c.last ? (int)s.domain.n[STENCIL_X] - p.x + (lane() - owner) * V : 0;
            uint32_t classes = 0;
#pragma unroll
            for (int r = 0; r < Rows; r++) {
                const uint32_t of_owner = __shfl_sync(~0u, of[r], owner);
                classes = r == row ? of_owner : classes;
            }
            mend_vector(s, from, to, count, {classes});
        }
        __syncwarp(); /* other lanes' cells are stored: they may be read again */
    }

    /* Makes and stores those of the first `count` cells of a vector that have a row or are driven. */
    __device__ __forceinline__ void mend_vector(const stencil_kernel_args &s, int from, int64_t at, int count,
                                                const vector_classes<V> &classes) const {
        T *const next = static_cast<T *>(s.domain.u[!from]);
        if constexpr (gives)
            if (count > 0 && s.classes.palette != nullptr)
                mend_rows(s, from, at, count, classes, next);
        if (!gives || s.classes.row != nullptr) {
            const T *const u = static_cast<const T *>(s.domain.u[from]);
#pragma unroll 1
            for (int v = 0; v < min(V, count); v++) {
                const uint32_t of = classes.of_cell(v);
                if (gives ? of == STENCIL_CLASS_WIDE : stencil_class_is_varied(of))
                    next[at + v] = value_of_class<P>(s, from, u, at + v, of);
            }
        }
        if (s.sums.driven > 0)
#pragma unroll 1
            for (int v = 0; v < min(V, count); v++)
                if (classes.of_cell(v) == STENCIL_CLASS_DRIVEN)
                    next[at + v] = driven_value<T>(s, from, at + v);
    }

    /* The same for those whose class names a row. All cells of the vector are made together, so that many
     * loads are under way: those of other classes with some row, for nothing. */
    __device__ __forceinline__ void mend_rows(const stencil_kernel_args &s, int from, int64_t at, int count,
                                              const vector_classes<V> &classes, T *next) const {
        const stencil_domain &d = s.domain;
        const T *const u = static_cast<const T *>(d.u[from]);
        const T *row[V];
        T value[V];
        unrolled<V>([&](int v) {
            const uint32_t cell = classes.of_cell(v);
            row[v] = row_of_class<T>(s.classes, stencil_class_has_row(cell) ? cell : 1u);
            value[v] = 0;
        });
        int k = 0;
#pragma unroll
        for (int dz = -P::radius_z; dz <= P::radius_z; dz++)
#pragma unroll
            for (int dy = -R; dy <= R; dy++) {
                const int reach = P::row_reach(P::rank == 3 ? dz : dy, P::rank == 3 ? dy : 0);
                if (reach < 0)
                    continue;
                T cell[V + 2 * R];
                const T *const line = u + at + dz * d.plane + dy * d.row;
                load_vector(line, cell + R);
#pragma unroll
                for (int i = 1; i <= R; i++)
                    if (i <= reach) {
                        cell[R - i] = line[-i];
                        cell[R + V - 1 + i] = line[min(V - 1 + i, count - 1 + R)];
                    }
#pragma unroll
                for (int dx = -R; dx <= R; dx++)
                    if (P::has(dz, dy, dx)) {
                        unrolled<V>([&](int v) {
                            value[v] = term_of_class(
                                d, row[v], k, [&] { return at + v; }, cell[R + v + dx], value[v]);
                        });
                        k++;
                    }
            }
        cells::add_sources(s, from, at, value, point_weight<T>{T(1), &d});
        unrolled<V>([&](int v) {
            if (v < count && stencil_class_has_row(classes.of_cell(v)))
                next[at + v] = end_of_class(row[v], false, T(0), value[v]);
        });
    }

    /* Sums the residuals of what was stored. */
    __device__ __forceinline__ void sum_residuals(const stencil_kernel_args &s, int from, const place &p,
                                                  const course &c, double *partial) const {
        const stencil_domain &d = s.domain;
        const T *const u = static_cast<const T *>(d.u[from]), *const next =
                                                                  static_cast<const T *>(d.u[!from]);
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            if (r > 0 && r > c.last)
                break;
            const vector_place at = {p.x, (int)d.n[STENCIL_X] - p.x, c.to + r * c.cross};
            T old[V], value[V];
            double term[V];
            load_vector(u + at.at, old);
            load_vector(next + at.at, value);
#pragma unroll
            for (int v = 0; v < V; v++)
                term[v] = v < at.left_x && !vector_classes<V>{of[r]}.keeps(v)
                              ? residual_term(value[v], old[v], s.schedule.norm)
                              : 0.0;
            cells::sum_residual(s.schedule.norm, at, term, partial + r * d.partial_row);
        }
    }
};

} // namespace stencil
