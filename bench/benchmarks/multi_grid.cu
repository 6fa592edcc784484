#include "bench/benchmarks/passes.cuh"

static __global__ void __launch_bounds__(256) part(const __grid_constant__ stencil_passes p) {
    stencil::multi_grid_barrier barrier(p.state);
    if (blockIdx.x < p.blocks)
        barrier.sync(0);
    if (threadIdx.x == 0)
        atomicAdd(p.done, 1u);
}

extern "C" const void *stencil_multi_grid_kernel(int barrier, bool verify) {
    switch (barrier) {
    case STENCIL_BARRIER_neighbor:
        return kernel<stencil::neighbor_barrier>(verify);
    case STENCIL_BARRIER_multi_grid:
        return kernel<stencil::multi_grid_barrier>(verify);
    case STENCIL_PASSES_FAULT:
        return kernel<stencil::central_barrier>(verify);
    default:
        return nullptr;
    }
}

extern "C" const void *stencil_multi_grid_part_kernel(void) {
    return reinterpret_cast<const void *>(&part);
}
