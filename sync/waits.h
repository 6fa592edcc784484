/* Building blocks of barriers: between blocks, sync/memory.cuh; between the threads of a team, atomics with
 * explicit order and the bounded spin. */
#pragma once

#ifdef __CUDACC__
#include "sync/memory.cuh"
#else
#include <sched.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

#include "sync/barrier.h"

/* Number of threads of all teams of this process that sleep or are about to sleep. Accessed by atomics only;
 * a sleeper of another team costs a call that wakes nobody. */
extern uint32_t stencil_team_sleepers;
#ifdef __linux__
long syscall(long number, ...); /* as in unistd.h, which shows it where more than C and POSIX is asked for */
#endif

static inline uint32_t team_load(const uint32_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Wakes threads that sleep until *p changes; called after changing *p. Sequentially consistent accesses
 * ensure that the caller sees a thread about to sleep, or that thread sees the new value. */
static inline void team_wake(uint32_t *p) {
#ifdef __linux__
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&stencil_team_sleepers, __ATOMIC_RELAXED) != 0)
        syscall(SYS_futex, p, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
#else
    (void)p;
#endif
}

static inline void team_store(uint32_t *p, uint32_t value) {
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
    team_wake(p);
}

static inline void team_add(uint32_t *p, uint32_t value) {
    __atomic_fetch_add(p, value, __ATOMIC_RELEASE);
    team_wake(p);
}

/* Sleeps until *p differs from `seen`, for a millisecond at most. */
static inline void team_sleep(const uint32_t *p, uint32_t seen) {
#ifdef __linux__
    const struct timespec most = {.tv_nsec = 1000000};
    __atomic_fetch_add(&stencil_team_sleepers, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, p, FUTEX_WAIT_PRIVATE, seen, &most, NULL, 0);
    __atomic_fetch_sub(&stencil_team_sleepers, 1, __ATOMIC_RELAXED);
#else
    (void)p, (void)seen;
    sched_yield();
#endif
}

/* Waits until *p reaches `goal`. Returns false when the wait timed out or another thread gave up; the first
 * thread to time out raises the alarm. A waiting thread sleeps rather than yields, so that the scheduler can
 * move a preempted thread of the team to its core; a yielded core would go to other processes for some ms.
 * Only threads of a team larger than the number of cores yield, to each other. Between two clock reads at
 * most 1 s counts, so that a stopped process (SIGSTOP) does not time out. */
static inline bool team_spin(const stencil_barrier_state *s, uint32_t thread, const uint32_t *p,
                             uint32_t goal) {
    enum { POLLS = 256, YIELDS = 32 }; /* polls or yields between two clock reads */
    const bool crowded = s->participants > s->cores;
    const double awake_s = crowded ? 100e-6 : 20e-6;
    double seen_s = 0.0, waited_s = 0.0;
    for (uint32_t polls = 1;; polls++) {
        const uint32_t value = team_load(p);
        if (stencil_reached(value, goal))
            return true;
        if (waited_s >= awake_s)
            team_sleep(p, value);
        else if (crowded && polls >= POLLS)
            sched_yield();
        if (waited_s < awake_s && polls % (crowded && polls > POLLS ? YIELDS : POLLS) != 0)
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
}
#endif
