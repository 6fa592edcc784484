/* What barriers share whose blocks wait for all blocks: a goal that grows with each pass, kept between
 * launches in the block's epoch. Self::sync() moves it on. */
#ifndef STENCIL_SYNC_COUNTED_CUH
#define STENCIL_SYNC_COUNTED_CUH

#include "sync/memory.cuh"

namespace stencil {

template <class Self> struct counted_barrier {
    static constexpr bool local = false;
    const stencil_barrier_state &s;
    uint32_t goal;

    __device__ explicit counted_barrier(const stencil_barrier_state &state)
        : s(state), goal(stencil_barrier_epoch(&state)[blockIdx.x]) {}

    __device__ void sync_all(int64_t step) {
        static_cast<Self *>(this)->sync(step);
    }
    __device__ void leave() {
        if (thread_in_block() == 0)
            stencil_barrier_epoch(&s)[blockIdx.x] = goal;
    }
};

} // namespace stencil
#endif
