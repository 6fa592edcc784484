/* The PTX of sync/: accesses to memory with an explicit order, mbarriers of blocks and clusters, registers of
 * the machine. Everything else in sync/ is C++. (PTX ISA, "Memory Consistency Model".) An mbarrier is 8 bytes
 * of shared memory, given by a 32-bit address. */
#pragma once

#include <cstdint>

namespace stencil {

#define STENCIL_LOAD(name, order)                                                                            \
    __device__ __forceinline__ uint32_t name(const uint32_t *p) {                                            \
        uint32_t value;                                                                                      \
        asm volatile("ld." order ".global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");                 \
        return value;                                                                                        \
    }
#define STENCIL_STORE(name, order)                                                                           \
    __device__ __forceinline__ void name(uint32_t *p, uint32_t value) {                                      \
        asm volatile("st." order ".global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");                   \
    }
/* Acquire: everything that the writer of the value read had seen or written before is seen after it. */
STENCIL_LOAD(load_acquire, "acquire.gpu")
STENCIL_LOAD(load_acquire_system, "acquire.sys")
STENCIL_LOAD(load_relaxed, "relaxed.gpu")
STENCIL_LOAD(load_relaxed_system, "relaxed.sys")
/* Release: everything seen or written before it is seen by the thread that acquires the value. */
STENCIL_STORE(store_release, "release.gpu")
STENCIL_STORE(store_release_system, "release.sys")
STENCIL_STORE(store_relaxed_system, "relaxed.sys")
#undef STENCIL_LOAD
#undef STENCIL_STORE

/* Fence: orders all memory accesses before it with all accesses after it. */
__device__ __forceinline__ void fence() {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* Adds 1 to a counter with release and acquire at device scope, and returns the count before the addition. */
__device__ __forceinline__ uint32_t count_in(uint32_t *counter) {
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}
/* Adds 1 to a counter without an order, and returns the count before the addition. */
__device__ __forceinline__ uint32_t count_relaxed(uint32_t *counter) {
    uint32_t before;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

/* Returns the nanoseconds of the device's global timer. */
__device__ __forceinline__ uint64_t device_clock_ns() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
/* Returns the number of the multiprocessor that runs this thread. */
__device__ __forceinline__ uint32_t multiprocessor() {
    uint32_t id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

/* Returns the number of blocks of this thread's cluster. */
__device__ __forceinline__ uint32_t cluster_size() {
    uint32_t blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}
__device__ __forceinline__ uint32_t cluster_rank() {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void cluster_hardware_sync() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

/* Returns the 32-bit shared-memory address of a pointer. */
__device__ __forceinline__ uint32_t shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}
/* Initialises an mbarrier at which `threads` threads arrive. */
__device__ __forceinline__ void init_barrier(uint32_t barrier, int threads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/* Invalidates an mbarrier: its memory may then hold other data or another mbarrier. */
__device__ __forceinline__ void drop_barrier(uint32_t barrier) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
/* Makes initialised mbarriers visible to the copy engine and to the blocks of the cluster and, with a
 * __syncthreads() after it, to all threads. */
__device__ __forceinline__ void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/* Arrives at an mbarrier of the block of that cluster rank, with release at cluster scope. The address is
 * that of the mbarrier in this block's shared memory. */
__device__ __forceinline__ void arrive_at(uint32_t barrier, uint32_t rank) {
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(barrier), "r"(rank));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}
/* Tells whether the mbarrier's phase of that parity is complete, after a wait of `suspend_ns` at most, with
 * acquire at cluster scope if so. */
__device__ __forceinline__ bool try_wait_cluster(uint32_t barrier, uint32_t parity, uint32_t suspend_ns) {
    uint32_t complete;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2, %3;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(complete)
                 : "r"(barrier), "r"(parity), "r"(suspend_ns)
                 : "memory");
    return complete != 0;
}

} // namespace stencil
