/* The kernel that makes cells of cuRAND's words. */
#include "philox/cells.h"

#include "kernels/address.cuh"
#include "kernels/table.h"

static __global__ void __launch_bounds__(STENCIL_BLOCK_THREADS)
    convert(const __grid_constant__ stencil_random_conversion c) {
    const int64_t words = stencil_random_words_of(c.wide);
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < c.count;
         i += (int64_t)gridDim.x * blockDim.x)
        c.cell[i] = c.factor * stencil_random_number_of(c.wide, c.word + words * i);
}

extern "C" const void *stencil_random_kernel(void) {
    return stencil::kernel_address(&convert);
}
