/* clang-format off */
/* Barriers: what all of them share. A barrier is one file, sync/<name>.cuh, and a line in barriers.def. The
 * file holds the device's policy type, NAME_barrier,
 *
 *   NAME_barrier(const stencil_barrier_state &)  loads its epoch; by all threads of all blocks, once per launch, or anew after
 *                        leave() and a __syncthreads()
 *   void sync(step)      called by all threads of all blocks: what a block that is waited for wrote before it is
 *                        seen after it (release + acquire). A block whose wait times out raises the alarm with the
 *                        step, and all blocks go on: the kernel checks the alarm now and then, and returns. To tell
 *                        all threads in every pass whether it succeeded would cost 4 % of the pass
 *   void sync_all(step)  the same, and no block passes before all have arrived
 *   void leave()         stores the epoch for the next one; after the last sync
 *   constexpr bool local whether sync() waits for some blocks only; it then comes in two halves, arrive() and
 *                        wait(step), with whatever the block does between them
 *
 * and the CPU twin of sync(), NAME_team(team, thread), with the same meaning for a team of threads; false: the
 * thread gave up. */
/* clang-format on */
#pragma once

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stencil_barrier_id {
    STENCIL_BARRIER_none, /* a launch of its own for every step */
#define STENCIL_BARRIER(id, name, capability, needs, text) STENCIL_BARRIER_##id,
#include "sync/barriers.def"
    STENCIL_BARRIER_COUNT
} stencil_barrier_id;

/* Needs of a barrier that the host provides beside memory. */
typedef enum stencil_barrier_needs {
    STENCIL_NEEDS_NOTHING,
    STENCIL_NEEDS_RESET,     /* of the device after an alarm: the driver keeps its word */
    STENCIL_NEEDS_NEIGHBORS, /* lists of whom to wait for */
    STENCIL_NEEDS_CLUSTERS,  /* a launch in thread-block clusters */
    STENCIL_NEEDS_PEERS      /* nothing but memory; made for several parts */
} stencil_barrier_needs;

/* Parts (GPUs, or partitions that share one) that a barrier can span. */
enum { STENCIL_PARTS_MAX = 16 };

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

/* Words of barrier memory of one part: two lines of 32 words for counters, one with a word for each part,
 * then per participant of all parts a line of its own (flag), and three plain arrays (arrived, released,
 * epoch). Participants are blocks or threads. */
enum { STENCIL_LINE_WORDS = 32, STENCIL_PART_WORDS_AT = 2 * STENCIL_LINE_WORDS, STENCIL_LINES_SHARED = 3 };
static inline size_t stencil_barrier_word_count(uint32_t participants) {
    const size_t plain = 3 * (size_t)participants;
    return (STENCIL_LINES_SHARED + (size_t)participants) * STENCIL_LINE_WORDS + plain +
           plain % 2; /* even, so that an alarm may lie behind them */
}

/* Words of an alarm: the first two are one of 64 bits (and aligned to it), 0, or the largest of what those
 * that gave up say, stencil_alarm_of(); of a team, whose threads know their steps, 1 + the thread. The last
 * is not 0 when a participant of another part gave up. */
enum { STENCIL_ALARM_WORDS = 4, STENCIL_ALARM_ELSEWHERE = 3 };

/* The earlier the step, the larger: who waits for a participant that does not come gives up in the step that
 * it misses, but others, who wait for those, may be the first to give up, in later steps. The low word is
 * never 0. */
enum { STENCIL_ALARM_PARTICIPANT_BITS = 20, STENCIL_ALARM_STEP_BITS = 44 };
STENCIL_ANYWHERE uint64_t stencil_alarm_of(uint32_t participant, int64_t step) {
    const uint64_t last = (UINT64_C(1) << STENCIL_ALARM_STEP_BITS) - 1,
                   at = (uint64_t)step < last ? (uint64_t)step : last;
    return (last - at) << STENCIL_ALARM_PARTICIPANT_BITS | (participant + 1);
}
static inline uint32_t stencil_alarm_participant(uint64_t alarm) {
    return (uint32_t)(alarm & ((UINT32_C(1) << STENCIL_ALARM_PARTICIPANT_BITS) - 1)) - 1;
}
static inline int64_t stencil_alarm_step(uint64_t alarm) {
    const uint64_t last = (UINT64_C(1) << STENCIL_ALARM_STEP_BITS) - 1;
    return (int64_t)(last - (alarm >> STENCIL_ALARM_PARTICIPANT_BITS));
}

