/* What barriers are made of: between blocks, sync/memory.cuh; between the threads of a team, atomics with
 * explicit order and the bounded spin. */
#pragma once

#ifdef __CUDACC__
#include "sync/memory.cuh"
#else
#include <sched.h>

#include "sync/barrier.h"

static inline uint32_t team_load(const uint32_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void team_store(uint32_t *p, uint32_t value) {
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static inline void team_add(uint32_t *p, uint32_t value) {
    __atomic_fetch_add(p, value, __ATOMIC_RELEASE);
}

/* Waits until *p has come as far as `goal`. Threads may outnumber cores: after a while each poll gives the
 * core away. false: the wait timed out, or another thread gave up; the first one raises the alarm. A process
 * that was stopped (SIGSTOP) has waited no longer for that than the second that a look at the clock counts at
 * most. */
static inline bool team_spin(const stencil_barrier_state *s, uint32_t thread, const uint32_t *p,
                             uint32_t goal) {
    double seen_s = 0.0, waited_s = 0.0;
    for (uint32_t polls = 1; !stencil_reached(team_load(p), goal); polls++) {
        if (polls < 256)
            continue;
        sched_yield();
        if (polls % 256 != 0)
            continue;
        const double now_s = stencil_clock_s();
        const double since_s = seen_s > 0.0 ? now_s - seen_s : 0.0;
        waited_s += since_s < 1.0 ? since_s : 1.0;
        seen_s = now_s;
        if (team_load(s->alarm) != 0)
            return false;
        if (1e9 * waited_s >= (double)s->timeout_ns) {
            uint32_t none = 0;
            __atomic_compare_exchange_n(s->alarm, &none, 1 + thread, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
            return false;
        }
    }
    return true;
}
#endif
