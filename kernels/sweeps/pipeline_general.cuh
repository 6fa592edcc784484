/* A warp of a general pass of the pipeline sweep in 3D: weights of each step, a source term, mirrored sides.
 */
#pragma once

#include "kernels/sweeps/pipeline_planes.cuh"

namespace stencil {

/* Levels, planes and iterations are those of a plain pass, with these additions. Weights of a cycle are in
 * shared memory, each loaded once for all rows of a plane. The source term is prefetched into L2 with each
 * plane. Cells beyond a mirrored side are made in each level: at the ends of a row when the row is made,
 * above and below the first and last row when these are read. Along z, the last plane itself serves as the
 * plane beyond it. Before plane 0 a level takes plane 0 as plane -1, in an extra iteration in which other
 * levels wait; with radius 2, planes 1, 0 and 0 in three iterations, for which plane 0 and the last plane but
 * one are kept in shared memory. Cells of mirrored planes at other, fixed sides have values of the mirrored
 * plane; with radius 2 the only point set is a star, which does not read them. */
template <class P, class T, bool Classed> struct pipeline_general : pipeline_planes<P, T, true, Classed> {
    using base = pipeline_planes<P, T, true, Classed>;
    using base::R, base::depth, base::cells, base::rows, base::hop, base::lag, base::slots, base::shape,
        base::star, base::plane_rows, base::weights_at, base::plane, base::sum, base::turn, base::barriers,
        base::z, base::y, base::x, base::to, base::to_take, base::last_plane, base::below, base::moving,
        base::skipped, base::kept, base::has_still, base::edge_row, base::ring_row, base::slot_of, base::give,
        base::keep_cells, base::keep_fixed, base::load, base::store, base::store_others, base::fixed_in;
    using typename base::place, typename base::piece, typename base::vector, typename base::rows_now;
    using step_weights = cycle_weights<T, P::count, const T *>;
    static_assert(rows >= 2 * R && (R == 1 || (R == 2 && star && depth == 2)), "");

    const T *weights; /* weights of the first level */
    bool is_cycle;    /* whether levels have different weights, not those of the launch */
    const char
        *source;   /* the lane's columns of the source term in row 0 and plane 0, nullptr: no source term */
    vector *aside; /* the warp's rows of two planes that are kept: the first, and the last but one */
    int first_plane, top;              /* first plane to be read; first plane beyond a mirrored upper side */
    int repeats, turns_alone;          /* level that has extra iterations, -1: none; how many it has made */
    bool bottom;                       /* whether the side before plane 0 is mirrored */
    int width, left_column, beyond[2]; /* cells of the part's rows; first column of the tile; mirrored columns
                                          that it has at both sides */
    int mirrored_y[2], last; /* mirrored rows before and after the warp's; last row of the part, counted from
                                the warp's first */
    uint32_t moved;          /* bits of cells that are mirrored along y with their row */

    /* Rows of a level's plane, with those of adjacent warps, and cells of adjacent lanes. */
    struct around {
        T row[rows + 2 * R][cells], before[rows + 2 * R][R], behind[rows + 2 * R][R];
    };

    __device__ __forceinline__ void enter(char *shared, bool cycle) {
        base::enter(shared);
        is_cycle = cycle;
        weights = reinterpret_cast<const T *>(shared + weights_at);
        aside = &ring_row(slots, 0);
    }
    __device__ __forceinline__ void start_piece(const stencil_domain &d, const place &l, const piece &p,
                                                int first) {
        base::start_piece(d, l, p, first);
        const int left = (l.beside[STENCIL_X][0] + cells - 1) / cells * cells,
                  right = (l.n[STENCIL_X] + l.beside[STENCIL_X][1] - 1) / cells * cells;
        source = d.b == nullptr ? nullptr
                                : reinterpret_cast<const char *>(static_cast<const T *>(d.b) - below * d.row +
                                                                 max(min(x, right), -left));
        first_plane = -l.beside[STENCIL_Z][0];
        bottom = l.mirrored[STENCIL_Z][0] > 0;
        top = l.mirrored[STENCIL_Z][1] > 0 ? l.n[STENCIL_Z] : INT_MAX / 2;
        repeats = -1;
        width = l.n[STENCIL_X], left_column = p.x;
#pragma unroll
        for (int side = 0; side < 2; side++) {
            const int at = side == 0 ? -1 : width;
            beyond[side] = at >= p.x && at < p.x + 32 * cells ? l.mirrored[STENCIL_X][side] : 0;
        }
        mirrored_y[0] = y == -R ? l.mirrored[STENCIL_Y][0] : 0;
        mirrored_y[1] = l.mirrored[STENCIL_Y][1], last = l.n[STENCIL_Y] - 1 - y;
        moved = 0;
#pragma unroll
        for (int v = 0; v < cells; v++)
            moved |= x + v >= l.low[STENCIL_X] && x + v < l.end[STENCIL_X] ? 1u << v : 0;
    }
    /* Prefetches the source term of the plane that is loaded next into L2. */
    __device__ __forceinline__ void ask_for_source(const stencil_domain &d) const {
        if (source == nullptr)
            return;
        const char *const from = source + min(z, last_plane) * d.plane * (int64_t)sizeof(T);
        unrolled<rows>([&](int j) { prefetch_l2(from + base::row_offset(d, j)); });
    }
    __device__ __forceinline__ void get_source(const stencil_domain &d, int made, T b[rows][cells]) const {
        const char *const from =
            source + max(min(made, last_plane), first_plane) * d.plane * (int64_t)sizeof(T);
        unrolled<rows>([&](int j) {
            const vector v = *reinterpret_cast<const vector *>(from + base::row_offset(d, j));
            unrolled<cells>([&](int i) { b[j][i] = v.cell[i]; });
        });
    }

    /* Copies row `from` to row `to`, except cells that keep their values; rows are counted from the warp's
     * first. */
    __device__ __forceinline__ void mirror_row(around &a, int to, int from) const {
#pragma unroll
        for (int v = 0; v < cells; v++)
            a.row[to + R][v] = moved >> v & 1 ? a.row[from + R][v] : a.row[to + R][v];
    }
    __device__ __forceinline__ void mirror_rows(around &a) const {
#pragma unroll
        for (int k = 0; k < R; k++)
            if (k < mirrored_y[0])
                mirror_row(a, R - 1 - k, R + k);
        if (mirrored_y[1] == 0)
            return;
        for_constants<0, rows + R - 1>([&](auto at) {
            constexpr int m = decltype(at)::value;
            if (last == m)
                for_constants<0, R>([&](auto from) {
                    constexpr int k = decltype(from)::value;
                    if (m + 1 + k < rows + R && k < mirrored_y[1])
                        mirror_row(a, m + 1 + k, m - k);
                });
        });
    }
    /* Sets column `to`, beyond the end of rows, to the cells of column `from`, counted from the tile's first
     * column. */
    __device__ __forceinline__ void mirror_column(T u[rows][cells], int to, int from) const {
#pragma unroll
        for (int j = 0; j < rows; j++) {
            T image = u[j][0];
            for_constants<0, cells>(
                [&](auto v) { /* unrolled, since a loop would index registers dynamically */
                              if (from % cells == decltype(v)::value)
                                  image = u[j][decltype(v)::value];
                });
            image = __shfl_sync(~0u, image, from / cells);
#pragma unroll
            for (int v = 0; v < cells; v++)
                u[j][v] = x + v == to ? image : u[j][v];
        }
    }
    __device__ __forceinline__ void mirror_columns(T u[rows][cells]) const {
#pragma unroll
        for (int side = 0; side < 2; side++)
#pragma unroll
            for (int k = 0; k < R; k++)
                if (k < beyond[side])
                    mirror_column(u, side == 0 ? -1 - k : width + k,
                                  (side == 0 ? k : width - 1 - k) - left_column);
    }

    /* Gathers the rows and cells that level t reads. at: the level's plane, in which rows are not mirrored if
     * the plane keeps its values. */
    __device__ __forceinline__ void get_around(around &a, int t, int at) const {
#pragma unroll
        for (int j = -R; j < rows + R; j++) {
            const vector v = j < 0       ? edge_row(turn + 1, t, j)
                             : j >= rows ? edge_row(turn + 1, t, 2 * R + j - rows)
                                         : vector();
#pragma unroll
            for (int i = 0; i < cells; i++)
                a.row[j + R][i] = j < 0 || j >= rows ? v.cell[i] : plane[t][j < 0 || j >= rows ? 0 : j][i];
        }
        if (at >= moving[0] && at < moving[1])
            mirror_rows(a);
#pragma unroll
        for (int j = star ? 0 : -R; j < (star ? rows : rows + R); j++)
            unrolled<R>([&](int k) {
                a.before[j + R][k] = __shfl_up_sync(~0u, a.row[j + R][cells - R + k], 1);
                a.behind[j + R][k] = __shfl_down_sync(~0u, a.row[j + R][k], 1);
            });
    }
    /* Adds the points in plane `at` to the sums of level t; `out` gets the complete sums. */
    template <class Weights>
    __device__ __forceinline__ void add_plane(const stencil_domain &d, const around &a,
                                              const Weights &weights, int t, int at, T out[rows][cells]) {
        for_constants<0, 2 * R + 1>([&](auto back) {
            constexpr int Z = R - decltype(back)::value;
            T s[rows][cells];
#pragma unroll
            for (int j = 0; j < rows; j++)
#pragma unroll
                for (int v = 0; v < cells; v++)
                    s[j][v] = Z > -R ? sum[t][Z > -R ? Z + R - 1 : 0][j][v] : T(0);
            for_constants<0, 2 * R + 1>([&](auto dy) {
                for_constants<0, 2 * R + 1>([&](auto dx) {
                    constexpr int Y = decltype(dy)::value - R, X = decltype(dx)::value - R;
                    if constexpr (P::has(Z, Y, X)) {
                        constexpr int k = P::number(Z, Y, X);
                        const auto weight = weights.point(k);
#pragma unroll
                        for (int j = 0; j < base::rows; j++)
#pragma unroll
                            for (int v = 0; v < base::cells; v++) {
                                const int from = v + X, r = j + Y + base::R;
                                const T u = from < 0 ? a.before[r][from < 0 ? from + base::R : 0]
                                            : from >= base::cells
                                                ? a.behind[r][from >= base::cells ? from - base::cells : 0]
                                                : a.row[r][from < 0 || from >= base::cells ? 0 : from];
                                s[j][v] = term(
                                    k, weight, [&] { return this->element(d, at - Z, j, v); }, u, s[j][v]);
                            }
                    }
                });
            });
#pragma unroll
            for (int j = 0; j < rows; j++)
#pragma unroll
                for (int v = 0; v < cells; v++)
                    if constexpr (Z == base::R)
                        out[j][v] = s[j][v];
                    else
                        this->sum[t][Z + base::R][j][v] = s[j][v];
        });
    }
    __device__ __forceinline__ void make_plane(const stencil_domain &d, int t, int made, T out[rows][cells]) {
        const step_weights w = {weights + t * step_weights::count, &d};
        T b[rows][cells];
        if (source != nullptr)
            get_source(d, made, b);
        around a;
        get_around(a, t, made + R);
        if (is_cycle)
            add_plane(d, a, w, t, made + R, out);
        else
            add_plane(d, a, weights_of<T>(d), t, made + R, out);
        if (source == nullptr)
            return;
        const auto factor = w.source();
        unrolled<rows, cells>([&](int j, int v) {
            out[j][v] = source_term(
                factor, [&] { return base::element(d, made, j, v); }, b[j][v], out[j][v]);
        });
    }

    /* Saves the warp's rows of level t as a kept plane (side 0: the first, 1: the last but one), restores
     * them, or exchanges both. */
    __device__ __forceinline__ void put_aside(int t, int side) {
        unrolled<rows, cells>(
            [&](int j, int v) { aside[(side * plane_rows + j) * 32].cell[v] = plane[t][j][v]; });
    }
    __device__ __forceinline__ void take_back(int t, int side, bool change) {
#pragma unroll
        for (int j = 0; j < rows; j++) {
            vector &there = aside[(side * plane_rows + j) * 32];
            const vector v = there;
#pragma unroll
            for (int i = 0; i < cells; i++) {
                if (change)
                    there.cell[i] = plane[t][j][i];
                plane[t][j][i] = v.cell[i];
            }
        }
    }
    /* Finishes plane `made` of level t: restores cells that keep their values, and sets mirrored ones. */
    __device__ __forceinline__ void end_plane(int t, int made) {
        const bool all = t <= skipped || made < moving[0] || made >= moving[1];
        if constexpr (Classed) /* before they are mirrored */
            keep_fixed(t, slot_of(hop * t + (R == 1 && bottom && made == 0)), fixed_in(made));
        if (made < top)
            mirror_columns(plane[t]);
        if (R > 1 && made == top + 1)
            take_back(t, 1, false);
        /* At a mirrored lower side a level takes plane 0 twice, first as plane -1. */
        if (all || has_still)
            keep_cells(t, slot_of(hop * t + (R == 1 && bottom && made == 0)), all);
        if (R > 1 && bottom && made == 0)
            put_aside(t, 0);
        if (R > 1 && made == top - 2)
            put_aside(t, 1);
    }
    /* Ends an extra iteration of level t, in which it took a mirrored plane. */
    __device__ __forceinline__ void end_alone(int t) {
        const bool all = t <= skipped;
        if constexpr (Classed && R == 1)
            keep_fixed(t, slot_of(hop * t + 1), fixed_in(0));
        if (R == 1 && (all || has_still))
            keep_cells(t, slot_of(hop * t + 1), all);
        if (R > 1 && turns_alone != 1)
            take_back(t, 0, true);
    }
    template <int t> __device__ __forceinline__ void make_level(const stencil_domain &d) {
        wait_warp(barriers + t * 8, ~turn & 1);
        if (repeats >= 0 && repeats != t) {
            give(t);
            return;
        }
        const int made = z - shape.ahead - 1 - R - hop * t;
        if constexpr (t < depth - 1) {
            if (made < top)
                make_plane(d, t, made, plane[t + 1]);
        } else {
            T out[rows][cells];
            make_plane(d, t, made, out);
            const rows_now now = base::find_rows(made);
            const uint32_t fixed = Classed ? fixed_in(made) : 0;
            if (Classed && __any_sync(~0u, fixed != 0))
                unrolled<rows>([&](int j) { store_others(d, j, now, fixed, out[j]); });
            else
                unrolled<rows>([&](int j) { store(d, j, now, out[j]); });
        }
        if (repeats == t) {
            end_alone(t);
            give(t);
        } else if constexpr (t < depth - 1) {
            end_plane(t + 1, made);
            give(t + 1);
        }
    }
    /* Returns the level that has extra iterations next, when all planes that it repeats are there; -1: none.
     */
    __device__ __forceinline__ int find_repeating() const {
        const int turns = z - shape.ahead - 2 * R;
        return bottom && turns >= 0 && turns % hop == 0 && turns / hop < depth - 1 ? turns / hop + 1 : -1;
    }
    __device__ __forceinline__ void make_piece(const stencil_domain &d, const stencil_classes &c,
                                               const place &l, const piece &p) {
        const int low = p.kept[STENCIL_Z][0] - l.reach, closed = -l.beside[STENCIL_Z][0],
                  first = max(low, closed);
        start_piece(d, l, p, first);
        if constexpr (Classed)
            base::start_fixed(c, p, first);
#pragma unroll 1
        for (int i = 0; i < shape.ahead; i++) {
            ask_for_source(d);
            load(d, c);
        }
#pragma unroll 1
        for (int left = p.kept[STENCIL_Z][1] + lag - first; left > 0; turn++) {
            for_constants<0, depth>([&](auto back) { make_level<depth - 1 - decltype(back)::value>(d); });
            if (repeats >= 0) {
                repeats = ++turns_alone == 2 * R - 1 ? -1 : repeats;
                continue;
            }
            base::take();
            repeats = find_repeating(), turns_alone = 0;
            to_take = to_take + 1 == slots ? 0 : to_take + 1;
            ask_for_source(d);
            load(d, c);
            to += d.plane * (int64_t)sizeof(T);
            left--;
        }
        await_copies<0>();
    }
};

} // namespace stencil
