/* Operations timed by the clock of a multiprocessor, for the benchmarks add, block, memory, peer and warp:
 * kernels that time an operation, launches, collecting a record of every warp, latency and throughput. */
#pragma once

#include <cooperative_groups.h>
#include <type_traits>

#include "bench/device.h"
#include "sync/ptx.cuh"

namespace stencil {

/* Record of a warp, written by its first participating lane. */
struct sm_record {
    int64_t start, end; /* clock of multiprocessor `sm` */
    uint32_t sm;
    uint32_t wrong; /* number of wrong results in all lanes */
};

/* Argument of every timed kernel. */
struct sm_arguments {
    int64_t repeats;   /* a multiple of the repeats that the kernel unrolls */
    int size;          /* threads of a group whose size is unknown at compile time */
    sm_record *record; /* [blocks][warps in a block], at least 32; zeroed */
    /* Memory of a pointer chase, and the index of the word where the chase ended. */
    stencil_words words;
    uint32_t *at;
};

using sm_kernel = void(sm_arguments);

/* Repeats of timed kernels in benchmarks block and warp are multiples of SM_UNROLLED. */
enum { SM_UNROLLED = 64 };

struct sm_timing {
    stencil_device gpu;
    sm_record *device, *host;                    /* records of all warps that fit on the GPU, zeroed */
    int64_t latency_repeats, throughput_repeats; /* repeats: published, or the user's */
};

struct sm_case {
    const sm_timing *timing;
    sm_kernel *kernel;
    const char *name; /* name of the operation in error messages */
    stencil_words words;
    bool fresh;        /* rewrite `words` before each launch */
    int threads;       /* threads of a block */
    int blocks_per_sm; /* 0: the grid is a single block */
    int size;
    uint32_t *at;
    /* Value of a sample: `scale` times the warp operations per cycle of a multiprocessor, median over all;
     * with scale 0, the cycles of an operation, from the first start to the last end in the first block. */
    double scale;
    sm_kernel *checked; /* kernel that verifies the operation */
    int checked_threads;
    int64_t checks; /* repeats in a launch of `checked` */
};

/* Sets up the GPU and the repeats, rounded up to a multiple of `unrolled` and added to the result's
 * parameters; unrolled 0: the benchmark sets repeats itself. */
stencil_status sm_begin(stencil_bench *b, sm_timing *timing, int unrolled);

/* Sampler that launches a sm_case once and makes its GPU current. Errors: INTERNAL, naming the case, where a
 * result is wrong or the record of a warp is missing. */
stencil_status sm_sample(stencil_bench *b, void *what, int64_t repeats, double *value);

/* Verifies a sm_case after timing, by launching `checked` on full multiprocessors. */
stencil_status sm_verify(stencil_bench *b, void *what);

/* Base of timed operations, with defaults: all threads participate, nothing to wait for, nothing to verify.
 * An operation is a type with static bool takes_part(const sm_arguments &), true in lane 0; Operation(const
 * sm_arguments &); void once(), the timed code; int settle(), which waits for the last result before the
 * clock is read, and returns 0; and unsigned wrong(int64_t times), the wrong results after all repeats. */
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

/* Groups of threads with the interface of cooperative groups: sync(), thread_rank(), size(), shfl(). The
 * member threads construct their group while they are converged. */
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

/* Operation of a group of threads. In a coalesced group only the first a.size lanes of a warp participate. */
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

/* Barrier with verification: each thread stores the number of the pass, some threads late, and after the
 * barrier reads the word of another thread in its group of consecutive threads. */
template <class Group> struct checked_barrier : group_operation<Group> {
    volatile uint32_t *word; /* word of the group's first thread */
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

/* Sum of doubles in shared memory, i += group size (000 Fig. 10), SUM_BYTES per thread and load. */
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

/* Stores the record of a warp: lane 0 writes clocks and multiprocessor, every lane adds its wrong results. */
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

/* Times an operation after a short warm-up that loads the instruction cache. */
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

/* Times an operation in a loop that the compiler must assume to be divergent: each lane adds a value from
 * memory, which is 0, to its number of iterations. So the compiler cannot drop a barrier of the warp. */
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
