/* All barriers in one kernel: which one its blocks pass is said when it is launched, not when it is compiled, so
 * that a kernel is compiled once and not for each of them. */
#pragma once

#include <new>
#include <type_traits>

#include "sync/all.cuh"

namespace stencil {

template <class Barrier> struct barrier_type {
    using type = Barrier;
};
/* Calls f(barrier_type<id_barrier>()) for barrier `id`, which is the same in all threads; nothing for none. */
template <class F> __device__ __forceinline__ void with_barrier(stencil_barrier_id id, F f) {
    switch (id) {
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        f(barrier_type<id##_barrier>());                                                                     \
        break;
#include "sync/barriers.def"
    default:
        break;
    }
}

/* One of the barriers, by the contract of all (barrier.h). It is kept between its calls: what a barrier knows
 * of itself is a few words, which share registers, and finding its code again is a uniform branch. Making one
 * anew each time would cost trips to L2. */
struct any_barrier {
    const stencil_barrier_id id;
    union {
        char kept;
#define STENCIL_BARRIER(id, name, capability, needs, text) id##_barrier id##_kept;
#include "sync/barriers.def"
    };

    __device__ __forceinline__ any_barrier(const stencil_barrier_state &state, stencil_barrier_id which)
        : id(which), kept(0) {
        with_barrier(id, [&](auto of) { new (&kept) typename decltype(of)::type(state); });
    }
    __device__ __forceinline__ ~any_barrier() {
        visit([](auto &barrier) {
            using type = std::remove_reference_t<decltype(barrier)>;
            barrier.~type();
        });
    }
    __device__ __forceinline__ void sync(int64_t step) {
        visit([&](auto &barrier) { barrier.sync(step); });
    }
    __device__ __forceinline__ void sync_all(int64_t step) {
        visit([&](auto &barrier) { barrier.sync_all(step); });
    }
    __device__ __forceinline__ void leave() {
        visit([](auto &barrier) { barrier.leave(); });
    }

  private:
    template <class F> __device__ __forceinline__ void visit(F f) {
        with_barrier(id, [&](auto of) { f(reinterpret_cast<typename decltype(of)::type &>(kept)); });
    }
};

} // namespace stencil
