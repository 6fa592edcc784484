/* The kernels of one point set for cells of several classes, which STENCIL_CLASSED() adds: those of single
 * steps, by the sweeps naive and stream. Kernels for plain problems (shard.cuh) know no classes. */
#pragma once

#include "kernels/shard.cuh"

namespace stencil {

/* Fills in the kernel for classes of kernel->sweep, or of the stream sweep, which makes single steps for
 * sweeps of several steps. */
template <class P, class T> void find_classed(stencil_kernel *kernel) {
    if (kernel->sweep == STENCIL_SWEEP_naive)
        return find_steps<P, T, false, naive_classed>(kernel);
    return find_steps<P, T, true, stream_classed>(kernel);
}

} // namespace stencil

#define STENCIL_CLASSED(name)                                                                                \
    extern "C" void stencil_classed_##name(stencil_kernel *kernel) {                                         \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        if (kernel->precision == STENCIL_FLOAT64)                                                            \
            stencil::find_classed<P, double>(kernel);                                                        \
        else                                                                                                 \
            stencil::find_classed<P, float>(kernel);                                                         \
    }
