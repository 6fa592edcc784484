#include "bench/benchmarks/passes.cuh"

static __global__ void __launch_bounds__(256) part(const __grid_constant__ stencil_passes p) {
    stencil::multi_grid_barrier barrier(p.state);
    if (blockIdx.x < p.blocks)
        barrier.sync(0);
    if (threadIdx.x == 0)
        atomicAdd(p.done, 1u);
}

const void *const stencil_multi_grid_kernels[][2] = {
    STENCIL_PASSES_OF(stencil::neighbor_barrier),
    STENCIL_PASSES_OF(stencil::multi_grid_barrier),
    STENCIL_PASSES_OF(stencil::central_barrier),
    {STENCIL_KERNEL(part), nullptr},
};
