/* Ghost cells that travel between parts with the number of their step: the block that needs a cell polls the
 * very words that carry it, so that no flag has to follow the data. A flag could only leave when the data
 * before it have been acknowledged, a round trip over the link; such words arrive after half of one. This is
 * the protocol LL of NCCL (Z. Hu et al., "Demystifying NCCL", 2025), in a persistent kernel.
 *
 * A word is 64 bits, 32 of a value below 32 of the step (its low ones): one access, so never half of it is
 * seen (PTX ISA, "Memory Consistency Model"). After a step each block sends the cells that it has made and
 * others read (send), then waits for those of other parts that its tiles read and stores them in its part's
 * ghost cells (receive), where its next step finds them. There is a set of words for even and one for odd
 * steps.
 *
 * Why a word may be overwritten two steps later: let block W of one part send a cell to block C of another.
 * Shapes and boundaries are symmetric, so W reads a cell that C makes. Before W sends step e+2 it has
 * received all that it reads of step e+1, C's cells among them; C has sent those after the steps before: it
 * had then received the word of step e, and computed with it. For the same reason several blocks may store
 * the same ghost cell: a block that still needed the one of step e has used it before any can have that of
 * step e+2, and the stores of different steps are two hops apart: A stores e, then sends cells of e+1, from
 * which W makes those of e+2 that B gets. That words which follow from a value are not visible before it was
 * read, or a store before it, is not promised by the memory model for relaxed accesses, but by what a GPU can
 * do: a value that has been waited for, and computed with, has been read. */
#pragma once

#include "kernels/ptx.cuh"
#include "kernels/residual.cuh"
#include "kernels/sweep.h"
#include "sync/memory.cuh"

namespace stencil {

__device__ __forceinline__ void store_flagged(uint64_t *word, float value, uint32_t flag) {
    const uint64_t flagged = (uint64_t)flag << 32 | __float_as_uint(value);
    store_word(word, flagged);
}
__device__ __forceinline__ void store_flagged(uint64_t *word, double value, uint32_t flag) {
    const uint64_t bits = __double_as_longlong(value), high = (uint64_t)flag << 32;
    store_two_words(word, high | (bits & 0xffffffffu), high | bits >> 32);
}

/* Tells whether the word, or the two words of a double, hold a value of step `flag`; *value is valid only
 * then. */
__device__ __forceinline__ bool load_flagged(const uint64_t *word, uint32_t flag, float *value) {
    const uint64_t flagged = load_word(word);
    *value = __uint_as_float((uint32_t)flagged);
    return flagged >> 32 == flag;
}
__device__ __forceinline__ bool load_flagged(const uint64_t *word, uint32_t flag, double *value) {
    uint64_t low, high;
    load_two_words(word, &low, &high);
    *value = __longlong_as_double((long long)(high << 32 | (low & 0xffffffffu)));
    return low >> 32 == flag && high >> 32 == flag;
}

/* The threads that exchange cells: all but the last warp, which stores the barrier's flag; that store takes
 * as long as all accesses before it. */
constexpr int exchange_threads = block_threads - 32;

/* The list of cells that a block sends or receives, its beginning in shared memory: a read of the list in L2
 * takes most of the time that a small exchange may take. */
struct ll_list {
    uint32_t count;
    const stencil_ll_entry *edge;             /* the block's list, in device memory */
    stencil_ll_entry first[exchange_threads]; /* the first entry of each thread */

