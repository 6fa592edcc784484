/* The kernels that make single steps for one point set, which STENCIL_SHARD() adds: the build compiles a file
 * for each set, since the address of a kernel template must be taken where the template is instantiated. */
#pragma once

#include "kernels/persistent.cuh"
#include "kernels/sweeps_all.h"
#include "kernels/address.cuh"
#include "kernels/table.h"
#include "sync/all.cuh"

namespace stencil {

/* describe_sweep() fills in the members that all kernels of a sweep share, describe_step() a kernel of one
 * step per launch, describe_loop() a persistent loop. */
template <class Sweep> void describe_sweep(stencil_kernel *kernel) {
    kernel->cells = Sweep::cells, kernel->block_x = Sweep::block_x, kernel->blocks = Sweep::blocks;
    kernel->step_bytes = Sweep::shared_bytes;
}
template <class Sweep> void describe_step(stencil_kernel *kernel) {
    describe_sweep<Sweep>(kernel);
    kernel->function = kernel_address(&step_kernel<Sweep>);
    kernel->traced = kernel_address(&traced_kernel<Sweep>);
}
template <class Sweep, class Barrier, bool Ll> void describe_loop(stencil_kernel *kernel) {
    describe_sweep<Sweep>(kernel);
    kernel->function = kernel_address(&persistent_kernel<Sweep, Barrier, Ll>);
}

/* Tells whether the build has the persistent loop of a barrier for cells of classes and of fields: a build of
 * few kernels, which STENCIL_KERNELS asks for, has that of `grid` alone. */
constexpr bool has_loop_of_classes(stencil_barrier_id barrier) {
#ifdef STENCIL_FEW_KERNELS
    return barrier == STENCIL_BARRIER_grid;
#else
    return barrier != STENCIL_BARRIER_none;
#endif
}

/* Fills in the kernel of a sweep for kernel->barrier and kernel->exchange. Sweep is a template of points,
 * cell type, whether each step is a launch, and whether LL exchange is used; HasLl: the sweep has kernels
 * with LL exchange. */
template <class P, class T, bool HasLl, template <class, class, bool, bool> class Sweep>
void find_steps(stencil_kernel *kernel) {
    const bool ll = kernel->exchange == STENCIL_EXCHANGE_LL;
    switch (kernel->barrier) {
    case STENCIL_BARRIER_none:
        return describe_step<Sweep<P, T, true, false>>(kernel);
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        if constexpr (!Sweep<P, T, false, false>::classed || has_loop_of_classes(STENCIL_BARRIER_##id)) {    \
            if constexpr (HasLl && id##_barrier::local)                                                      \
                if (ll)                                                                                      \
                    return describe_loop<Sweep<P, T, false, true>, id##_barrier, true>(kernel);              \
            return describe_loop<Sweep<P, T, false, false>, id##_barrier, false>(kernel);                    \
        }                                                                                                    \
        return;
#include "sync/barriers.def"
    default:
        return;
    }
}
template <class P, class T> void find_kernel(stencil_kernel *kernel) {
    switch (kernel->sweep) {
#define STENCIL_SWEEP(name, exchanges, text)                                                                 \
    case STENCIL_SWEEP_##name:                                                                               \
        return find_steps<P, T, stencil_sweep_has_ll(STENCIL_SWEEP_##name), name##_sweep>(kernel);
#include "kernels/sweeps.def"
    default:
        return;
    }
}

} // namespace stencil

/* Adds the kernel of single steps to the row of the table of kernels that a key names. */
#define STENCIL_SHARD(name)                                                                                  \
    extern "C" void stencil_steps_##name(stencil_kernel *kernel) {                                           \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        if (kernel->precision == STENCIL_FLOAT64)                                                            \
            stencil::find_kernel<P, double>(kernel);                                                         \
        else                                                                                                 \
            stencil::find_kernel<P, float>(kernel);                                                          \
    }
