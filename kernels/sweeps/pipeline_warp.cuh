/* A warp of the pipeline sweep in 2D: it makes some steps of a row, with partial sums of the rows below in
 * registers. Rows pass between warps by barriers in shared memory (PTX ISA, mbarrier) and bulk copies
 * (cp.async.bulk). */
#pragma once

#include "kernels/cells.cuh"
#include "kernels/sweeps/pipeline.h"
#include "kernels/trees.cuh"

namespace stencil {

/* Code for older GPUs has pipeline kernels by name only: the host does not launch them (`deep_capability` in
 * the table of kernels), and a launch would end in an error. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * STENCIL_PIPELINE_CAPABILITY
#define STENCIL_HAS_BULK_COPIES 1
#else
#define STENCIL_HAS_BULK_COPIES 0
#endif
/* A level of a general pass: weights of its step; address in shared memory of the lane's cells in the row of
 * the source term (0: none); number of cells before the first and after the last column of the part that this
 * lane mirrors. */
template <class Weights> struct pipeline_level {
    Weights weights;
    uint32_t source;
    int mirrored[2];
};

/* How a level of a general pass makes the row of sum j where all cells are plain: with the step's weights of
 * points k. */
template <class T> struct plain_rows {
    template <class Weights>
    __device__ __forceinline__ point_weight<T> point(const Weights &w, int, int k) const {
        return w.point(k);
    }
    template <class Row, class Sums> __device__ __forceinline__ void give(int, const Row &, Sums &) const {}
};

/* Cells of a lane that keep their values at a level: outer cells at the left or right of a row, all cells, or
 * cells of rows before `low` and from `high` on. */
struct cells_kept {
    bool left, right, all;
    int low, high;
    __device__ __forceinline__ bool has(int row) const {
        return all || row < low || row >= high;
    }
};

template <class P, class T, int Levels, int Cells> struct pipeline_warp {
    static constexpr int R = P::radius;
    static_assert(Cells % 2 == 1, "lanes that are an even number of cells apart are in each other's way");
    static_assert(Cells >= 2 * R, "");

    /* Sum j - 1 of a level is of the row j before the next row to arrive, without the rows that have not
     * arrived. A sum takes its points in ascending order of rows, as in the cell update. */
    T sum[Levels][2 * R][Cells];

    /* Cells of a lane that are made one sum after the other, in rows in which some keep their values. */
    static constexpr int group = 8;

    __device__ __forceinline__ void clear() {
        unrolled<Levels, 2 * R, Cells>([&](int t, int j, int v) { sum[t][j][v] = 0; });
    }
    __device__ __forceinline__ void load(T *c, uint32_t at) const {
        unrolled<Cells>([&](int v) { c[v] = load_shared<T>(at + v * (uint32_t)sizeof(T)); });
    }
    __device__ __forceinline__ void store(const T *c, uint32_t at) const {
        unrolled<Cells>([&](int v) { store_shared(at + v * (uint32_t)sizeof(T), c[v]); });
    }

    /* A lane's cells of a row, with adjacent cells of the neighbouring lanes. */
    struct row {
        const T *c;
        T before[R], behind[R];

        __device__ __forceinline__ row(const T *c) : c(c) {
            unrolled<R>([&](int i) {
                before[i] = __shfl_up_sync(~0u, c[Cells - R + i], 1);
                behind[i] = __shfl_down_sync(~0u, c[i], 1);
            });
        }
        __device__ __forceinline__ T operator[](int x) const {
            return x < 0        ? before[x < 0 ? x + R : 0]
                   : x >= Cells ? behind[x >= Cells ? x - Cells : 0]
                                : c[x < 0 || x >= Cells ? 0 : x];
        }
    };
    /* Returns sum j of cell v after adding the points in row `in`. weight(point number, offset along x)
     * returns a weight. */
    template <class Weight, class Where>
    __device__ __forceinline__ T add(int t, int j, int v, const row &in, Weight weight, Where where) const {
        T s = sum[t][j == 0 ? 0 : j - 1][v];
#pragma unroll
        for (int dx = -R; dx <= R; dx++)
            if (P::contains(j - R, 0, dx)) {
                const int k = P::number(0, j - R, dx);
                s = term(k, weight(k, dx), where, in[v + dx], s);
            }
        return s;
    }
    /* Returns the value that replaces sum j of cell v if the cell keeps its value: from the arrival of the
     * cell's row on, the cell itself. */
    __device__ __forceinline__ T kept(int t, int j, int v, const T *c) const {
        return j == R ? c[v] : sum[t][j == 0 ? 0 : j - 1][v];
    }
    /* Returns a sum or the kept value of cell v: by `keep` for outer cells of the lane, by `inside` for all
     * cells. */
    __device__ __forceinline__ static T choose(int v, T s, T kept, const cells_kept &keep, bool inside) {
        if (v < R)
            s = keep.left ? kept : s;
        if (v >= Cells - R)
            s = keep.right ? kept : s;
        return inside ? kept : s;
    }

    /* Makes level t: c is row y of step t on entry, and row y - R of step t + 1 on return. Outer cells keep
     * their values as `keep` says; if Edge, so do cells of whole rows. From the arrival of its row on, such a
     * cell's value replaces its sum. at(row, cell of the lane) returns an element index. */
    template <bool Edge, class At>
    __device__ __forceinline__ void level(int t, T *c, const uniform_weights<T> &weights,
                                          const cells_kept &keep, int y, At at) {
        const row in(c);
        T out[Cells];
#pragma unroll
        for (int v = 0; v < Cells; v++)
#pragma unroll
            for (int j = 2 * R; j >= 0; j--) {
                const int to = y + R - j; /* row that the sum belongs to */
                T s = add(
                    t, j, v, in, [&](int k, int) { return weights.point(k); }, [&] { return at(to, v); });
                if (j >= R)
                    s = choose(v, s, kept(t, j, v, c), keep, Edge && keep.has(to));
                if (j == 2 * R)
                    out[v] = s;
                else
                    sum[t][j][v] = s;
            }
        unrolled<Cells>([&](int v) { c[v] = out[v]; });
    }
    /* Makes level t of a row whose cells, and those of the rows before it, all keep their values: the row
     * takes the place of its sums. */
    __device__ __forceinline__ void move(int t, T *c) {
#pragma unroll
        for (int v = 0; v < Cells; v++) {
            const T out = sum[t][2 * R - 1][v];
#pragma unroll
            for (int j = 2 * R - 1; j > R; j--)
                sum[t][j][v] = sum[t][j - 1][v];
            sum[t][R][v] = c[v];
            c[v] = out;
        }
    }
    /* Makes level t of a pass with fixed cells: those of row y + R - j keep their values that have a bit in
     * fixed[j - R]. Sums of eight cells are made one after the other, so that the compiler gets their bits
     * into predicates by one instruction, and skips the last term of a fixed cell without a select. */
    template <class At>
    __device__ __forceinline__ void level_of_fixed(int t, T *c, const uniform_weights<T> &weights,
                                                   const uint32_t *fixed, int y, At at) {
        const row in(c);
        T out[Cells];
#pragma unroll
        for (int first = 0; first < Cells; first += group)
#pragma unroll
            for (int j = 2 * R; j >= 0; j--)
#pragma unroll
                for (int v = first; v < Cells && v < first + group; v++) {
                    const int to = y + R - j;
                    T s = add(
                        t, j, v, in, [&](int k, int) { return weights.point(k); }, [&] { return at(to, v); });
                    if (j >= R)
                        s = fixed[j - R] & 1u << v ? kept(t, j, v, c) : s;
                    if (j == 2 * R)
                        out[v] = s;
                    else
                        sum[t][j][v] = s;
                }
        unrolled<Cells>([&](int v) { c[v] = out[v]; });
    }
    /* Mirrors the first and the last cells of a lane, as many as `mirrored` says. */
    __device__ __forceinline__ static void mirror_ends(const int (&mirrored)[2], T (&out)[Cells]) {
#pragma unroll
        for (int k = 0; k < R; k++) {
            out[R - 1 - k] = k < mirrored[0] ? out[R + k] : out[R - 1 - k];
            out[Cells - R + k] = k < mirrored[1] ? out[Cells - R - 1 - k] : out[Cells - R + k];
        }
    }
    /* Makes level t of a general pass, one sum after the other, since registers hold the weights of only one
     * row. rows: the weights of row y + R - j, and what its cells get that have classes. */
    template <bool Edge, class Weights, class At, class Rows>
    __device__ __forceinline__ void level(int t, T *c, const pipeline_level<Weights> &l,
                                          const cells_kept &keep, int y, At at, const Rows &rows) {
        const row in(c);
        T out[Cells];
#pragma unroll
        for (int j = 2 * R; j >= 0; j--) {
            const int to = y + R - j;
            point_weight<T> weight[2 * R + 1];
            T s[Cells];
#pragma unroll
            for (int dx = -R; dx <= R; dx++)
                if (P::contains(j - R, 0, dx))
                    weight[dx + R] = rows.point(l.weights, j, P::number(0, j - R, dx));
            unrolled<Cells>([&](int v) {
                s[v] = add(
                    t, j, v, in, [&](int, int dx) { return weight[dx + R]; }, [&] { return at(to, v); });
            });
            if (j == 2 * R && l.source != 0) {
                const auto factor = l.weights.source();
                unrolled<Cells>([&](int v) {
                    s[v] = source_term(
                        factor, [&] { return at(to, v); }, load_shared<T>(l.source + v * (uint32_t)sizeof(T)),
                        s[v]);
                });
            }
            rows.give(j, in, s);
#pragma unroll
            for (int v = 0; v < Cells; v++) {
                if (j >= R)
                    s[v] = choose(v, s[v], kept(t, j, v, c), keep, Edge && keep.has(to));
                if (j == 2 * R)
                    out[v] = s[v];
                else
                    sum[t][j][v] = s[v];
            }
        }
        mirror_ends(l.mirrored, out);
        unrolled<Cells>([&](int v) { c[v] = out[v]; });
    }
};

} // namespace stencil
