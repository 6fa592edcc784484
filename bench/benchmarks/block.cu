#include "bench/benchmarks/sm.cuh"

struct block_barrier : stencil::sm_operation {
    __device__ explicit block_barrier(const stencil_sm_arguments &) {}
    __device__ void once() {
        __syncthreads();
    }
};

/* Each thread leaves the number of the pass, some of them late, and looks at the word of another
 * thread. */
struct checked_block_barrier : stencil::sm_operation {
    volatile uint32_t *word;
    uint32_t pass = 0, missing = 0;
    __device__ explicit checked_block_barrier(const stencil_sm_arguments &) {
        __shared__ uint32_t words[1024];
        words[threadIdx.x] = 0;
        __syncthreads();
        word = words;
    }
    __device__ void once() {
        pass++;
        if ((pass + threadIdx.x / 32) % 8 == 0)
            __nanosleep(200);
        word[threadIdx.x] = pass;
        __syncthreads();
        missing += word[(threadIdx.x + 1 + 37 * pass % (blockDim.x - 1)) % blockDim.x] < pass;
    }
    __device__ unsigned wrong(int64_t) {
        return missing;
    }
};

const void *const stencil_block_kernels[] = {
    STENCIL_KERNEL(stencil::time_operation<block_barrier, STENCIL_SM_UNROLLED>),
    STENCIL_KERNEL(stencil::time_operation<checked_block_barrier, 1>)};
