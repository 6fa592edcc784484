/* What device code on the emulated GPU calls. A thread is a fiber: it runs until it meets others or polls. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <cuda_runtime_api.h>

namespace emulated {

struct grid {
    dim3 grid_dim, block_dim;
};
struct block {
    uint3 index;
    grid *of;
};
struct thread {
    uint3 index;
    unsigned lane;
    block *of;
};

/* The thread that runs. One host thread at a time runs threads of GPUs. */
extern thread *now;

/* Lets others run; comes back after all of the block's threads that can go on have had a turn. */
void yield();
/* Yields at times, in places where a GPU may well be slow. */
void may_yield();
[[noreturn]] void trap();
/* Nanoseconds of a clock that counts the turns of threads. */
uint64_t clock_ns();

/* Waits for all threads of the block that have not ended; returns the sum of their values. */
unsigned meet_block(unsigned value);

/* Waits for the lanes of the mask. Each lane gives a value, and gets: nothing; a bit for each lane whose
 * value is not 0; whether there is one; the maximum; the sum; the value of lane `from`. */
enum warp_kind { warp_sync, warp_ballot, warp_any, warp_max, warp_add, warp_shuffle };
uint64_t meet_warp(unsigned mask, warp_kind kind, uint64_t value, int from);

/* Shared memory by 32-bit addresses, which begin at 0 in each block. */
uint32_t shared_address(const void *p);
char *shared_pointer(uint32_t address);

/* Copies that complete late: at the wait for them at the latest, in any order. */
void copy_later(uint32_t to, const void *from, uint32_t bytes);
void end_group();
void await_groups(int pending);
void bulk_in(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier);
void bulk_out(void *to, uint32_t from, uint32_t bytes);
void end_bulk_group();
void await_bulk_read(int pending);
void await_bulk_groups();

/* mbarriers. wait() returns when the phase of that parity is over; test() yields, then tells whether it is.
 */
void init_barrier(uint32_t barrier, int threads);
void drop_barrier(uint32_t barrier);
void arrive(uint32_t barrier, uint32_t more_bytes);
void arrive_in_cluster(uint32_t barrier, uint32_t rank);
void wait(uint32_t barrier, uint32_t parity);
bool test(uint32_t barrier, uint32_t parity);

/* Waits for the launch before, where this one began before its end; lets the one behind begin. */
void await_launch_before();

uint32_t multiprocessor();
uint32_t cluster_size();
uint32_t cluster_rank();
void meet_cluster();

/* The word of the launch's grid barrier (cooperative_groups.h). */
unsigned *grid_word();

/* Makes a kernel known: how it is called, and how large its arguments are. Returns its address. */
struct signature {
    void (*call)(const void *kernel, const char *arguments);
    size_t bytes; /* of all arguments, each at a multiple of 16 bytes */
    size_t size[4];
    int count;
};
const void *know(const void *kernel, const signature &s);

constexpr size_t argument_align = 16;
constexpr size_t aligned(size_t bytes) {
    return (bytes + argument_align - 1) / argument_align * argument_align;
}
template <class... A, size_t... I>
void call_with(const void *kernel, const char *arguments, std::index_sequence<I...>) {
    constexpr size_t size[] = {sizeof(A)...};
    const auto at = [&](size_t i) {
        size_t offset = 0;
        for (size_t k = 0; k < i; k++)
            offset += aligned(size[k]);
        return arguments + offset;
    };
    reinterpret_cast<void (*)(A...)>(const_cast<void *>(kernel))(*reinterpret_cast<const A *>(at(I))...);
}
template <class... A> const void *know(void (*kernel)(A...)) {
    static_assert(sizeof...(A) >= 1 && sizeof...(A) <= 4, "");
    const signature s = {[](const void *k, const char *arguments) {
                             call_with<A...>(k, arguments, std::index_sequence_for<A...>());
                         },
                         (aligned(sizeof(A)) + ...),
                         {sizeof(A)...},
                         (int)sizeof...(A)};
    return know(reinterpret_cast<const void *>(kernel), s);
}

} // namespace emulated
