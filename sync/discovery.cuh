/* The device's side of occupancy discovery (sync/discovery.h), and the barrier between the blocks found. */
#pragma once

#include "sync/discovery.h"
#include "sync/memory.cuh"

namespace stencil {

/* Takes the lock of a poll and returns the ticket, with which give_lock() gives it back. The acquire pairs
 * with the release of the holder before. A wait that times out raises the alarm and goes on. */
static __device__ __forceinline__ uint32_t take_lock(const stencil_barrier_state &s, stencil_discovery *d) {
    const uint32_t ticket = count_in(&d->ticket);
    spin(s, 0, [&] { return load_acquire(&d->serving) == ticket; });
    return ticket;
}
static __device__ __forceinline__ void give_lock(stencil_discovery *d, uint32_t ticket) {
    store_release(&d->serving, ticket + 1);
}

/* Takes part in a poll, in one thread of each block. Returns the number of blocks that take part, and sets
 * *number to the block's own, from 0; 0: the poll was closed, and the block has to return. */
static __device__ __noinline__ uint32_t take_part(const stencil_barrier_state &s, stencil_discovery *d,
                                                  uint32_t *number) {
    uint32_t ticket = take_lock(s, d);
    const bool open = load_relaxed(&d->closed) == 0;
    if (open)
        *number = count_relaxed(&d->count);
    give_lock(d, ticket);
    if (!open)
        return 0;
    ticket = take_lock(s, d);
    store_release(&d->closed, 1); /* the lock orders it */
    const uint32_t count = load_relaxed(&d->count);
    give_lock(d, ticket);
    return count;
}

/* The lock-free barrier of Xiao and Feng (sync/lock_free.cuh) between the blocks that were found, with their
 * numbers in place of blockIdx and gridDim; the blocks that were not found take no part. */
struct discovered_barrier {
    const stencil_barrier_state &s;
    uint32_t *arrived, *released, number, count, goal = 0;

    /* most: as many blocks as were launched. */
    __device__ discovered_barrier(const stencil_barrier_state &state, stencil_discovery *d, uint32_t most,
                                  uint32_t number, uint32_t count)
        : s(state), arrived(reinterpret_cast<uint32_t *>(d + 1)), released(arrived + most), number(number),
          count(count) {}

    /* Waits for the arrival of all blocks and then releases all; called by one block. */
    __device__ void gather(int64_t step) {
        const uint32_t threads = blockDim.x * blockDim.y;
        for (uint32_t b = thread_in_block(); b < count; b += threads)
            spin(s, step, [&] { return stencil_reached(load_acquire(arrived + b), goal); });
        __syncthreads();
        for (uint32_t b = thread_in_block(); b < count; b += threads)
            store_release(released + b, goal);
    }

    __device__ void sync(int64_t step) {
        goal++;
        __syncthreads();
        if (thread_in_block() == 0)
            store_release(arrived + number, goal);
        if (number == 0)
            gather(step);
        if (thread_in_block() == 0)
            spin(s, step, [&] { return stencil_reached(load_acquire(released + number), goal); });
        __syncthreads();
    }
};

} // namespace stencil