/* Memory and limits of a barrier, on the device for blocks, on the host for a team of threads. All parts
 * number their participants together; part p has its own words and alarm, in its own memory. */
typedef struct stencil_barrier_state {
    uint32_t *words;       /* stencil_barrier_word_count(participants), zeroed once, kept between launches.
                              Any value v of every word is as good as 0: epochs wrap around */
    uint32_t participants; /* blocks of all grids, threads of the team */
    uint32_t first;        /* number of this part's first participant */
    uint32_t parts, part;  /* how many there are, and which one this is. A team of threads stands for all
                              parts, in groups of consecutive numbers */
    /* Lists of this part's participants, numbered from 0; the participants in them are numbered over all
     * parts. */
    const uint32_t *neighbor_first; /* [own participants + 1] and */
    const uint32_t *neighbor;       /* [neighbor_first[…]]: whom each waits for in sync() */
    uint32_t neighbor_most;         /* the longest of these lists */
    const uint32_t *announce;       /* [own participants]: bit p, a participant of part p waits for it; NULL:
                                       all neighbours are of the same part */
    uint32_t *const *peer_words;    /* [parts] the words of every part; NULL: one part */
    uint32_t *const *peer_alarm;    /* [parts] */
    uint64_t timeout_ns;            /* of one wait */
    uint32_t *alarm;                /* [STENCIL_ALARM_WORDS], at a multiple of 8 bytes */
} stencil_barrier_state;

/* The parts of the words. */
STENCIL_ANYWHERE uint32_t *stencil_barrier_counter(const stencil_barrier_state *s, int which) {
    return s->words + which * STENCIL_LINE_WORDS;
}
/* Word p: how often part p has arrived. */
STENCIL_ANYWHERE uint32_t *stencil_barrier_part_words(const stencil_barrier_state *s) {
    return s->words + STENCIL_PART_WORDS_AT;
}
STENCIL_ANYWHERE size_t stencil_barrier_flag_at(uint32_t participant) {
    return (STENCIL_LINES_SHARED + (size_t)participant) * STENCIL_LINE_WORDS;
}
STENCIL_ANYWHERE uint32_t *stencil_barrier_flag(const stencil_barrier_state *s, uint32_t participant) {
    return s->words + stencil_barrier_flag_at(participant);
}
STENCIL_ANYWHERE uint32_t *stencil_barrier_arrived(const stencil_barrier_state *s) {
    return s->words + stencil_barrier_flag_at(s->participants);
}
STENCIL_ANYWHERE uint32_t *stencil_barrier_released(const stencil_barrier_state *s) {
    return stencil_barrier_arrived(s) + s->participants;
}
STENCIL_ANYWHERE uint32_t *stencil_barrier_epoch(const stencil_barrier_state *s) {
    return stencil_barrier_released(s) + s->participants;
}
/* First item of an owner's share where items that follow each other are shared out evenly; whose share has an
 * item. */
STENCIL_ANYWHERE int64_t stencil_share(int64_t items, int64_t owners, int64_t owner) {
    return items / owners * owner + (owner < items % owners ? owner : items % owners);
}
STENCIL_ANYWHERE uint32_t stencil_share_owner(uint32_t items, uint32_t owners, uint32_t item) {
    const uint32_t each = items / owners, more = items % owners;
    return item < (each + 1) * more ? item / (each + 1) : more + (item - (each + 1) * more) / each;
}
/* a has come as far as b, for counters that wrap around and are less than 2^31 apart. */
STENCIL_ANYWHERE bool stencil_reached(uint32_t a, uint32_t b) {
    return (int32_t)(a - b) >= 0;
}

/* Passes the team's barrier `id` (not none), for `all` of them as sync_all() does; called by every thread of
 * the team. false: the wait timed out. */
bool stencil_team_sync(stencil_barrier_id id, const stencil_barrier_state *team, uint32_t thread, bool all);

#ifdef __cplusplus
}
#endif
