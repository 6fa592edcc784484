/* The barrier that a launch names (stencil_kernel_args.sync). A kernel has all of them, so that it is
 * compiled once: for sweeps whose pace does not depend on the registers that a barrier takes. */
#pragma once

#include <new>
#include <type_traits>

#include "kernels/sweep.h"
#include "sync/all.cuh"

namespace stencil {

struct any_barrier {
    stencil_barrier_id id;
    union {
#define STENCIL_BARRIER(id, name, capability, needs, text) id##_barrier id##_;
#include "sync/barriers.def"
    };

    __device__ ~any_barrier() {}
    __device__ explicit any_barrier(const stencil_kernel_args &s) : id(s.sync) {
        switch (id) {
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        new (&id##_) id##_barrier(s.barrier);                                                                \
        break;
#include "sync/barriers.def"
        default:
            break;
        }
    }
    /* f(the barrier). */
    template <class F> __device__ __forceinline__ void with(F f) {
        switch (id) {
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        f(id##_);                                                                                            \
        break;
#include "sync/barriers.def"
        default:
            break;
        }
    }
    __device__ void sync(int64_t step) {
        with([&](auto &barrier) { barrier.sync(step); });
    }
    __device__ void sync_all(int64_t step) {
        with([&](auto &barrier) { barrier.sync_all(step); });
    }
    __device__ void leave() {
        with([](auto &barrier) { barrier.leave(); });
    }
};

/* A barrier of a launch. */
template <class Barrier> __device__ __forceinline__ Barrier barrier_of_launch(const stencil_kernel_args &s) {
    if constexpr (std::is_same_v<Barrier, any_barrier>)
        return any_barrier(s);
    else
        return Barrier(s.barrier);
}

} // namespace stencil
