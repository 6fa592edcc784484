/* The empty barrier: the step ends with its launch, and the stream orders launches. */
#ifndef STENCIL_SYNC_NONE_CUH
#define STENCIL_SYNC_NONE_CUH

#include "sync/barrier.h"

namespace stencil {

struct none_barrier {
    __device__ explicit none_barrier(const stencil_barrier_state &) {}
    __device__ void sync() {}
};

} // namespace stencil
#endif
