/* The PTX of kernels/: instructions that CUDA C++ has no name for, and hints that keep a compiler from
 * undoing what was tuned. Everything else in kernels/ is C++. The PTX of grid barriers is in sync/ptx.cuh.
 *
 * Names: `load` and `store` move cells between memory and registers, `copy` moves cells between memories
 * without a register of the caller; a function with `_if` acts only where `wanted` is not 0, by a predicate,
 * since compilers move no instructions across a branch. Shared memory is given by a 32-bit address. Source:
 * PTX ISA 9.0. */
#pragma once

#include <cstdint>

#include "sync/ptx.cuh"

namespace stencil {

/* Hides from the compiler how a value was computed, so that values derived from it are not kept in
 * registers. */
template <class T> __device__ __forceinline__ T *opaque(T *p) {
    asm volatile("" : "+l"(p));
    return p;
}
__device__ __forceinline__ int64_t opaque(int64_t offset) {
    asm volatile("" : "+l"(offset));
    return offset;
}
__device__ __forceinline__ int opaque(int i) {
    asm volatile("" : "+r"(i));
    return i;
}
/* Does nothing at run time, since number >= 0. The compiler moves no instructions across it: otherwise the
 * values that are live at once would exceed the registers. */
__device__ __forceinline__ void end_block(int number) {
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, 0;\n\t@p trap; }" ::"r"(number));
}

/* Lets the next launch of a chain of programmatic dependent launches set up its blocks, and waits until the
 * previous launch has ended and its writes are visible. Does nothing in other launches. */
__device__ __forceinline__ void await_launch_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

/* Raises (more_) or lowers (fewer_registers) the registers of a thread to Count; all warps of an aligned
 * group of four call it. The instruction exists for sm_90a only; for other architectures the compiler spills
 * values that do not fit. */
template <int Count> __device__ __forceinline__ void more_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
#endif
}
template <int Count> __device__ __forceinline__ void fewer_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
#endif
}

/* Loads and stores of 16-byte vectors in device memory. Loads are not `.nc`: the field changes while a
 * persistent kernel runs, and the non-coherent path would return old cells. */
__device__ __forceinline__ void load_vector(const float *from, float *to) {
    const float4 v = *reinterpret_cast<const float4 *>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void load_vector(const double *from, double *to) {
    const double2 v = *reinterpret_cast<const double2 *>(from);
    to[0] = v.x, to[1] = v.y;
}
__device__ __forceinline__ void store_vector(float *to, const float *from) {
    *reinterpret_cast<float4 *>(to) = make_float4(from[0], from[1], from[2], from[3]);
}
__device__ __forceinline__ void store_vector(double *to, const double *from) {
    *reinterpret_cast<double2 *>(to) = make_double2(from[0], from[1]);
}

/* The eviction priority of a cache line in L2: kept longer than other lines, or evicted before them. */
enum class l2_line { keep, give_away };
/* Returns the L2 cache policy of a priority, or the normal policy where `asked_for` is false. */
__device__ __forceinline__ uint64_t l2_policy(l2_line line, bool asked_for) {
    uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
    uint64_t usual;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(usual));
    if (line == l2_line::keep)
        asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    else
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    policy = asked_for ? policy : usual;
#endif
    return policy;
}
__device__ __forceinline__ void store_vector(float *to, const float *from, uint64_t policy) {
#if __CUDA_ARCH__ >= 800
    asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "f"(from[0]),
                 "f"(from[1]), "f"(from[2]), "f"(from[3]), "l"(policy)
                 : "memory");
#else
    store_vector(to, from);
