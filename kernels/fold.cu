/* One level of folding as a kernel of its own, for loops driven by the host. */
#include "kernels/residual.cuh"
#include "kernels/table.h"

static __global__ void __launch_bounds__(stencil::block_threads)
    fold(const double *v, int64_t count, double *folded, int norm) {
    const int64_t groups = (count + STENCIL_FOLD_VALUES - 1) / STENCIL_FOLD_VALUES;
    for (int64_t g = blockIdx.x; g < groups; g += gridDim.x) {
        const double value = stencil::fold_group(v, count, g, (stencil_norm)norm);
        if (threadIdx.x + threadIdx.y == 0)
            folded[g] = value;
    }
}

extern "C" const void *stencil_fold_kernel(void) {
    return reinterpret_cast<const void *>(&fold);
}
