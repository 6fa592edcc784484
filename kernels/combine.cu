/* The kernel of the residual's first reduction level, for time loops that the host drives. */
#include "kernels/address.cuh"
#include "kernels/residual.cuh"
#include "kernels/table.h"

static __global__ void __launch_bounds__(stencil::block_threads)
    combine(const __grid_constant__ stencil_kernel_args s) {
    for (int64_t g = s.result_first + blockIdx.x; g < s.result_end; g += gridDim.x) {
        const double value =
            stencil::combine_values(stencil::read_partials{s, 0}, s.domain.partial_count, g, s.schedule.norm);
        if (threadIdx.x + threadIdx.y == 0)
            s.level[g] = value;
    }
}

extern "C" const void *stencil_combine_kernel(void) {
    return stencil::kernel_address(&combine);
}