#endif
}
__device__ __forceinline__ void store_vector(double *to, const double *from, uint64_t policy) {
#if __CUDA_ARCH__ >= 800
    asm volatile("st.global.L2::cache_hint.v2.f64 [%0], {%1, %2}, %3;" ::"l"(to), "d"(from[0]), "d"(from[1]),
                 "l"(policy)
                 : "memory");
#else
    store_vector(to, from);
#endif
}
/* Loads a byte that no kernel writes, with a cache policy for its line in L2. */
__device__ __forceinline__ uint32_t load_byte(const uint8_t *from, uint64_t policy) {
#if __CUDA_ARCH__ >= 800
    uint32_t v;
    asm volatile("ld.global.nc.L2::cache_hint.u8 %0, [%1], %2;" : "=r"(v) : "l"(from), "l"(policy));
    return v;
#else
    return __ldg(from);
#endif
}
__device__ __forceinline__ void prefetch_l2(const void *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

template <class T> __device__ __forceinline__ T load_shared(uint32_t from) {
    T v;
    if constexpr (sizeof(T) == 8)
        asm volatile("ld.shared.f64 %0, [%1];" : "=d"(v) : "r"(from) : "memory");
    else
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(from) : "memory");
    return v;
}
/* Loads a word, or a byte, from shared memory. */
__device__ __forceinline__ uint32_t load_shared_word(uint32_t from) {
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(from) : "memory");
    return v;
}
__device__ __forceinline__ uint32_t load_shared_byte(uint32_t from) {
    uint32_t v;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(from) : "memory");
    return v;
}
/* Stores a word, or a byte, to shared memory. */
__device__ __forceinline__ void store_shared_word(uint32_t to, uint32_t v) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(v) : "memory");
}
__device__ __forceinline__ void store_shared_byte(uint32_t to, uint32_t v) {
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(v) : "memory");
}
/* Loads a 16-byte vector of cells from shared memory. */
__device__ __forceinline__ void load_shared_vector(uint32_t from, double *v) {
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(v[0]), "=d"(v[1]) : "r"(from) : "memory");
}
__device__ __forceinline__ void load_shared_vector(uint32_t from, float *v) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "r"(from)
                 : "memory");
}
/* Begins a PTX instruction that is executed only where operand `n` is not 0. */
#define STENCIL_WHERE(n) "{ .reg .pred p; setp.ne.u32 p, %" #n ", 0;\n\t@p "
/* Defines, for cells T (`type` in PTX, `r` in asm): stores of one cell to shared memory; store_if() of 1, 2
 * or 4 cells, aligned to their size, to device memory; load_shared_if() of 1, 2 or 4 cells from shared
 * memory. */
#define STENCIL_CELLS(T, type, r)                                                                            \
    __device__ __forceinline__ void store_shared(uint32_t to, T v) {                                         \
        asm volatile("st.shared." type " [%0], %1;" ::"r"(to), r(v) : "memory");                             \
    }                                                                                                        \
    __device__ __forceinline__ void store_shared_if(uint32_t wanted, uint32_t to, T v) {                     \
        asm volatile(STENCIL_WHERE(0) "st.shared." type " [%1], %2; }" ::"r"(wanted), "r"(to), r(v)          \
                     : "memory");                                                                            \
    }                                                                                                        \
    template <int Cells> __device__ __forceinline__ void store_if(uint32_t wanted, T *to, const T *v) {      \
        if constexpr (Cells == 1)                                                                            \
            asm volatile(STENCIL_WHERE(0) "st.global." type " [%1], %2; }" ::"r"(wanted), "l"(to), r(v[0])   \
                         : "memory");                                                                        \
        else if constexpr (Cells == 2)                                                                       \
            asm volatile(STENCIL_WHERE(0) "st.global.v2." type " [%1], {%2, %3}; }" ::"r"(wanted), "l"(to),  \
                         r(v[0]), r(v[1])                                                                    \
                         : "memory");                                                                        \
        else                                                                                                 \
            asm volatile(STENCIL_WHERE(0) "st.global.v4." type " [%1], {%2, %3, %4, %5}; }" ::"r"(wanted),   \
                         "l"(to), r(v[0]), r(v[1]), r(v[2]), r(v[3])                                         \
                         : "memory");                                                                        \
    }                                                                                                        \
    template <int Cells>                                                                                     \
    __device__ __forceinline__ void load_shared_if(uint32_t wanted, uint32_t from, T *v) {                   \
        if constexpr (Cells == 1)                                                                            \
            asm volatile(STENCIL_WHERE(1) "ld.shared." type " %0, [%2]; }"                                   \
                         : "+" r(v[0])                                                                       \
                         : "r"(wanted), "r"(from)                                                            \
                         : "memory");                                                                        \
        else if constexpr (Cells == 2)                                                                       \
            asm volatile(STENCIL_WHERE(2) "ld.shared.v2." type " {%0, %1}, [%3]; }"                          \
                         : "+" r(v[0]), "+" r(v[1])                                                          \
                         : "r"(wanted), "r"(from)                                                            \
                         : "memory");                                                                        \
        else                                                                                                 \
            asm volatile(STENCIL_WHERE(4) "ld.shared.v4." type " {%0, %1, %2, %3}, [%5]; }"                  \
                         : "+" r(v[0]), "+" r(v[1]), "+" r(v[2]), "+" r(v[3])                                \
                         : "r"(wanted), "r"(from)                                                            \
                         : "memory");                                                                        \
    }
