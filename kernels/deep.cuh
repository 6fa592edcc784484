/* The kernels of one point set that make several steps at once, which STENCIL_DEEP() adds: a separate file
 * for each set, for machine code that only one architecture has. */
#pragma once

#include "kernels/sweeps/pipeline_loop.cuh"
#include "kernels/sweeps/pipeline_solid.cuh"
#include "kernels/address.cuh"
#include "kernels/table.h"

namespace stencil {

/* Fills in the functions of a pass, or of a persistent loop of passes, which not every kind of pass has. */
template <class Pass> void describe_pass(stencil_kernel *kernel, bool loop) {
    kernel->deep = kernel_address(&pipeline_kernel<Pass>);
    if constexpr (Pass::has_loop)
        if (loop)
            kernel->deep = kernel_address(&pipeline_loop<Pass>);
    kernel->depth = Pass::depth, kernel->deep_bytes = Pass::bytes, kernel->deep_threads = Pass::threads;
    kernel->deep_capability = STENCIL_PIPELINE_CAPABILITY;
}
template <class P, class T, bool General> void describe_deep(stencil_kernel *kernel, bool loop) {
    if constexpr (P::rank == 3) {
        describe_pass<pipeline_solid<P, T, General, false>>(kernel, loop);
    } else if constexpr (General) {
        describe_pass<pipeline<P, T, STENCIL_PIPELINE_GENERAL>>(kernel, loop);
        kernel->mirror = kernel_address(&mirror_kernel<P, T, false>);
    } else {
        using Checked = pipeline<P, T, STENCIL_PIPELINE_CHECKED>;
        describe_pass<pipeline<P, T, STENCIL_PIPELINE_PLAIN>>(kernel, loop);
        kernel->checked = kernel_address(&pipeline_kernel<Checked>);
        kernel->checked_threads = Checked::threads, kernel->checked_bytes = Checked::bytes;
    }
}

} // namespace stencil

/* Adds the kernels that make several steps at once to a row of the table of kernels. */
#define STENCIL_DEEP(name)                                                                                   \
    extern "C" void stencil_deep_##name(stencil_kernel *kernel, bool general, bool loop) {                   \
        using P = stencil::named_points<STENCIL_SHAPE_##name>;                                               \
        stencil::with_kind(kernel->precision, general, [&](auto cell, auto is_general) {                     \
            stencil::describe_deep<P, decltype(cell), decltype(is_general)::value>(kernel, loop);            \
        });                                                                                                  \
    }
