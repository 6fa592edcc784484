/* Barriers: what all of them share. A barrier is one file, sync/<name>.cuh, and a line in barriers.def. The
 * file holds the device's policy type, NAME_barrier, NAME_barrier(const stencil_barrier_state &)  loads its
 * epoch; by all threads of all blocks, once per launch void sync(step)      called by all threads of all
 * blocks: what anybody who is waited for wrote before it is seen after it (release + acquire). Where the time
 * is over, the alarm is raised with the step and everybody goes on: look at the alarm now and then, and
 * leave. That every pass told its success to all threads would cost 4 % of it void sync_all(step)  the same,
 * and nobody passes before everybody has arrived void leave()         stores the epoch for the next launch;
 * after the last sync constexpr bool local whether sync() waits for some blocks only and the CPU twin,
 * NAME_team(team, thread, all), with the same meaning for a team of threads; false: given up. */
#ifndef STENCIL_SYNC_BARRIER_H
#define STENCIL_SYNC_BARRIER_H

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stencil_barrier_id {
    STENCIL_BARRIER_none, /* a launch of its own for every step */
#define STENCIL_BARRIER(id, name, capability, needs, text) STENCIL_BARRIER_##id,
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    STENCIL_BARRIER_COUNT
} stencil_barrier_id;

/* What the host has to provide beside memory. */
typedef enum stencil_barrier_needs {
    STENCIL_NEEDS_NOTHING,
    STENCIL_NEEDS_NEIGHBORS, /* lists of whom to wait for, and tiles of a block that lie together */
    STENCIL_NEEDS_CLUSTERS   /* a launch in thread-block clusters */
} stencil_barrier_needs;

/* A row of barriers.def. */
typedef struct stencil_barrier_info {
    stencil_barrier_id id;
    const char *name;
    int capability; /* smallest compute capability, 60 for 6.0 */
    stencil_barrier_needs needs;
    const char *summary;
} stencil_barrier_info;

/* STENCIL_BARRIER_COUNT rows, the empty barrier first. */
extern const stencil_barrier_info stencil_barriers[];

/* Words of barrier memory: a line of 32 words for a counter, one for a second counter, then per participant a
 * line of its own (flag), and three plain arrays (arrived, released, epoch). Participants are blocks or
 * threads. */
enum { STENCIL_LINE_WORDS = 32 };
static inline size_t stencil_barrier_word_count(uint32_t participants) {
    return (2 + (size_t)participants) * STENCIL_LINE_WORDS + 3 * (size_t)participants;
}

/* Memory and limits of a barrier, on the device for blocks, on the host for a team of threads. */
typedef struct stencil_barrier_state {
    uint32_t *words;       /* stencil_barrier_word_count(participants), zeroed once, kept between launches.
                              Any value v of every word is as good as 0: epochs wrap around */
    uint32_t participants; /* blocks of the grid, threads of the team */
    const uint32_t *neighbor_first; /* [participants + 1] and */
    const uint32_t *neighbor; /* [neighbor_first[participants]]: whom each participant waits for in sync() */
    uint64_t timeout_ns;      /* of one wait */
    uint32_t
        *alarm; /* [3]: 0, or 1 + the participant that first gave up waiting; low, high word of its step */
} stencil_barrier_state;

/* The parts of the words. */
#ifdef __cplusplus
#define STENCIL_ANYWHERE __host__ __device__ static inline
#else
#define STENCIL_ANYWHERE static inline
#endif
STENCIL_ANYWHERE uint32_t *stencil_barrier_counter(const stencil_barrier_state *s, int which) {
    return s->words + which * STENCIL_LINE_WORDS;
}
STENCIL_ANYWHERE uint32_t *stencil_barrier_flag(const stencil_barrier_state *s, uint32_t participant) {
    return s->words + (2 + (size_t)participant) * STENCIL_LINE_WORDS;
}
STENCIL_ANYWHERE uint32_t *stencil_barrier_arrived(const stencil_barrier_state *s) {
    return s->words + (2 + (size_t)s->participants) * STENCIL_LINE_WORDS;
}
STENCIL_ANYWHERE uint32_t *stencil_barrier_released(const stencil_barrier_state *s) {
    return stencil_barrier_arrived(s) + s->participants;
}
STENCIL_ANYWHERE uint32_t *stencil_barrier_epoch(const stencil_barrier_state *s) {
    return stencil_barrier_released(s) + s->participants;
}
/* a has come as far as b, for counters that wrap around and are less than 2^31 apart. */
STENCIL_ANYWHERE bool stencil_reached(uint32_t a, uint32_t b) {
    return (int32_t)(a - b) >= 0;
}

/* Passes the team's barrier `id`; called by every thread of the team. false: the time is over. */
bool stencil_team_sync(stencil_barrier_id id, const stencil_barrier_state *team, uint32_t thread, bool all);

#ifdef __cplusplus
}
#endif
#endif
