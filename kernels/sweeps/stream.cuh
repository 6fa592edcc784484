/* The stream sweep: one step from one buffer to the other through device memory.
 *
 * A tile is (bx*V) cells wide (V cells of 16 bytes per thread), one cell (3D) or `tile_stream` cells (2D) per
 * thread row in y. Each thread walks along the streaming axis with a window of rows in registers, so that a
 * row is loaded once per thread row however many points read it; Batch rows are loaded before the first is
 * used, so that enough bytes are in flight. Neighbours along x come from L1. Long streams of most point sets
 * are made with partial sums instead (stream_sums.cuh). */
#ifdef __CUDACC__
#pragma once

#include "kernels/sweeps/stream.h"
#include "kernels/sweeps/stream_classed.cuh"
#include "kernels/sweeps/stream_sums.cuh"
#include "kernels/sweeps/stream_sums_classed.cuh"
#include "kernels/sweeps/stream_window.cuh"

namespace stencil {

/* Tuning of the stream kernels: rows loaded at once, blocks on a multiprocessor (they share its registers),
 * threads of a block along x. Measured on an H200, docs/log/2026-11-22.md. Kernels are compiled with it, so
 * it is not in solver/machine/tuning/. */
struct stream_tuning {
    int batch, blocks, block_x;
};
template <class P, class T, bool Relaunch> constexpr stencil_stream_sums stream_sums_of() {
    return stencil_stream_sums_of(P::rank, P::radius, sizeof(T) == 8, Relaunch);
}
template <class P, class T, bool Relaunch, bool Ll> constexpr stream_tuning stream_tuning_of() {
    constexpr bool f64 = sizeof(T) == 8;
    constexpr stencil_stream_sums sums = stream_sums_of<P, T, Relaunch>();
    /* LL exchange serves short steps: with three blocks on a multiprocessor, or more rows, its state would
     * spill, to be loaded from L2 after each acquire. */
    constexpr bool star = P::row_reach(P::radius, 0) == 0;
    constexpr int blocks = Ll ? 2 : sums.blocks;
    /* A block sends the first or last row of its 2D tile. With more cells than threads, the list of the
     * remaining cells would be loaded from L2. */
    if (P::radius == 1 && star && P::rank == 2)
        return Relaunch ? stream_tuning{4, f64 ? 4 : 3, 128}
                        : stream_tuning{Ll ? 4 : 8, 2, Ll && !f64 ? 32 : 64};
    if (P::radius == 1 && P::rank == 2)
        return stream_tuning{4, f64 ? 2 : 3, 128};
    if (P::radius == 1 && star)
        return stream_tuning{f64 != Relaunch && !Ll ? 4 : 2, blocks, 32};
    if (P::radius == 1)
        return stream_tuning{1, blocks, 32};
    return stream_tuning{P::radius == 3 ? 1 : 2, blocks, P::rank == 2 ? 64 : 32};
}

/* The same for classes of cells, and for fields. Plain marches of classes shall be as quick as those of plain
 * kernels, so as many blocks share a multiprocessor; fields have several loads in flight for each row. */
template <class P, class T, bool Relaunch, bool Ll, bool Classed, bool Fields>
constexpr stream_tuning classed_tuning_of() {
    constexpr stream_tuning plain = stream_tuning_of<P, T, Relaunch, Ll>();
    constexpr bool f64 = sizeof(T) == 8, launched_star = Relaunch && P::rank == 2 && P::radius == 1 &&
                                                         P::row_reach(P::radius, 0) == 0;
    if (Fields && launched_star)
        return f64 ? stream_tuning{4, 2, plain.block_x} : stream_tuning{2, 3, plain.block_x};
    if (Fields)
        return {2, plain.blocks, plain.block_x};
    return {plain.batch, Classed && launched_star ? 4 : plain.blocks, plain.block_x};
}

/* The stream sweep. On small fields a thread has few rows, and the number of instructions takes the time: a
 * batch of few rows, or of one, needs fewer. */
template <class P, class T, bool Relaunch, bool Ll, bool Classed, bool Fields = false> struct stream_tiles {
    using cell = T;
    static constexpr bool classed = Classed, loops = Classed && !Relaunch;
    static constexpr stream_tuning tuning = classed_tuning_of<P, T, Relaunch, Ll, Classed, Fields>();
    /* Partial sums do not know the weights of the cell that they belong to. */
    static constexpr stencil_stream_sums sums =
        Fields ? stencil_stream_sums{1, 0, 2, 0} : stream_sums_of<P, T, Relaunch>();
    /* Tells whether loads and stores have L2 policies: they gain nothing where fma instructions take the time
     * (2D, radius 3) or steps are short (LL exchange). */
    static constexpr bool policies = !Ll && (P::rank == 3 || P::radius < 3);
    static constexpr int summed_ahead = sums.ahead > 0 ? sums.ahead : 1;
    using sums_sweep =
        std::conditional_t<Classed, classed_sums<P, T, sums.rows, summed_ahead, policies, loops>,
                           stream_sums<P, T, sums.rows, summed_ahead, policies, loops>>;
    static constexpr int batch = tuning.batch, blocks = tuning.blocks, block_x = tuning.block_x,
                         cells = vector_cells<T>, shared_bytes = sums.ahead > 0 ? sums_sweep::bytes : 0;
    /* Rows that mixed marches, and those of one class, load at once: more would spill registers. */
    static constexpr int mixed_batch = Fields ? batch : 2, row_batch = sizeof(T) == 8 ? 2 : 4;

    template <bool Check>
    __device__ __forceinline__ static void tile(const stencil_kernel_args &s, const tile_place &t, int from,
                                                double *partial) {
        if (batch > 1 && s.tile_stream == 1)
            tile_in<1, Check>(s, t, from, partial);
        else if (sums.ahead > 0 && s.tile_stream >= STENCIL_STREAM_LONG)
            tile_of_sums<Check>(s, t, from, partial);
        else if (batch > 4 && s.tile_stream <= 4)
            tile_in<4, Check>(s, t, from, partial);
        else
            tile_in<batch, Check>(s, t, from, partial);
    }

  private:
    template <bool Check>
    __device__ __forceinline__ static void tile_of_sums(const stencil_kernel_args &s, const tile_place &t,
                                                        int from, double *partial) {
        if constexpr (sums.ahead > 0) {
            sums_sweep sweep;
            const place p = stream_cells<P, T>::place_in(s, t, sums.rows);
            if constexpr (Classed)
                sweep.template tile<Check>(s, from, p, partial);
            else
                sweep.template tile<Check>(sweep, s, from, p, partial);
        }
    }

    template <int Batch, bool Check>
    __device__ __forceinline__ static void tile_in(const stencil_kernel_args &s, const tile_place &t,
                                                   int from, double *partial) {
        constexpr int of_row = Batch < row_batch ? Batch : row_batch,
                      mixed = Batch < mixed_batch ? Batch : mixed_batch;
        const place p = stream_cells<P, T>::place_in(s, t, 1);
        if constexpr (Classed) {
            if (p.count <= 0) /* all threads of a warp return here, or none */
                return;
            const uint32_t march = march_class<P, vector_cells<T>>(s, p.z, p.y, p.x, p.count);
            if (!Fields && stencil_class_has_row(march))
                return tile_of_classes<of_row, Check, true>(s, p, from, march, partial);
            if (Fields || march != STENCIL_CLASS_PLAIN || has_sums(s))
                return tile_of_classes<mixed, Check, false>(s, p, from, march, partial);
        }
        if constexpr (!Fields) {
            stream_window<P, T, Batch, loops> sweep;
            sweep.template tile<Check>(s, from, p, partial);
        }
    }
    template <int Batch, bool Check, bool One>
    __device__ __forceinline__ static void tile_of_classes(const stencil_kernel_args &s, const place &p,
                                                           int from, uint32_t march, double *partial) {
        if constexpr (!Fields || !One) {
            classed_window<P, T, Batch, loops, Fields> sweep;
            sweep.template tile<Check, One>(s, from, p, march, partial);
        }
    }
};
template <class P, class T, bool Relaunch, bool Ll>
using stream_sweep = stream_tiles<P, T, Relaunch, Ll, false>;
template <class P, class T, bool Relaunch, bool Ll>
using stream_classed = stream_tiles<P, T, Relaunch, Ll, true>;
template <class P, class T, bool Relaunch, bool Ll>
using stream_fielded = stream_tiles<P, T, Relaunch, Ll, true, true>;

} // namespace stencil
#else
#include "kernels/sweeps/stream.inc"
#endif
