/* A warp of the pipeline sweep: some steps of a row, with what is known of the rows below in registers. And
 * what it hands rows on with: barriers in shared memory (PTX ISA, mbarrier) and the copy engine
 * (cp.async.bulk). */
#pragma once

#include "kernels/cells.cuh"
#include "kernels/sweeps/pipeline.h"

namespace stencil {

__device__ __forceinline__ uint32_t lane() {
    return threadIdx.x & 31;
}
template <class T> __device__ __forceinline__ const T *opaque(const T *p) {
    asm volatile("" : "+l"(p));
    return p;
}

/* Shared memory by its 32-bit address. */
__device__ __forceinline__ uint32_t shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}
template <class T> __device__ __forceinline__ T get_cell(uint32_t at) {
    T v;
    if constexpr (sizeof(T) == 8)
        asm volatile("ld.shared.f64 %0, [%1];" : "=d"(v) : "r"(at) : "memory");
    else
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory");
    return v;
}
__device__ __forceinline__ void put_cell(uint32_t at, float v) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory");
}
__device__ __forceinline__ void put_cell(uint32_t at, double v) {
    asm volatile("st.shared.f64 [%0], %1;" ::"r"(at), "d"(v) : "memory");
}

/* Code for older GPUs has these kernels by name only: the host does not launch them (`deep_capability` of a
 * row of the table), and a launch would end in an error. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * STENCIL_PIPELINE_CAPABILITY
#define STENCIL_HAS_BULK_COPIES 1
#else
#define STENCIL_HAS_BULK_COPIES 0
#endif
/* A barrier that so many threads arrive at. */
__device__ __forceinline__ void init_barrier(uint32_t barrier, int threads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/* Its memory may be used for something else, or another barrier. */
__device__ __forceinline__ void drop_barrier(uint32_t barrier) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
/* Barriers are there for all threads and for the copy engine, after a __syncthreads(). */
__device__ __forceinline__ void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/* Whether the phase of this parity is over; waits a while. Acquires what was written before the arrival. */
__device__ __forceinline__ bool try_wait(uint32_t barrier, uint32_t parity) {
    uint32_t over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return over;
}
__device__ __forceinline__ void await_thread(uint32_t barrier, uint32_t parity) {
    while (!try_wait(barrier, parity))
        ;
}
/* By all lanes, who go on together. */
__device__ __forceinline__ void wait_warp(uint32_t barrier, uint32_t parity) {
    while (!__all_sync(~0u, try_wait(barrier, parity)))
        ;
}
/* Releases what this thread has written. */
__device__ __forceinline__ void arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* Arrives; the phase is over when so many bytes have been copied in, too. */
__device__ __forceinline__ void expect_bytes(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}
/* Addresses and sizes are multiples of 16 bytes. */
__device__ __forceinline__ void copy_bytes_in(uint32_t to, const void *from, uint32_t bytes,
                                              uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}
__device__ __forceinline__ void copy_bytes_out(void *to, uint32_t from, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}
/* What this thread knows to be written is there for copies that it starts. */
__device__ __forceinline__ void publish_to_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/* The same for all memory, and what copies have written for this thread's own accesses. */
__device__ __forceinline__ void publish_to_all_copies() {
    asm volatile("fence.proxy.async;" ::: "memory");
}
/* This thread's copies out before those since the last such call have been read from shared memory; all have
 * ended. */
__device__ __forceinline__ void await_copies_before_read() {
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 1;" ::: "memory");
}
__device__ __forceinline__ void await_copies() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Registers of a thread, by all warps of an aligned four: exists for this very architecture only. Without it
 * values that have no room are spilled. */
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
/* What a level of a general pass has of its own: addresses in shared memory of its step's weights, and of
 * this lane's cells in the row of the source term (0: there is none); cells beside the first and the last
 * column that are mirrored in them, where this lane has those. */
struct pipeline_level {
    uint32_t weights, source;
    int mirrored[2];
};

template <class P, class T, int Levels, int Cells> struct pipeline_warp {
    static constexpr int R = P::radius;
    static_assert(Cells % 2 == 1, "lanes that are an even number of cells apart are in each other's way");
    static_assert(Cells >= 2 * R, "");

    /* Sum j - 1 of a level: of a cell j rows behind the one that comes in next, without the rows that have
     * not come in. Row after row a sum takes its points in ascending order, as the update has them. */
    T sum[Levels][2 * R][Cells];

    /* Points before point (j - R, dx): its number, where it is one. */
    static constexpr __host__ __device__ int number(int j, int dx) {
        int count = 0;
        for (int m = -R; m <= R; m++)
            for (int x = -R; x <= R; x++)
                if (P::contains(m, 0, x) && (m < j - R || (m == j - R && x < dx)))
                    count++;
        return count;
    }
    static constexpr int points = number(2 * R + 1, 0);

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int t = 0; t < Levels; t++)
#pragma unroll
            for (int j = 0; j < 2 * R; j++)
#pragma unroll
                for (int v = 0; v < Cells; v++)
                    sum[t][j][v] = 0;
    }
    __device__ __forceinline__ void load(T *c, uint32_t at) const {
#pragma unroll
        for (int v = 0; v < Cells; v++)
            c[v] = get_cell<T>(at + v * (uint32_t)sizeof(T));
    }
    __device__ __forceinline__ void store(const T *c, uint32_t at) const {
#pragma unroll
        for (int v = 0; v < Cells; v++)
            put_cell(at + v * (uint32_t)sizeof(T), c[v]);
    }

    /* A row, with the cells of other lanes beside it. */
    struct row {
        const T *c;
        T before[R], behind[R];

        __device__ __forceinline__ row(const T *c) : c(c) {
#pragma unroll
            for (int i = 0; i < R; i++) {
                before[i] = __shfl_up_sync(~0u, c[Cells - R + i], 1);
                behind[i] = __shfl_down_sync(~0u, c[i], 1);
            }
        }
        __device__ __forceinline__ T operator[](int x) const {
            return x < 0        ? before[x < 0 ? x + R : 0]
                   : x >= Cells ? behind[x >= Cells ? x - Cells : 0]
                                : c[x < 0 || x >= Cells ? 0 : x];
        }
    };
    /* Sum j of cell v takes what comes in; weight(number of a point, its place along x). */
    template <class Weight>
    __device__ __forceinline__ T add(int t, int j, int v, const row &in, Weight weight) const {
        T s = sum[t][j == 0 ? 0 : j - 1][v];
#pragma unroll
        for (int dx = -R; dx <= R; dx++)
            if (P::contains(j - R, 0, dx)) {
                const int k = number(j, dx);
                s = k == 0 ? multiply(weight(k, dx), in[v + dx]) : fma(weight(k, dx), in[v + dx], s);
            }
        return s;
    }
    /* What a cell has for sum j while it keeps its value: from the moment its own row comes in that is it. */
    __device__ __forceinline__ T kept(int t, int j, int v, const T *c) const {
        return j == R ? c[v] : sum[t][j == 0 ? 0 : j - 1][v];
    }
    /* Which of the two; at the ends as `left` and `right` say, elsewhere as `inside` does. */
    __device__ __forceinline__ static T choose(int v, T s, T kept, bool left, bool right, bool inside) {
        if (v < R)
            s = left ? kept : s;
        if (v >= Cells - R)
            s = right ? kept : s;
        return inside ? kept : s;
    }

    /* Row y of step t comes in, row y - R of step t + 1 goes out. Cells at the ends keep their values where
     * `left` and `right` say so; if Edge, all of them do, or those of rows before `low` and from `high` on. A
     * cell that keeps its value has that for a sum from the moment its own row comes in. */
    template <bool Edge>
    __device__ __forceinline__ void level(int t, T *c, const T *weight, bool left, bool right, bool all,
                                          int y, int low, int high) {
        const row in(c);
        T out[Cells];
#pragma unroll
        for (int v = 0; v < Cells; v++)
#pragma unroll
            for (int j = 2 * R; j >= 0; j--) {
                T s = add(t, j, v, in, [&](int k, int) { return weight[k]; });
                if (j >= R)
                    s = choose(v, s, kept(t, j, v, c), left, right,
                               Edge && (all || y + R - j < low || y + R - j >= high));
                if (j == 2 * R)
                    out[v] = s;
                else
                    sum[t][j][v] = s;
            }
#pragma unroll
        for (int v = 0; v < Cells; v++)
            c[v] = out[v];
    }
    /* The same of a general pass: sum after sum, since weights of more than a row have no registers. */
    template <bool Edge>
    __device__ __forceinline__ void level(int t, T *c, const pipeline_level &l, bool left, bool right,
                                          bool all, int y, int low, int high) {
        const row in(c);
        T out[Cells];
#pragma unroll
        for (int j = 2 * R; j >= 0; j--) {
            T weight[2 * R + 1], s[Cells];
#pragma unroll
            for (int dx = -R; dx <= R; dx++)
                if (P::contains(j - R, 0, dx))
                    weight[dx + R] = get_cell<T>(l.weights + number(j, dx) * (uint32_t)sizeof(T));
#pragma unroll
            for (int v = 0; v < Cells; v++)
                s[v] = add(t, j, v, in, [&](int, int dx) { return weight[dx + R]; });
            if (j == 2 * R && l.source != 0) {
                const T factor = get_cell<T>(l.weights + points * (uint32_t)sizeof(T));
#pragma unroll
                for (int v = 0; v < Cells; v++)
                    s[v] = fma(factor, get_cell<T>(l.source + v * (uint32_t)sizeof(T)), s[v]);
            }
#pragma unroll
            for (int v = 0; v < Cells; v++) {
                if (j >= R)
                    s[v] = choose(v, s[v], kept(t, j, v, c), left, right,
                                  Edge && (all || y + R - j < low || y + R - j >= high));
                if (j == 2 * R)
                    out[v] = s[v];
                else
                    sum[t][j][v] = s[v];
            }
        }
#pragma unroll
        for (int k = 0; k < R; k++) {
            out[R - 1 - k] = k < l.mirrored[0] ? out[R + k] : out[R - 1 - k];
            out[Cells - R + k] = k < l.mirrored[1] ? out[Cells - R - 1 - k] : out[Cells - R + k];
        }
#pragma unroll
        for (int v = 0; v < Cells; v++)
            c[v] = out[v];
    }
};

} // namespace stencil
