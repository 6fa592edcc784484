/* The kernels of one point set that make several steps at once where cells have classes, which
 * STENCIL_DEEP_CLASSED() adds. Kernels for plain problems (deep.cuh) know no classes. */
#pragma once

#include "kernels/deep.cuh"
#include "kernels/sweeps/pipeline_kinds.cuh"

namespace stencil {

/* General: for all that general passes have, in 2D for all classes; else for cells that keep their values. */
template <class P, class T, bool General> void describe_deep_classed(stencil_kernel *kernel, bool loop) {
    if constexpr (P::rank == 3) {
        describe_pass<pipeline_solid<P, T, General, true>>(kernel, loop);
    } else {
        constexpr auto kind = General ? STENCIL_PIPELINE_CLASSED : STENCIL_PIPELINE_FIXED;
        describe_pass<pipeline<P, T, kind>>(kernel, loop);
        kernel->kinds = kernel_address(&kinds_kernel<pipeline_kinds<P, T, kind>>);
        if (General)
            kernel->mirror = kernel_address(&mirror_kernel<P, T, true>);
    }
}

} // namespace stencil

#define STENCIL_DEEP_CLASSED(name)                                                                           \
    extern "C" void stencil_deep_classed_##name(stencil_kernel *kernel, bool general, bool loop) {           \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        stencil::with_kind(kernel->precision, general, [&](auto cell, auto is_general) {                     \
            stencil::describe_deep_classed<P, decltype(cell), decltype(is_general)::value>(kernel, loop);    \
        });                                                                                                  \
    }