    __device__ __forceinline__ void start(const uint32_t *first_of, const stencil_ll_entry *lists) {
        const uint32_t t = thread_in_block(), begin = first_of[blockIdx.x],
                       have = first_of[blockIdx.x + 1] - begin;
        if (t < have)
            first[t] = lists[begin + t];
        if (t == 0) {
            count = have;
            edge = lists + begin;
        }
    }
    __device__ __forceinline__ stencil_ll_entry at(uint32_t i) const {
        return i < exchange_threads ? first[i] : edge[i];
    }
};
struct ll_lists {
    ll_list send, receive;
};

__device__ __forceinline__ void start_lists(const stencil_ll &ll, ll_lists &lists) {
    if (thread_in_block() >= exchange_threads)
        return;
    lists.send.start(ll.send_first, ll.send);
    lists.receive.start(ll.receive_first, ll.receive);
}

constexpr uint32_t exchange_batch = 4; /* cells that a thread moves at once */

/* Sends the cells of a list, except for each thread's first one. */
template <class T>
__device__ __forceinline__ void send_cells(const ll_list &list, const T *u, int64_t set, uint32_t flag) {
    for (uint32_t i = thread_in_block() + exchange_threads; i < list.count;
         i += exchange_batch * exchange_threads) {
        uint64_t *word[exchange_batch];
        T value[exchange_batch];
#pragma unroll
        for (uint32_t k = 0; k < exchange_batch; k++)
            if (i + k * exchange_threads < list.count) {
                const stencil_ll_entry e = list.edge[i + k * exchange_threads];
                word[k] = e.word + set;
                value[k] = u[e.cell];
            }
#pragma unroll
        for (uint32_t k = 0; k < exchange_batch; k++)
            if (i + k * exchange_threads < list.count)
                store_flagged(word[k], value[k], flag);
    }
}

template <class T>
__device__ __forceinline__ void receive_cells(const stencil_barrier_state &barrier, const ll_list &list, T *u,
                                              int64_t set, int64_t step) {
    for (uint32_t i = thread_in_block(); i < list.count; i += exchange_batch * exchange_threads) {
        stencil_ll_entry e[exchange_batch];
        T value[exchange_batch];
#pragma unroll
        for (uint32_t k = 0; k < exchange_batch; k++)
            if (i + k * exchange_threads < list.count)
                e[k] = list.at(i + k * exchange_threads);
        spin(barrier, step, [&] {
            bool there = true;
#pragma unroll
            for (uint32_t k = 0; k < exchange_batch; k++)
                if (i + k * exchange_threads < list.count)
                    there = load_flagged(e[k].word + set, (uint32_t)step, &value[k]) && there;
            return there;
        });
#pragma unroll
        for (uint32_t k = 0; k < exchange_batch; k++)
            if (i + k * exchange_threads < list.count)
                u[e[k].cell] = value[k];
    }
}

/* Returns the first cell that this thread sends; word NULL: none. Called before the end of a step, when the
 * load costs no time. */
__device__ __forceinline__ stencil_ll_entry first_send(const ll_lists &lists) {
    const uint32_t t = thread_in_block();
    if (t >= exchange_threads || t >= lists.send.count)
        return {0, nullptr};
    return lists.send.first[t];
}

/* Sends all cells but each thread's first one, and receives all. Not inlined, so that it takes no registers
 * from the streaming loop. What it needs in every step is passed by value or lies in shared memory; the
 * barrier's alarm is read only where a wait takes long. */
template <class T>
static __device__ __noinline__ void exchange_more(const stencil_barrier_state &barrier, const ll_lists &lists,
                                                  T *u, int64_t set, int64_t step) {
    send_cells(lists.send, u, set, (uint32_t)step);
    receive_cells(barrier, lists.receive, u, set, step);
}

/* Sends and receives the ghost cells of `step`; called between two __syncthreads(). first: the result of
 * first_send(). */
template <class T>
__device__ __forceinline__ void exchange_ll(const stencil_kernel_args &s, const ll_lists &lists,
                                            const stencil_ll_entry &first, int64_t step) {
    T *u = static_cast<T *>(s.domain.u[step & 1]);
    const int64_t set = (step & 1) * s.ll.set;
    if (first.word != nullptr)
        store_flagged(first.word + set, u[first.cell], (uint32_t)step);
    if (thread_in_block() < exchange_threads)
        exchange_more(s.barrier, lists, u, set, step);
}

} // namespace stencil
