/* The kernels of one point set, which STENCIL_SHARD names: the build compiles this once for each set.
 * The address of a kernel template must be taken where it is instantiated. */
#ifndef STENCIL_KERNELS_SHARD_CUH
#define STENCIL_KERNELS_SHARD_CUH

#include "kernels/persistent.cuh"
#include "kernels/table.h"
#include "sync/all.cuh"

namespace stencil {

template <stencil_shape_id Id> struct points_of;
#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                 \
    template <> struct points_of<STENCIL_SHAPE_##name> { using type = points<rank, STENCIL_##rule, radius>; };
#include "kernels/stencils.def"
#undef STENCIL_SHAPE

/* Rows loaded at once, blocks on a multiprocessor (they share its registers) and threads of a block along x:
 * measured on an H200, docs/performance.md. */
struct tuning {
    int batch, blocks, block_x;
};
template <class P, class T, class Barrier, bool Stamped> constexpr tuning tuning_of() {
    constexpr bool relaunch = std::is_same<Barrier, none_barrier>::value, f64 = sizeof(T) == 8;
    /* Stamped edges are for short steps: with three blocks their state would not stay in registers, and what
     * is spilled has to be fetched from L2 after each acquire. */
    constexpr int blocks = Stamped ? 2 : 3;
    constexpr bool star = P::row_reach(P::radius, 0) == 0;
    if (P::radius == 1 && star && P::rank == 2)
        return relaunch ? tuning{4, f64 ? 4 : 3, 128}
               : f64    ? tuning{Stamped ? 4 : 8, 2, 64}
                        : tuning{4, blocks, 32};
    if (P::radius == 1 && star)
        return relaunch ? f64 ? tuning{2, 4, 32} : tuning{4, 3, 32}
               : f64 ? tuning{Stamped ? 2 : 4, 2, 128}
                        : tuning{2, blocks, 128};
    if (P::radius == 1)
        return P::rank == 2 ? tuning{4, f64 ? 2 : 3, 128} : tuning{1, 2, 32};
    return tuning{P::radius == 3 ? 1 : 2, 2, P::rank == 2 ? 64 : 32};
}

template <class P, class T, class Barrier, bool Stamped>
stencil_kernel row_of(stencil_shape_id shape, stencil_precision precision, stencil_barrier_id barrier) {
    constexpr tuning t = tuning_of<P, T, Barrier, Stamped>();
    stencil_kernel row = {shape,    precision,       Stamped ? STENCIL_SWEEP_stamped : STENCIL_SWEEP_stream,
                          barrier,  vector_cells<T>, t.block_x,
                          t.blocks, nullptr};
    if constexpr (Barrier::local || !Stamped)
        row.function =
            reinterpret_cast<const void *>(&stream_kernel<P, T, t.batch, t.blocks, Barrier, Stamped>);
    return row;
}

#define SHARD_ROW(name, type, precision, stamped)                                                            \
    row_of<P, type, name##_barrier, stamped>(Id, STENCIL_##precision, STENCIL_BARRIER_##name)
#define SHARD_ROWS(name)                                                                                     \
    SHARD_ROW(name, float, FLOAT32, false), SHARD_ROW(name, double, FLOAT64, false),                         \
        SHARD_ROW(name, float, FLOAT32, true), SHARD_ROW(name, double, FLOAT64, true),

constexpr int shard_row_count = STENCIL_SWEEP_COUNT * STENCIL_PRECISION_COUNT * STENCIL_BARRIER_COUNT;

template <stencil_shape_id Id> const stencil_kernel *shard_rows() {
    using P = typename points_of<Id>::type;
    static const stencil_kernel rows[shard_row_count] = {SHARD_ROWS(none)
#define STENCIL_BARRIER(id, name, capability, needs, text) SHARD_ROWS(id)
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    };
    return rows;
}

} // namespace stencil
#endif
