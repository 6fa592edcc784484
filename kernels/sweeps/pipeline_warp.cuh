/* A warp of the pipeline sweep: some steps of a row, with what is known of the rows below in registers. And
 * what it hands rows on with: barriers in shared memory (PTX ISA, mbarrier) and the copy engine
 * (cp.async.bulk). */
#pragma once

#include "kernels/cells.cuh"
#include "kernels/sweeps/pipeline.h"

namespace stencil {

__device__ __forceinline__ uint32_t lane() {
    return threadIdx.x & 31;
}
/* Code for older GPUs has these kernels by name only: the host does not launch them (`deep_capability` of a
 * row of the table), and a launch would end in an error. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * STENCIL_PIPELINE_CAPABILITY
#define STENCIL_HAS_BULK_COPIES 1
#else
#define STENCIL_HAS_BULK_COPIES 0
#endif
/* A level of a general pass: its step's weights; the address in shared memory of this lane's cells in the row
 * of the source term (0: there is none); cells beside the first and the last column that are mirrored in
 * them, where this lane has those. */
template <class Weights> struct pipeline_level {
    Weights weights;
    uint32_t source;
    int mirrored[2];
};

/* Cells of a lane that keep their values in a level: the outer ones at the left and right of a row, all of
 * them, or those of rows before `low` and from `high` on. */
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

    /* Sum j - 1 of a level: of a cell j rows behind the one that comes in next, without the rows that have
     * not come in. Row after row a sum takes its points in ascending order, as the update has them. */
    T sum[Levels][2 * R][Cells];

    __device__ __forceinline__ void clear() {
        unrolled<Levels, 2 * R, Cells>([&](int t, int j, int v) { sum[t][j][v] = 0; });
    }
    __device__ __forceinline__ void load(T *c, uint32_t at) const {
        unrolled<Cells>([&](int v) { c[v] = load_shared<T>(at + v * (uint32_t)sizeof(T)); });
    }
    __device__ __forceinline__ void store(const T *c, uint32_t at) const {
        unrolled<Cells>([&](int v) { store_shared(at + v * (uint32_t)sizeof(T), c[v]); });
    }

    /* A row, with the cells of other lanes beside it. */
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
    /* Sum j of cell v takes what comes in; weight(number of a point, its place along x). */
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
    /* Returns sum j of cell v while it keeps its value: that, from the moment its own row comes in. */
    __device__ __forceinline__ T kept(int t, int j, int v, const T *c) const {
        return j == R ? c[v] : sum[t][j == 0 ? 0 : j - 1][v];
    }
    /* The sum or the value that is kept: at the ends as `keep` says, elsewhere as `inside` does. */
    __device__ __forceinline__ static T choose(int v, T s, T kept, const cells_kept &keep, bool inside) {
        if (v < R)
            s = keep.left ? kept : s;
        if (v >= Cells - R)
            s = keep.right ? kept : s;
        return inside ? kept : s;
    }

    /* Row y of step t comes in, row y - R of step t + 1 goes out. Cells at the ends keep their values where
     * `keep` says so; if Edge, cells of whole rows do, too. A cell that keeps its value has that for a sum
     * from the moment its own row comes in. at(row, cell of the lane): its element. */
    template <bool Edge, class At>
    __device__ __forceinline__ void level(int t, T *c, const uniform_weights<T> &weights,
                                          const cells_kept &keep, int y, At at) {
        const row in(c);
        T out[Cells];
#pragma unroll
        for (int v = 0; v < Cells; v++)
#pragma unroll
            for (int j = 2 * R; j >= 0; j--) {
                const int to = y + R - j; /* the row of the sum */
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
    /* Makes a level of a general pass, sum after sum: weights of more than a row have no registers. */
    template <bool Edge, class Weights, class At>
    __device__ __forceinline__ void level(int t, T *c, const pipeline_level<Weights> &l,
                                          const cells_kept &keep, int y, At at) {
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
                    weight[dx + R] = l.weights.point(P::number(0, j - R, dx));
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
#pragma unroll
        for (int k = 0; k < R; k++) {
            out[R - 1 - k] = k < l.mirrored[0] ? out[R + k] : out[R - 1 - k];
            out[Cells - R + k] = k < l.mirrored[1] ? out[Cells - R - 1 - k] : out[Cells - R + k];
        }
        unrolled<Cells>([&](int v) { c[v] = out[v]; });
    }
};

} // namespace stencil
