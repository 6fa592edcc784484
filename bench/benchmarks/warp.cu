#include <type_traits>

#include "bench/benchmarks/groups.cuh"
#include "bench/benchmarks/sm.cuh"

using stencil::coalesced;
using stencil::tile;

/* Of a coalesced group only the first lanes take part, as many as it has. */
template <class Group> struct group_operation : stencil::sm_operation {
    Group group;
    __device__ static bool takes_part(const stencil_sm_arguments &a) {
        return !std::is_same<Group, coalesced>::value || threadIdx.x % 32 < (unsigned)a.size;
    }
};

template <class Group> struct barrier : group_operation<Group> {
    __device__ explicit barrier(const stencil_sm_arguments &) {}
    __device__ void once() {
        this->group.sync();
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
struct nothing : stencil::sm_operation {
    unsigned seen = 0, change = threadIdx.x;
    __device__ explicit nothing(const stencil_sm_arguments &) {}
    __device__ void once() {
        asm volatile("xor.b32 %0, %0, %1;" : "+r"(seen) : "r"(change));
    }
    __device__ unsigned wrong(int64_t times) {
        return seen != (times % 2 == 0 ? 0 : change);
    }
};

/* Timed in one loop or the other, or checked. */
template <class Operation, class Checked, int Unrolled> static const void *kernel(stencil_warp_loop loop) {
    const void *const kernels[] = {STENCIL_KERNEL(stencil::time_operation<Operation, Unrolled>),
                                   STENCIL_KERNEL(stencil::time_divergent<Operation>),
                                   STENCIL_KERNEL(stencil::time_operation<Checked, 1>)};
    return kernels[loop];
}

template <class Group> static const void *barrier_kernel(stencil_warp_loop loop) {
    return kernel<barrier<Group>, checked_barrier<Group>, STENCIL_SM_UNROLLED>(loop);
}

/* Longer code is unrolled less, so that it stays in the instruction cache. */
template <class Group, int Unrolled> static const void *shuffle_kernel(stencil_warp_loop loop) {
    return loop == STENCIL_WARP_APART   ? nullptr
           : loop == STENCIL_WARP_CHECK ? STENCIL_KERNEL(stencil::time_operation<shuffle<Group>, 1>)
                                        : STENCIL_KERNEL(stencil::time_operation<shuffle<Group>, Unrolled>);
}

template <int Size> static const void *tile_kernel(int size, bool shuffles, stencil_warp_loop loop) {
    if (size == Size)
        return shuffles ? shuffle_kernel<tile<Size>, STENCIL_SM_UNROLLED>(loop)
                        : barrier_kernel<tile<Size>>(loop);
    if constexpr (Size > 1)
        return tile_kernel<Size / 2>(size, shuffles, loop);
    return nullptr;
}

extern "C" const void *stencil_warp_kernel(stencil_warp_operation operation, int size,
                                           stencil_warp_loop loop) {
    switch (operation) {
    case STENCIL_WARP_NOTHING:
        return loop == STENCIL_WARP_APART ? STENCIL_KERNEL(stencil::time_divergent<nothing>) : nullptr;
    case STENCIL_WARP_SYNCWARP:
        return barrier_kernel<stencil::whole_warp>(loop);
    case STENCIL_WARP_COALESCED:
        return barrier_kernel<coalesced>(loop);
    case STENCIL_WARP_SHUFFLE_COALESCED:
        return shuffle_kernel<coalesced, 8>(loop);
    default:
        return tile_kernel<32>(size, operation == STENCIL_WARP_SHUFFLE_TILE, loop);
    }
}
