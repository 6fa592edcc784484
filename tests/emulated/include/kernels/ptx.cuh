/* The functions of kernels/ptx.cuh for the emulated GPU. */
#pragma once

#include "sync/ptx.cuh"

namespace stencil {

template <class T> T *opaque(T *p) {
    return p;
}
inline int64_t opaque(int64_t offset) {
    return offset;
}
inline int opaque(int i) {
    return i;
}
inline void end_block(int) {}
inline void await_launch_before() {
    emulated::await_launch_before();
}
template <int Count> void more_registers() {}
template <int Count> void fewer_registers() {}

/* Vectors of 16 bytes, whose address must be a multiple of that. */
inline void check_aligned(const void *p, size_t bytes) {
    if ((uintptr_t)p % bytes != 0)
        emulated::trap();
}
template <class T> void load_vector(const T *from, T *to) {
    check_aligned(from, 16);
    std::memcpy(to, from, 16);
}
template <class T> void store_vector(T *to, const T *from) {
    check_aligned(to, 16);
    std::memcpy(to, from, 16);
}
enum class l2_line { keep, give_away };
inline uint64_t l2_policy(l2_line, bool) {
    return 0;
}
template <class T> void store_vector(T *to, const T *from, uint64_t) {
    store_vector(to, from);
}
inline uint32_t load_byte(const uint8_t *from, uint64_t) {
    return *from;
}
inline void prefetch_l2(const void *) {}

template <class T> T *in_shared(uint32_t address, size_t bytes) {
    check_aligned((const void *)(uintptr_t)address, bytes);
    return reinterpret_cast<T *>(emulated::shared_pointer(address));
}
inline uint32_t load_shared_word(uint32_t from) {
    return *(const volatile uint32_t *)emulated::shared_pointer(from);
}
inline uint32_t load_shared_byte(uint32_t from) {
    return *(const volatile uint8_t *)emulated::shared_pointer(from);
}
inline void store_shared_word(uint32_t to, uint32_t v) {
    *(volatile uint32_t *)emulated::shared_pointer(to) = v;
}
inline void store_shared_byte(uint32_t to, uint32_t v) {
    *(volatile uint8_t *)emulated::shared_pointer(to) = (uint8_t)v;
}
template <class T> T load_shared(uint32_t from) {
    return *in_shared<T>(from, sizeof(T));
}
template <class T> void load_shared_vector(uint32_t from, T *v) {
    std::memcpy(v, in_shared<T>(from, 16), 16);
}
template <class T> void store_shared(uint32_t to, T v) {
    *in_shared<T>(to, sizeof(T)) = v;
}
template <class T> void store_shared_if(uint32_t wanted, uint32_t to, T v) {
    if (wanted)
        store_shared(to, v);
}
template <int Cells, class T> void store_if(uint32_t wanted, T *to, const T *v) {
    if (!wanted)
        return;
    check_aligned(to, Cells * sizeof(T));
    std::memcpy(to, v, Cells * sizeof(T));
}
template <int Cells, class T> void load_shared_if(uint32_t wanted, uint32_t from, T *v) {
    if (wanted)
        std::memcpy(v, in_shared<T>(from, Cells * sizeof(T)), Cells * sizeof(T));
}

template <int Bytes, bool ThroughL1 = (Bytes < 16)> void copy_async(uint32_t to, const void *from) {
    emulated::copy_later(to, from, Bytes);
}
inline void copy_vector(void *to, const void *from) {
    emulated::copy_later(shared_address(to), from, 16);
}
inline void copy_vector(void *to, const void *from, uint64_t) {
    copy_vector(to, from);
}
inline void end_copies() {
    emulated::end_group();
}
template <int Pending> void await_copies() {
    emulated::await_groups(Pending);
}

inline bool try_wait(uint32_t barrier, uint32_t parity) {
    return emulated::test(barrier, parity);
}
inline void wait_thread(uint32_t barrier, uint32_t parity) {
    emulated::wait(barrier, parity);
}
inline float approximate_inverse(float x) {
    return 1 / x;
}
inline void wait_warp(uint32_t barrier, uint32_t parity) {
    emulated::wait(barrier, parity);
    __syncwarp();
}
inline void arrive(uint32_t barrier) {
    emulated::arrive(barrier, 0);
}
inline void expect_bytes(uint32_t barrier, uint32_t bytes) {
    emulated::arrive(barrier, bytes);
}

inline void bulk_copy_in(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier) {
    emulated::bulk_in(to, from, bytes, barrier);
}
inline void bulk_copy_out(void *to, uint32_t from, uint32_t bytes) {
    emulated::bulk_out(to, from, bytes);
}
inline void publish_to_bulk_copies() {}
inline void publish_all_to_bulk_copies() {}
inline void await_bulk_copies_before_read() {
    emulated::end_bulk_group();
    emulated::await_bulk_read(1);
}
inline void await_bulk_copies() {
    emulated::await_bulk_groups();
}

/* Words that carry a flag. Loads of them poll. */
inline void store_word(uint64_t *to, uint64_t word) {
    emulated::may_yield();
    *(volatile uint64_t *)to = word;
}
inline uint64_t load_word(const uint64_t *from) {
    emulated::yield();
    return *(const volatile uint64_t *)from;
}
inline void store_two_words(uint64_t *to, uint64_t first, uint64_t second) {
    check_aligned(to, 16);
    store_word(to, first);
    store_word(to + 1, second);
}
inline void load_two_words(const uint64_t *from, uint64_t *first, uint64_t *second) {
    check_aligned(from, 16);
    *second = load_word(from + 1);
    *first = load_word(from);
}
inline void store_word_if(uint32_t wanted, uint64_t *to, uint64_t word) {
    if (wanted)
        store_word(to, word);
}
inline void load_word_if(uint32_t wanted, const uint64_t *from, uint64_t &word) {
    if (wanted)
        word = load_word(from);
}
inline void store_wide_if(uint32_t wanted, uint64_t *to, uint64_t low, uint64_t high) {
    if (!wanted)
        return;
    check_aligned(to, 16);
    emulated::may_yield();
    to[0] = low, to[1] = high;
}
inline void load_wide_if(uint32_t wanted, const uint64_t *from, uint64_t &low, uint64_t &high) {
    if (!wanted)
        return;
    check_aligned(from, 16);
    emulated::yield();
    low = from[0], high = from[1];
}
inline void store_wide(ulonglong2 *to, const ulonglong2 &word) {
    store_wide_if(1, (uint64_t *)to, word.x, word.y);
}
inline void load_wide(const ulonglong2 *from, ulonglong2 &word) {
    uint64_t low, high;
    load_wide_if(1, (const uint64_t *)from, low, high);
    word.x = low, word.y = high;
}

} // namespace stencil
