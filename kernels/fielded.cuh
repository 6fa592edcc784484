/* The kernels of one point set for cells whose weights come from fields of faces, which STENCIL_FIELDED()
 * adds: those of single steps, by the sweeps naive and stream, for stars of radius 1. */
#pragma once

#include "kernels/shard.cuh"

namespace stencil {

/* Fills in the kernel for fields of kernel->sweep, or of the stream sweep, which makes single steps for
 * sweeps of several steps. Other point sets have none. */
template <class P, class T> void find_fielded(stencil_kernel *kernel) {
    if constexpr (P::rule == STENCIL_STAR && P::radius == 1) {
        if (kernel->sweep == STENCIL_SWEEP_naive)
            return find_steps<P, T, false, naive_fielded>(kernel);
        return find_steps<P, T, true, stream_fielded>(kernel);
    }
}

} // namespace stencil

#define STENCIL_FIELDED(name)                                                                                \
    extern "C" void stencil_fielded_##name(stencil_kernel *kernel) {                                         \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        if (kernel->precision == STENCIL_FLOAT64)                                                            \
            stencil::find_fielded<P, double>(kernel);                                                        \
        else                                                                                                 \
            stencil::find_fielded<P, float>(kernel);                                                         \
    }
