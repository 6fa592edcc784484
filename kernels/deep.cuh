/* The kernels of one point set that make several steps at once, the argument of STENCIL_DEEP(): a file for
 * each set of its own, for machine code that only one architecture has. */
#pragma once

#include "kernels/sweeps/pipeline_loop.cuh"
#include "kernels/sweeps/pipeline_mirror.cuh"
#include "kernels/sweeps/pipeline_solid.cuh"
#include "kernels/table.h"

namespace stencil {

template <class P, class T, stencil_pipeline_kind Kind>
void describe_pass(stencil_kernel *kernel, bool loop) {
    using Pass = pipeline<P, T, Kind>;
    kernel->deep = reinterpret_cast<const void *>(&pipeline_kernel<P, T, Kind>);
    kernel->depth = Pass::depth, kernel->deep_bytes = Pass::bytes;
    kernel->deep_threads = STENCIL_PIPELINE_THREADS;
    kernel->deep_capability = STENCIL_PIPELINE_CAPABILITY;
    if constexpr (Kind == STENCIL_PIPELINE_GENERAL) {
        kernel->mirror = reinterpret_cast<const void *>(&mirror_kernel<P, T>);
    } else {
        if (loop)
            kernel->deep = reinterpret_cast<const void *>(&pipeline_loop<Pass, STENCIL_PIPELINE_THREADS>);
        kernel->checked = reinterpret_cast<const void *>(&pipeline_kernel<P, T, STENCIL_PIPELINE_CHECKED>);
        kernel->checked_bytes = pipeline<P, T, STENCIL_PIPELINE_CHECKED>::bytes;
    }
}
template <class P, class T, bool General> void describe_solid(stencil_kernel *kernel, bool loop) {
    using Pass = pipeline_solid<P, T, General>;
    kernel->deep = loop ? reinterpret_cast<const void *>(&pipeline_loop<Pass, Pass::threads>)
                        : reinterpret_cast<const void *>(&pipeline_solid_kernel<P, T, General>);
    kernel->depth = Pass::depth, kernel->deep_bytes = Pass::bytes, kernel->deep_threads = Pass::threads;
    kernel->deep_capability = STENCIL_PIPELINE_CAPABILITY;
}
template <class P, class T> void describe_deep(stencil_kernel *kernel, bool general, bool loop) {
    if constexpr (P::rank == 2) {
        if (general)
            describe_pass<P, T, STENCIL_PIPELINE_GENERAL>(kernel, loop);
        else
            describe_pass<P, T, STENCIL_PIPELINE_PLAIN>(kernel, loop);
    } else {
        if (general)
            describe_solid<P, T, true>(kernel, loop);
        else
            describe_solid<P, T, false>(kernel, loop);
    }
}

} // namespace stencil

/* Adds them to a row of the table of kernels. */
#define STENCIL_DEEP(name)                                                                                   \
    extern "C" void stencil_deep_##name(stencil_kernel *kernel, bool general, bool loop) {                   \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        if (kernel->precision == STENCIL_FLOAT64)                                                            \
            stencil::describe_deep<P, double>(kernel, general, loop);                                        \
        else                                                                                                 \
            stencil::describe_deep<P, float>(kernel, general, loop);                                         \
    }
