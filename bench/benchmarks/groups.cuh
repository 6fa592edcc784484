/* Groups of threads that synchronise, with what cooperative groups call them: sync(), thread_rank(), size(),
 * shfl(). Each is made by the threads that belong to it, while they are together. */
#ifndef STENCIL_BENCH_GROUPS_CUH
#define STENCIL_BENCH_GROUPS_CUH

#include <cooperative_groups.h>

namespace stencil {

struct whole_warp {
    __device__ void sync() const {
        __syncwarp();
    }
    __device__ unsigned thread_rank() const {
        return threadIdx.x % 32;
    }
    __device__ unsigned size() const {
        return 32;
    }
};

struct whole_block {
    __device__ void sync() const {
        __syncthreads();
    }
    __device__ unsigned thread_rank() const {
        return threadIdx.x;
    }
    __device__ unsigned size() const {
        return blockDim.x;
    }
};

template <int Size> struct tile : cooperative_groups::thread_block_tile<Size> {
    __device__ tile()
        : cooperative_groups::thread_block_tile<Size>(
              cooperative_groups::tiled_partition<Size>(cooperative_groups::this_thread_block())) {}
};

struct coalesced : cooperative_groups::coalesced_group {
    __device__ coalesced() : cooperative_groups::coalesced_group(cooperative_groups::coalesced_threads()) {}
};

} // namespace stencil
#endif
