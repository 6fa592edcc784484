/* The first level of folding as a kernel of its own, for loops driven by the host. */
#include "kernels/residual.cuh"
#include "kernels/table.h"

static __global__ void __launch_bounds__(stencil::block_threads)
    fold(const __grid_constant__ stencil_sweep s) {
    for (int64_t g = s.group_first + blockIdx.x; g < s.group_end; g += gridDim.x) {
        const double value =
            stencil::fold_group(stencil::read_chunks{s, 0}, s.domain.chunk_count, g, s.schedule.norm);
        if (threadIdx.x + threadIdx.y == 0)
            s.fold[g] = value;
    }
}

extern "C" const void *stencil_fold_kernel(void) {
    return reinterpret_cast<const void *>(&fold);
}
