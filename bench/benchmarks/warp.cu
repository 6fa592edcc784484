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
 * group, whose threads stand side by side. */
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
        missing += word[(rank + 1 + 37 * pass) % size] < pass;
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

template <class Group> static stencil_group_kernel barrier_of(const char *name, int least, int most) {
    return {name,
            {STENCIL_KERNEL(stencil::time_operation<barrier<Group>, STENCIL_SM_UNROLLED>),
             STENCIL_KERNEL(stencil::time_divergent<barrier<Group>>),
             STENCIL_KERNEL(stencil::time_operation<checked_barrier<Group>, 1>)},
            least,
            most,
            false};
}

template <class Group, int Unrolled>
static stencil_group_kernel shuffle_of(const char *name, int least, int most) {
    return {name,
            {STENCIL_KERNEL(stencil::time_operation<shuffle<Group>, Unrolled>), nullptr,
             STENCIL_KERNEL(stencil::time_operation<shuffle<Group>, 1>)},
            least,
            most,
            true};
}

template <int Size> static stencil_group_kernel barrier_of_tile() {
    return barrier_of<tile<Size>>("tile", Size, Size);
}

template <int Size> static stencil_group_kernel shuffle_of_tile() {
    return shuffle_of<tile<Size>, STENCIL_SM_UNROLLED>("shuffle, tile", Size, Size);
}

const stencil_group_kernel stencil_block_kernel = barrier_of<stencil::whole_block>("__syncthreads", 0, 0);

/* Longer code is unrolled less, so that it stays in the instruction cache. */
const stencil_group_kernel stencil_warp_kernels[] = {
    {"loop", {nullptr, STENCIL_KERNEL(stencil::time_divergent<nothing>), nullptr}, 32, 32, false},
    barrier_of<stencil::whole_warp>("__syncwarp", 32, 32),
    barrier_of_tile<1>(),
    barrier_of_tile<2>(),
    barrier_of_tile<4>(),
    barrier_of_tile<8>(),
    barrier_of_tile<16>(),
    barrier_of_tile<32>(),
    barrier_of<coalesced>("coalesced", 1, 32),
    shuffle_of_tile<1>(),
    shuffle_of_tile<2>(),
    shuffle_of_tile<4>(),
    shuffle_of_tile<8>(),
    shuffle_of_tile<16>(),
    shuffle_of_tile<32>(),
    shuffle_of<coalesced, 8>("shuffle, coalesced", 1, 32),
    {},
};