STENCIL_CELLS(float, "f32", "f")
STENCIL_CELLS(double, "f64", "d")
#undef STENCIL_CELLS

/* Copies `Bytes` (4, 8 or 16) from device to shared memory by cp.async, without registers where the GPU can.
 * Neither address may be written before the copy is complete. ThroughL1: the lines stay in L1; only 16-byte
 * copies can bypass L1. */
template <int Bytes, bool ThroughL1 = (Bytes < 16)>
__device__ __forceinline__ void copy_async(uint32_t to, const void *from) {
    if constexpr (ThroughL1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(Bytes) : "memory");
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/* Copies a 16-byte vector from device to shared memory; through registers before compute capability 8.0. */
__device__ __forceinline__ void copy_vector(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    copy_async<16, true>(shared_address(to), from);
#else
    *static_cast<float4 *>(to) = *static_cast<const float4 *>(from);
#endif
}
/* Copies a 16-byte vector from device to shared memory, with a cache policy for its line in L2. */
__device__ __forceinline__ void copy_vector(void *to, const void *from, uint64_t policy) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "l"(policy)
                 : "memory");
#else
    copy_vector(to, from);
#endif
}
/* Commits the group of asynchronous copies that this thread has issued. */
__device__ __forceinline__ void end_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* Waits until all copy groups of this thread but the last `Pending` are complete and visible to this
 * thread. */
template <int Pending> __device__ __forceinline__ void await_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

/* Barriers in shared memory (mbarrier), 8 bytes each, which sync/ptx.cuh initialises. */

/* Tells whether the mbarrier phase of this parity is complete, after a limited wait. Acquires what was
 * written before the arrivals. */
