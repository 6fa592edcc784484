/* The functions of sync/ptx.cuh for the emulated GPU. A load may be in a loop that polls, so it yields first:
 * one thread runs at a time, and memory is the same for all. */
#pragma once

#include <cuda_runtime.h>

namespace stencil {

#define EMULATED_LOAD(name)                                                                                  \
    inline uint32_t name(const uint32_t *p) {                                                                \
        emulated::yield();                                                                                   \
        return *(const volatile uint32_t *)p;                                                                \
    }
#define EMULATED_STORE(name)                                                                                 \
    inline void name(uint32_t *p, uint32_t value) {                                                          \
        emulated::may_yield();                                                                               \
        *(volatile uint32_t *)p = value;                                                                     \
    }
EMULATED_LOAD(load_acquire)
EMULATED_LOAD(load_acquire_system)
EMULATED_LOAD(load_relaxed)
EMULATED_LOAD(load_relaxed_system)
EMULATED_STORE(store_release)
EMULATED_STORE(store_release_system)
EMULATED_STORE(store_relaxed_system)
#undef EMULATED_LOAD
#undef EMULATED_STORE

inline void fence() {
    emulated::may_yield();
}
inline uint32_t count_in(uint32_t *counter) {
    return atomicAdd(counter, 1u);
}
inline uint32_t count_relaxed(uint32_t *counter) {
    return atomicAdd(counter, 1u);
}
inline uint64_t device_clock_ns() {
    emulated::yield();
    return emulated::clock_ns();
}
inline uint32_t multiprocessor() {
    return emulated::multiprocessor();
}
inline uint32_t cluster_size() {
    return emulated::cluster_size();
}
inline uint32_t cluster_rank() {
    return emulated::cluster_rank();
}
inline void cluster_hardware_sync() {
    emulated::meet_cluster();
}
inline uint32_t shared_address(const void *p) {
    return emulated::shared_address(p);
}
inline void init_barrier(uint32_t barrier, int threads) {
    emulated::init_barrier(barrier, threads);
}
inline void drop_barrier(uint32_t barrier) {
    emulated::drop_barrier(barrier);
}
inline void publish_barriers() {}
inline void arrive_at(uint32_t barrier, uint32_t rank) {
    emulated::arrive_in_cluster(barrier, rank);
}
inline bool try_wait_cluster(uint32_t barrier, uint32_t parity, uint32_t) {
    return emulated::test(barrier, parity);
}

} // namespace stencil
