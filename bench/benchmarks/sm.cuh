/* Operations timed by the clock of a multiprocessor: what the benchmarks add, block, memory, peer and warp
 * have in common: the frame around an operation in a kernel, launches, collecting what every warp saw,
 * latency and throughput. */
#pragma once

#include <cooperative_groups.h>
#include <type_traits>

#include "bench/device.h"

namespace stencil {

/* Record of a warp, written by the first lane that takes part. */
struct sm_record {
    int64_t start, end; /* clock of multiprocessor `sm` */
    uint32_t sm;
    uint32_t wrong; /* results that were not right, all lanes */
};

/* The argument of every such kernel. */
struct sm_arguments {
    int64_t repeats;   /* a multiple of what the kernel unrolls */
    int size;          /* of a group, where it is not known at compile time */
    sm_record *record; /* [blocks][warps in a block], at least 32; zeroed */
    /* Words of an operation on memory, and the number of the word that it came to. */
    stencil_words words;
    uint32_t *at;
};

using sm_kernel = void(sm_arguments);

/* Repeats of timed kernels of block and warp must be a multiple of this. */
enum { SM_UNROLLED = 64 };

struct sm_timing {
    stencil_device gpu;
    sm_record *device, *host;                    /* [all warps that fit], zeroed */
    int64_t latency_repeats, throughput_repeats; /* as published, or as the user asks */
};

struct sm_case {
    const sm_timing *timing;
    sm_kernel *kernel;
    const char *name; /* what failures name */
    stencil_words words;
    bool fresh;        /* these are written again before each launch */
    int threads;       /* of a block */
    int blocks_per_sm; /* 0: a single block */
    int size;
    uint32_t *at;
    /* Value: this times the operations of warps per cycle on one multiprocessor, median over all; or 0:
     * cycles of an operation, from the first start to the last end in the first block. */
    double scale;
    sm_kernel *checked; /* what verifies the kernel, with so many threads and repeats */
    int checked_threads;
    int64_t checks;
};

/* Repeats are multiples of what kernels unroll, and parameters of the result; 0: the
 * benchmark has its own. */
stencil_status sm_begin(stencil_bench *b, sm_timing *timing, int unrolled);

/* A sampler: one launch of a sm_case, whose GPU is the current one then. INTERNAL, naming it, where results
 * were wrong or a warp left no record. */
stencil_status sm_sample(stencil_bench *b, void *what, int64_t repeats, double *value);

/* Verifies a row after timing: `checked` on full multiprocessors. */
stencil_status sm_verify(stencil_bench *b, void *what);

/* An operation is a type with  static bool takes_part(const sm_arguments &)  of the threads that make it,
 * Operation(const sm_arguments &),  void once(), made again and again, and  unsigned wrong(int64_t times),
 * which looks at the result of all of them. Lane 0 of every warp takes part. Before the clock is read again,
 * settle()  uses the last result, so that it has come, and returns 0. Those of `sm_operation` take everybody,
 * wait for nothing and leave nothing to look at. */
struct sm_operation {
    __device__ static bool takes_part(const sm_arguments &) {
        return true;
    }
    __device__ int settle() {
        return 0;
    }
    __device__ unsigned wrong(int64_t) {
        return 0;
    }
};

/* Groups of threads that synchronise, with what cooperative groups call them: sync(), thread_rank(), size(),
 * shfl(). Each is made by the threads that belong to it, while they are together. */
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

/* An operation of a group. Only the first lanes take part in a coalesced group, as many as it has. */
template <class Group> struct group_operation : sm_operation {
    Group group;
    __device__ static bool takes_part(const sm_arguments &a) {
        return !std::is_same<Group, coalesced>::value || threadIdx.x % 32 < (unsigned)a.size;
    }
};

template <class Group> struct barrier : group_operation<Group> {
    __device__ explicit barrier(const sm_arguments &) {}
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
    __device__ explicit checked_barrier(const sm_arguments &) {
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

/* Adding up doubles in shared memory, i += group size (000 Fig. 10): each thread SUM_BYTES at a time. */
enum { SUM_BYTES = sizeof(double) };
struct shared_sum : sm_operation {
    uint32_t address, offset = 0;
    double sum = 0;
    __device__ explicit shared_sum(const sm_arguments &) {
        __shared__ double data[2048];
        for (uint32_t i = threadIdx.x; i < 2048; i += blockDim.x)
            data[i] = 1;
        __syncthreads();
        address = (uint32_t)__cvta_generic_to_shared(data);
        offset = 8 * threadIdx.x;
    }
    __device__ void once() {
        double value;
        asm volatile("ld.volatile.shared.f64 %0, [%1];" : "=d"(value) : "r"(address + offset));
        sum += value;
        offset = (offset + 8 * blockDim.x) & (8 * 2048 - 1);
    }
    __device__ unsigned wrong(int64_t times) {
        return sum != (double)times;
    }
};

__device__ __forceinline__ uint32_t multiprocessor() {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* The first active lane of each warp leaves what it saw, all of them what was wrong. */
__device__ __forceinline__ void leave_record(const sm_arguments &a, long long start, long long end,
                                             unsigned wrong) {
    sm_record *record = a.record + (size_t)blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) {
        record->start = start;
        record->end = end;
        record->sm = multiprocessor();
    }
    if (wrong > 0)
        atomicAdd(&record->wrong, wrong);
}

/* Everything twice: the first time round, with few repeats, brings the instructions into their cache. */
template <class Operation, int Unrolled>
static __global__ void __launch_bounds__(1024, 2) time_operation(const __grid_constant__ sm_arguments a) {
    if (!Operation::takes_part(a))
        return;
    Operation operation(a);
    long long start = 0, end = 0;
#pragma unroll 1
    for (int warm = 0; warm < 2; warm++) {
        const int64_t rounds = warm == 0 ? 1 : a.repeats / Unrolled;
        start = clock64();
#pragma unroll 1
        for (int64_t i = 0; i < rounds; i++)
#pragma unroll
            for (int k = 0; k < Unrolled; k++)
                operation.once();
        const int nothing = operation.settle();
        end = clock64() + nothing;
    }
    leave_record(a, start, end, operation.wrong(a.repeats / Unrolled * Unrolled + Unrolled));
}

/* Times an operation in a loop of which the compiler cannot know that all lanes make it equally often: each
 * reads how many more rounds it has to make, which is none. So a barrier of the warp cannot be left out. */
template <class Operation>
static __global__ void __launch_bounds__(1024, 2) time_divergent(const __grid_constant__ sm_arguments a) {
    if (!Operation::takes_part(a))
        return;
    Operation operation(a);
    const volatile uint32_t *nothing = &a.record[(threadIdx.x + blockIdx.x) % 32].wrong;
    const int rounds = (int)a.repeats + (int)*nothing;
    const long long start = clock64();
#pragma unroll 1
    for (int i = 0; i < rounds; i++)
        operation.once();
    const long long end = clock64();
    leave_record(a, start, end, operation.wrong(rounds));
}

} // namespace stencil