__device__ __forceinline__ bool try_wait(uint32_t barrier, uint32_t parity) {
    uint32_t over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return over;
}
__device__ __forceinline__ void wait_thread(uint32_t barrier, uint32_t parity) {
    while (!try_wait(barrier, parity))
        ;
}
/* Waits, with all lanes of a warp, for the mbarrier phase of this parity; the lanes continue together. */
__device__ __forceinline__ void wait_warp(uint32_t barrier, uint32_t parity) {
    while (!__all_sync(~0u, try_wait(barrier, parity)))
        ;
}
/* Returns 1 / x, to 22 bits. */
__device__ __forceinline__ float approximate_inverse(float x) {
    float inverse;
    asm("rcp.approx.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}
/* Arrives at an mbarrier, and releases what this thread has written. */
__device__ __forceinline__ void arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* Arrives at an mbarrier whose phase is complete only when `bytes` bytes have been copied in, too. */
__device__ __forceinline__ void expect_bytes(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

/* Bulk copies by the copy engine (cp.async.bulk); addresses and sizes are multiples of 16 bytes. */

__device__ __forceinline__ void bulk_copy_in(uint32_t to, const void *from, uint32_t bytes,
                                             uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}
__device__ __forceinline__ void bulk_copy_out(void *to, uint32_t from, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}
/* Makes writes to shared memory that this thread has made or observed visible to bulk copies that it
 * starts. */
__device__ __forceinline__ void publish_to_bulk_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/* Makes writes to any memory that this thread has made or observed visible to bulk copies that it starts, and
 * writes of complete bulk copies visible to this thread. */
__device__ __forceinline__ void publish_all_to_bulk_copies() {
    asm volatile("fence.proxy.async;" ::: "memory");
}
/* Commits a group of this thread's bulk copies to device memory, and waits until the copies of earlier groups
 * have been read from shared memory. */
__device__ __forceinline__ void await_bulk_copies_before_read() {
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 1;" ::: "memory");
}
__device__ __forceinline__ void await_bulk_copies() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Accesses to words that carry a flag (kernels/ll.cuh): each is one relaxed access of 64 or 128 bits. */

__device__ __forceinline__ void store_word(uint64_t *to, uint64_t word) {
    asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}
__device__ __forceinline__ uint64_t load_word(const uint64_t *from) {
    uint64_t word;
    asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}
/* Stores two words of 64 bits; each word is written whole, the pair need not be. */
__device__ __forceinline__ void store_two_words(uint64_t *to, uint64_t first, uint64_t second) {
    asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second)
                 : "memory");
}
__device__ __forceinline__ void load_two_words(const uint64_t *from, uint64_t *first, uint64_t *second) {
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(*first), "=l"(*second)
                 : "l"(from)
                 : "memory");
}
__device__ __forceinline__ void store_word_if(uint32_t wanted, uint64_t *to, uint64_t word) {
    asm volatile(STENCIL_WHERE(0) "st.relaxed.sys.global.b64 [%1], %2; }" ::"r"(wanted), "l"(to), "l"(word)
                 : "memory");
}
__device__ __forceinline__ void load_word_if(uint32_t wanted, const uint64_t *from, uint64_t &word) {
    asm volatile(STENCIL_WHERE(1) "ld.relaxed.sys.global.b64 %0, [%2]; }"
                 : "+l"(word)
                 : "r"(wanted), "l"(from)
                 : "memory");
}
#undef STENCIL_WHERE
/* Stores one word of 128 bits where `wanted` is not 0. */
__device__ __forceinline__ void store_wide_if(uint32_t wanted, uint64_t *to, uint64_t low, uint64_t high) {
    asm volatile("{ .reg .pred p; .reg .b128 w; setp.ne.u32 p, %0, 0; mov.b128 w, {%2, %3}; "
                 "@p st.relaxed.sys.global.b128 [%1], w; }" ::"r"(wanted),
                 "l"(to), "l"(low), "l"(high)
                 : "memory");
}
__device__ __forceinline__ void load_wide_if(uint32_t wanted, const uint64_t *from, uint64_t &low,
                                             uint64_t &high) {
    asm volatile("{ .reg .pred p; .reg .b128 w; setp.ne.u32 p, %2, 0; mov.b128 w, {%0, %1}; "
                 "@p ld.relaxed.sys.global.b128 w, [%3]; mov.b128 {%0, %1}, w; }"
                 : "+l"(low), "+l"(high)
                 : "r"(wanted), "l"(from)
                 : "memory");
}
/* Stores a word of 128 bits that other blocks of the same GPU read. */
__device__ __forceinline__ void store_wide(ulonglong2 *to, const ulonglong2 &word) {
    asm volatile("{ .reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.gpu.global.b128 [%0], v; }" ::"l"(to),
                 "l"(word.x), "l"(word.y)
                 : "memory");
}
__device__ __forceinline__ void load_wide(const ulonglong2 *from, ulonglong2 &word) {
    asm volatile("{ .reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
                 : "=l"(word.x), "=l"(word.y)
                 : "l"(from)
                 : "memory");
}

} // namespace stencil
