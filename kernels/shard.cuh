/* The kernels of one point set, which STENCIL_SHARD names: the build compiles this once for each set.
 * The address of a kernel template must be taken where it is instantiated. */
#ifndef STENCIL_KERNELS_SHARD_CUH
#define STENCIL_KERNELS_SHARD_CUH

#include "kernels/persistent.cuh"
#include "kernels/table.h"
#include "sync/all.cuh"

namespace stencil {

template <stencil_shape_id Id> struct points_of;
#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                  \
    template <> struct points_of<STENCIL_SHAPE_##name> { using type = points<rank, STENCIL_##rule, radius>; };
#include "kernels/stencils.def"
#undef STENCIL_SHAPE

/* Rows loaded at once, by registers: measured in docs/performance.md. */
template <class P, class T> constexpr int batch_of() {
    const bool star = P::ahead(P::cross) <= 0 || P::row_reach(P::radius, 0) == 0;
    return P::radius == 1 && (star || P::rank == 2) ? 4 : P::radius == 3 ? 1 : 2;
}

template <class P, class T, class Barrier> const void *address() {
    return reinterpret_cast<const void *>(&stream_kernel<P, T, batch_of<P, T>(), Barrier>);
}

#define SHARD_ROWS(barrier)                                                                                   \
    {Id, STENCIL_FLOAT32, STENCIL_SWEEP_stream, STENCIL_BARRIER_##barrier, vector_cells<float>,               \
     address<P, float, barrier##_barrier>()},                                                                 \
        {Id, STENCIL_FLOAT64, STENCIL_SWEEP_stream, STENCIL_BARRIER_##barrier, vector_cells<double>,          \
         address<P, double, barrier##_barrier>()},

constexpr int shard_row_count = 2 * STENCIL_BARRIER_COUNT;

template <stencil_shape_id Id> const stencil_kernel *shard_rows() {
    using P = typename points_of<Id>::type;
    static const stencil_kernel rows[shard_row_count] = {
        SHARD_ROWS(none)
#define STENCIL_BARRIER(name, capability, text) SHARD_ROWS(name)
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    };
    return rows;
}

} // namespace stencil
#endif
