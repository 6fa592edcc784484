/* The kernels of single steps of one point set, the argument of STENCIL_SHARD(): the build compiles a file for
 * each set, since the address of a kernel template must be taken where it is instantiated. */
#pragma once

#include "kernels/persistent.cuh"
#include "kernels/sweeps_all.h"
#include "kernels/table.h"

namespace stencil {

template <class Sweep> void describe_steps(stencil_kernel *kernel, void (*function)(stencil_kernel_args)) {
    kernel->function = reinterpret_cast<const void *>(function);
    kernel->cells = Sweep::cells, kernel->block_x = Sweep::block_x, kernel->blocks = Sweep::blocks;
    kernel->step_bytes = Sweep::shared_bytes;
}

/* A sweep by its template: of points, cell, whether each step is a launch, whether with LL exchange. */
template <class P, class T, bool Ll, template <class, class, bool, bool> class Sweep>
void find_steps(stencil_kernel *kernel) {
    if (kernel->barrier == STENCIL_BARRIER_none) {
        describe_steps<Sweep<P, T, true, false>>(kernel, step_kernel<Sweep<P, T, true, false>>);
    } else if (kernel->exchange == STENCIL_EXCHANGE_STORE) {
        describe_steps<Sweep<P, T, false, false>>(kernel, persistent_kernel<Sweep<P, T, false, false>, false>);
    } else if constexpr (Ll) {
        describe_steps<Sweep<P, T, false, true>>(kernel, persistent_kernel<Sweep<P, T, false, true>, true>);
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

/* Completes the row of the table of kernels that a key names. */
#define STENCIL_SHARD(name)                                                                                  \
    extern "C" void stencil_steps_##name(stencil_kernel *kernel) {                                           \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        if (kernel->precision == STENCIL_FLOAT64)                                                            \
            stencil::find_kernel<P, double>(kernel);                                                         \
        else                                                                                                 \
            stencil::find_kernel<P, float>(kernel);                                                          \
    }
