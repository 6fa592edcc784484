/* The kernels of one point set, the argument of STENCIL_SHARD(): the build compiles a file for each set,
 * since the address of a kernel template must be taken where it is instantiated. */
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/persistent.cuh"
#include "kernels/sweeps_all.h"
#include "kernels/table.h"
#include "sync/all.cuh"

namespace stencil {

template <stencil_sweep_id Id, class P, class T, bool Relaunch, bool Ll> struct sweep_of;
#define STENCIL_SWEEP(name, exchanges, text)                                                                 \
    template <class P, class T, bool Relaunch, bool Ll>                                                      \
    struct sweep_of<STENCIL_SWEEP_##name, P, T, Relaunch, Ll> {                                              \
        using type = name##_sweep<P, T, Relaunch, Ll>;                                                       \
    };
#include "kernels/sweeps.def"

template <stencil_barrier_id Id> struct barrier_of; /* none: a launch for every step has no barrier */
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    template <> struct barrier_of<STENCIL_BARRIER_##id> { using type = id##_barrier; };
#include "sync/barriers.def"

/* Row number `Row` of a point set. */
template <stencil_shape_id Id, int Row> stencil_kernel row_of() {
    constexpr stencil_kernel key = stencil_kernel_key(Id * STENCIL_KERNEL_ROWS + Row);
    constexpr bool relaunch = key.barrier == STENCIL_BARRIER_none, ll = key.exchange == STENCIL_EXCHANGE_LL;
    using T = std::conditional_t<key.precision == STENCIL_FLOAT64, double, float>;
    stencil_kernel row = key;
    if constexpr (stencil_kernel_is_compiled(key.sweep, key.exchange, key.barrier)) {
        using Points = named_points<Id>;
        using Sweep = typename sweep_of<key.sweep, Points, T, relaunch, ll>::type::single;
        row.cells = Sweep::cells, row.block_x = Sweep::block_x, row.blocks = Sweep::blocks;
        row.step_bytes = Sweep::shared_bytes;
        if constexpr (relaunch) {
            row.function = reinterpret_cast<const void *>(&step_kernel<Sweep>);
            row.traced = reinterpret_cast<const void *>(&traced_kernel<Sweep>);
        } else {
            row.function = reinterpret_cast<const void *>(
                &persistent_kernel<Sweep, typename barrier_of<key.barrier>::type, ll>);
        }
    }
    return row;
}

template <stencil_shape_id Id, int... Row> const stencil_kernel *rows_of(std::integer_sequence<int, Row...>) {
    static const stencil_kernel rows[] = {row_of<Id, Row>()...};
    return rows;
}

} // namespace stencil

/* The STENCIL_KERNEL_ROWS rows of a point set, for table.c. */
#define STENCIL_SHARD(name)                                                                                  \
    extern "C" const stencil_kernel *stencil_kernels_##name(void) {                                          \
        using namespace stencil;                                                                             \
        return rows_of<STENCIL_SHAPE_##name>(std::make_integer_sequence<int, STENCIL_KERNEL_ROWS>());        \
    }
