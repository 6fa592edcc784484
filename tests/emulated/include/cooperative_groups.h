/* The grid barrier of cooperative groups, for the emulated GPU: an arrival that adds to a word, whose highest
 * bit flips when the last block has come. */
#pragma once

#include <cuda_runtime.h>

namespace cooperative_groups {

namespace details {
struct grid_workspace {
    unsigned int barrier;
};
inline grid_workspace *get_grid_workspace() {
    return reinterpret_cast<grid_workspace *>(emulated::grid_word());
}
inline bool bar_has_flipped(unsigned int before, unsigned int now) {
    return ((before ^ now) & 0x80000000u) != 0;
}
} // namespace details

struct grid_group {
    using arrival_token = unsigned int;
    arrival_token barrier_arrive() const {
        __syncthreads();
        const bool first = blockIdx.x + blockIdx.y + blockIdx.z == 0;
        const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        arrival_token before = 0;
        if (threadIdx.x + threadIdx.y + threadIdx.z == 0)
            before =
                atomicAdd(&details::get_grid_workspace()->barrier, first ? 0x80000000u - (blocks - 1) : 1u);
        return before;
    }
};
inline grid_group this_grid() {
    return {};
}

} // namespace cooperative_groups
