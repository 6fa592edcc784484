/* A pass of several steps of a 3D part on a GPU. */
#pragma once

#include "kernels/sweeps/pipeline_general.cuh"
#include "kernels/sweeps/pipeline_pass.cuh"

namespace stencil {

/* The first levels have no step where the pass is short. */
template <class P, class T, bool General>
struct pipeline_solid : std::conditional_t<General, pipeline_general<P, T>, pipeline_planes<P, T>> {
    using base = std::conditional_t<General, pipeline_general<P, T>, pipeline_planes<P, T>>;
    using base::depth, base::threads, base::weights_at;
    using typename base::place, typename base::piece;

    __device__ __forceinline__ static void run(const stencil_kernel_args &s, const stencil_pass &pass) {
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
        base::walk(l, [&](const piece &p) { warp.make_piece(s.domain, l, p); });
    }
    /* Behind run(), where more is to come. */
    __device__ __forceinline__ static void end() {
        extern __shared__ __align__(128) char shared[];
        __syncthreads();
        if (threadIdx.x < depth)
            drop_barrier(shared_address(shared) + threadIdx.x * 8);
        __syncthreads();
    }
};

template <class P, class T, bool General>
__global__ void __launch_bounds__(stencil_pipeline_tile_threads(P::rule, P::radius, sizeof(T) == 8, General),
                                  1) pipeline_solid_kernel(const __grid_constant__ stencil_kernel_args s) {
    await_launch_before();
#if STENCIL_HAS_BULK_COPIES
    launched_deep_pass<pipeline_solid<P, T, General>>(s);
#else
    __trap();
#endif
}

} // namespace stencil
