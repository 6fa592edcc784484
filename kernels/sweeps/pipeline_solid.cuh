/* A pass of several steps of a 3D part on a GPU. */
#pragma once

#include "kernels/sweeps/pipeline_general.cuh"

namespace stencil {

/* Makes a pass of several steps of a 3D part. In a short pass the first levels have no step. Classed: cells
 * may be fixed. */
template <class P, class T, bool General, bool Classed>
using pipeline_solid_base =
    std::conditional_t<General, pipeline_general<P, T, Classed>, pipeline_planes<P, T, false, Classed>>;
template <class P, class T, bool General, bool Classed>
struct pipeline_solid : pipeline_solid_base<P, T, General, Classed> {
    using base = pipeline_solid_base<P, T, General, Classed>;
    using base::depth, base::threads, base::weights_at;
    using typename base::place, typename base::piece;
    static constexpr bool has_loop = true;
    static constexpr bool shares_turns = false;       /* what all lanes know is in uniform registers */
    __device__ __forceinline__ static bool copies() { /* all threads copy rows */
        return true;
    }

    __device__ __forceinline__ static bool needs_rows(const stencil_kernel_args &, const stencil_pass &) {
        return false;
    }
    __device__ __forceinline__ static void prepare(const stencil_kernel_args &, const stencil_pass &) {}

    template <bool Loop = false>
    __device__ __forceinline__ static void run(const stencil_kernel_args &s, const stencil_pass &pass,
                                               bool = false) {
        extern __shared__ __align__(128) char shared[];
        place l;
        base::start(s, pass, l);
        if constexpr (General)
            base::step_weights::put(reinterpret_cast<T *>(shared + weights_at), s, pass.first,
                                    depth - pass.steps, depth);
        if (threadIdx.x < depth)
            init_barrier(shared_address(shared) + threadIdx.x * 8, threads);
        publish_barriers();
        __syncthreads();
        base warp;
        if constexpr (General)
            warp.enter(shared, s.cycle_length > 1);
        else
            warp.enter(shared);
        base::walk(l, [&](const piece &p) { warp.make_piece(s.domain, s.classes, l, p); });
    }
    /* Call after run() if another pass follows: resets the barriers. */
    __device__ __forceinline__ static void end() {
        extern __shared__ __align__(128) char shared[];
        __syncthreads();
        if (threadIdx.x < depth)
            drop_barrier(shared_address(shared) + threadIdx.x * 8);
        __syncthreads();
    }
};

} // namespace stencil
