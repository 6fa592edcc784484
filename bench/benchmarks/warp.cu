#include <cooperative_groups.h>

#include "bench/benchmarks/sm.cuh"
#include "bench/benchmarks/warp_kernels.h"

namespace cg = cooperative_groups;

/* The groups. Each is made by the threads that belong to it, when nobody else runs any more. */
struct whole_warp {
    __device__ void sync() {
        __syncwarp();
    }
    __device__ unsigned thread_rank() const {
        return threadIdx.x % 32;
    }
    __device__ unsigned size() const {
        return 32;
    }
    __device__ static bool member(const stencil_sm_arguments &) {
        return true;
    }
};

template <int Size> struct tile : cg::thread_block_tile<Size> {
    __device__ tile() : cg::thread_block_tile<Size>(cg::tiled_partition<Size>(cg::this_thread_block())) {}
    __device__ static bool member(const stencil_sm_arguments &) {
        return true;
    }
};

struct coalesced : cg::coalesced_group {
    __device__ coalesced() : cg::coalesced_group(cg::coalesced_threads()) {}
    __device__ static bool member(const stencil_sm_arguments &a) {
        return threadIdx.x % 32 < (unsigned)a.size;
    }
};

template <class Group> struct group_operation {
    Group group;
    __device__ static bool takes_part(const stencil_sm_arguments &a) {
        return Group::member(a);
    }
};

template <class Group> struct barrier : group_operation<Group> {
    __device__ explicit barrier(const stencil_sm_arguments &) {}
    __device__ void once() {
        this->group.sync();
    }
    __device__ unsigned wrong(int64_t) {
        return 0;
    }
};

/* Each thread leaves the number of the pass, some of them late, and looks at the word of another one of its
 * group, whose lanes stand side by side. */
template <class Group> struct checked_barrier : group_operation<Group> {
    volatile uint32_t *word; /* of the group's first thread */
    unsigned rank, size;
    uint32_t pass = 0, missing = 0;
    __device__ explicit checked_barrier(const stencil_sm_arguments &) {
        __shared__ uint32_t words[1024];
        rank = this->group.thread_rank();
        size = this->group.size();
        word = words + threadIdx.x - rank;
        word[rank] = 0;
        this->group.sync();
    }
    __device__ void once() {
        pass++;
        if ((pass + rank) % 4 == 0)
            __nanosleep(100);
        word[rank] = pass;
        this->group.sync();
        missing += word[(rank + 1 + pass % 31) % size] < pass;
    }
    __device__ unsigned wrong(int64_t) {
        return missing;
    }
};

/* Values go round, one thread on at a time: after so many shuffles it is known who has whose. The source is
 * hidden from the compiler, which would else compute once what a shuffle in a coalesced group computes each
 * time: the lane of the source. */
template <class Group> struct shuffle : group_operation<Group> {
    int next, value;
    __device__ explicit shuffle(const stencil_sm_arguments &)
        : next((this->group.thread_rank() + 1) % this->group.size()), value(this->group.thread_rank()) {}
    __device__ void once() {
        int source = next;
        asm volatile("" : "+r"(source) : "r"(value));
        value = this->group.shfl(value, source);
    }
    __device__ unsigned wrong(int64_t times) {
        return value != (int)((this->group.thread_rank() + times) % this->group.size());
    }
};

/* One instruction in place of a barrier, or there would be no loop. */
struct nothing {
    unsigned seen = 0, change = threadIdx.x;
    __device__ explicit nothing(const stencil_sm_arguments &) {}
    __device__ static bool takes_part(const stencil_sm_arguments &) {
        return true;
    }
    __device__ void once() {
        asm volatile("xor.b32 %0, %0, %1;" : "+r"(seen) : "r"(change));
    }
    __device__ unsigned wrong(int64_t times) {
        return seen != (times % 2 == 0 ? 0 : change);
    }
};

template <class Operation, int Unrolled> static const void *kernel(stencil_warp_loop loop) {
    return loop == STENCIL_WARP_APART
               ? reinterpret_cast<const void *>(&stencil::time_divergent<Operation>)
               : reinterpret_cast<const void *>(&stencil::time_operation<Operation, Unrolled>);
}

template <class Group> static const void *barrier_kernel(stencil_warp_loop loop) {
    return loop == STENCIL_WARP_CHECK ? kernel<checked_barrier<Group>, 1>(loop)
                                      : kernel<barrier<Group>, STENCIL_WARP_UNROLLED>(loop);
}

/* Longer code is unrolled less, so that it stays in the instruction cache. */
template <class Group, int Unrolled> static const void *shuffle_kernel(stencil_warp_loop loop) {
    return loop == STENCIL_WARP_CHECK ? kernel<shuffle<Group>, 1>(loop)
                                      : kernel<shuffle<Group>, Unrolled>(loop);
}

template <int Size> static const void *tile_kernel(bool shuffles, stencil_warp_loop loop) {
    return shuffles ? shuffle_kernel<tile<Size>, STENCIL_WARP_UNROLLED>(loop)
                    : barrier_kernel<tile<Size>>(loop);
}

static const void *tile_kernel_of(int size, bool shuffles, stencil_warp_loop loop) {
    switch (size) {
    case 1:
        return tile_kernel<1>(shuffles, loop);
    case 2:
        return tile_kernel<2>(shuffles, loop);
    case 4:
        return tile_kernel<4>(shuffles, loop);
    case 8:
        return tile_kernel<8>(shuffles, loop);
    case 16:
        return tile_kernel<16>(shuffles, loop);
    case 32:
        return tile_kernel<32>(shuffles, loop);
    default:
        return nullptr;
    }
}

extern "C" const void *stencil_warp_kernel(stencil_warp_operation operation, int size,
                                           stencil_warp_loop loop) {
    switch (operation) {
    case STENCIL_WARP_NOTHING:
        return loop == STENCIL_WARP_APART ? kernel<nothing, 1>(loop) : nullptr;
    case STENCIL_WARP_SYNCWARP:
        return barrier_kernel<whole_warp>(loop);
    case STENCIL_WARP_TILE:
        return tile_kernel_of(size, false, loop);
    case STENCIL_WARP_COALESCED:
        return barrier_kernel<coalesced>(loop);
    case STENCIL_WARP_SHUFFLE_TILE:
        return loop == STENCIL_WARP_APART ? nullptr : tile_kernel_of(size, true, loop);
    case STENCIL_WARP_SHUFFLE_COALESCED:
        return loop == STENCIL_WARP_APART ? nullptr : shuffle_kernel<coalesced, 8>(loop);
    default:
        return nullptr;
    }
}
