/* clang-format off */
/* Barriers: what all of them share. A barrier is one file, sync/<name>.cuh, and a line in barriers.def. The
 * file holds the device's policy type, NAME_barrier,
 *
 *   NAME_barrier(const stencil_barrier_state &)  loads the barrier's epoch; called by all threads of all blocks, once per
 *                        launch, or again after leave() and a __syncthreads()
 *   void sync(step)      called by all threads of all blocks: what a block that is waited for wrote before it is
 *                        seen after it (release + acquire). A block whose wait times out raises the alarm with the
 *                        step, and all blocks go on: the kernel checks the alarm now and then, and returns. To tell
 *                        all threads in every pass whether it succeeded would cost 4 % of the pass
 *   void sync_all(step)  does what sync() does, and no block passes before all have arrived
 *   of_loop              the barrier that a loop of passes of several steps passes in its place, between of_loop::open()
 *                        and of_loop::close(), which all threads of all blocks call once in a launch. It has
 *                        pass(step): sync_all() for a block's first warp, when all threads of the block have arrived
 *   void leave()         stores the epoch for the next launch; called after the last sync()
 *   constexpr bool local whether sync() waits for some blocks only; sync() is then also offered as two calls,
 *                        arrive() and wait(step), between which the block may do other work
 *
 * and the CPU twin of sync(), NAME_team(team, thread), with the same meaning for a team of threads; it returns
 * false when the thread gave up waiting. */
/* clang-format on */
#pragma once

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stencil_barrier_id {
    STENCIL_BARRIER_none, /* no barrier: one kernel launch per step */
#define STENCIL_BARRIER(id, name, capability, needs, text) STENCIL_BARRIER_##id,
#include "sync/barriers.def"
    STENCIL_BARRIER_COUNT
} stencil_barrier_id;

/* Resources that the host has to provide for a barrier, besides memory. */
typedef enum stencil_barrier_needs {
    STENCIL_NEEDS_NOTHING,
    STENCIL_NEEDS_RESET,     /* a device reset after an alarm, since the driver keeps the barrier's word */
    STENCIL_NEEDS_NEIGHBORS, /* for each block, a list of the blocks that it waits for */
    STENCIL_NEEDS_CLUSTERS,  /* a launch in thread-block clusters */
    STENCIL_NEEDS_PEERS      /* nothing but memory; the barrier spans several GPUs */
} stencil_barrier_needs;

/* Largest number of parts (GPUs, or partitions that share a GPU) that a barrier can span. */
enum { STENCIL_PARTS_MAX = 16 };

/* Description of a barrier: a row of barriers.def. */
typedef struct stencil_barrier_info {
    stencil_barrier_id id;
    const char *name;
    int capability; /* smallest compute capability, 60 for 6.0 */
    stencil_barrier_needs needs;
    const char *summary;
} stencil_barrier_info;

/* The descriptions of all barriers: STENCIL_BARRIER_COUNT rows, "none" first. */
extern const stencil_barrier_info stencil_barriers[];

/* Layout of a part's barrier memory: two lines of 32 words for counters, one line with a word per part, one
 * line (flag) per participant of all parts, and three arrays with a word per participant (arrived, released,
 * epoch). Participants are blocks or threads. */
enum { STENCIL_LINE_WORDS = 32, STENCIL_PART_WORDS_AT = 2 * STENCIL_LINE_WORDS, STENCIL_LINES_SHARED = 3 };
static inline size_t stencil_barrier_word_count(uint32_t participants) {
    const size_t plain = 3 * (size_t)participants;
    return (STENCIL_LINES_SHARED + (size_t)participants) * STENCIL_LINE_WORDS + plain +
           plain % 2; /* an even count, so that a 64-bit alarm may follow the words */
}

/* Words of an alarm. The first two are one aligned 64-bit word: 0, or the largest stencil_alarm_of() of the
 * participants that gave up waiting; in a team, whose threads know their steps, 1 + the thread's number. The
 * last word is not 0 when a participant of another part gave up. */
enum { STENCIL_ALARM_WORDS = 4, STENCIL_ALARM_ELSEWHERE = 3 };

/* Alarm value of a participant that gave up waiting in a step: the earlier the step, the larger, so that the
 * maximum names the step in which the missing participant failed to come, although waiters of later steps may
 * give up first. The low word is never 0. */
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

/* Memory and limits of a barrier, on the device for blocks, on the host for a team of threads. Participants
 * are numbered across all parts; the words and the alarm of part p lie in the memory of part p. */
typedef struct stencil_barrier_state {
    uint32_t *words;       /* stencil_barrier_word_count(participants) words, zeroed once, kept between
                              launches. All words may start at any common value v: epochs wrap around */
    uint32_t participants; /* number of blocks of all grids, or of threads of the team */
    uint32_t first;        /* number of this part's first participant */
    uint32_t parts, part;  /* number of parts, and index of this part. A team of threads stands for all
                              parts, in groups of consecutive numbers */
    /* Neighbour lists, in CSR form: rows are this part's participants, numbered from 0; the participants
     * listed are numbered across all parts. */
    const uint32_t *neighbor_first; /* [this part's participants + 1]: row starts of neighbor[] */
    const uint32_t *neighbor;       /* participants that a row's participant waits for in sync() */
    uint32_t neighbor_most;         /* length of the longest neighbour list */
    const uint32_t *announce;       /* [this part's participants]: bit p: a participant of part p waits for
                                       this participant; NULL: all neighbours are of the same part */
    uint32_t *const *peer_words;    /* [parts]: the barrier words of every part; NULL: one part only */
    uint32_t *const *peer_alarm;    /* [parts]: the alarm of every part; NULL: one part only */
    uint64_t timeout_ns;            /* longest duration of one wait */
    uint32_t *alarm;                /* [STENCIL_ALARM_WORDS], at a multiple of 8 bytes */
    uint32_t cores;                 /* of a team of threads: processors that this process may use */
} stencil_barrier_state;

/* Returns counter 0 or 1 of the barrier's words. */
STENCIL_ANYWHERE uint32_t *stencil_barrier_counter(const stencil_barrier_state *s, int which) {
    return s->words + which * STENCIL_LINE_WORDS;
}
/* Returns an array with a word per part: how often that part has arrived at the barrier. */
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
/* Returns the first item of an owner's share where `items` consecutive items are split evenly among owners;
 * stencil_share_owner() returns the owner of an item. */
STENCIL_ANYWHERE int64_t stencil_share(int64_t items, int64_t owners, int64_t owner) {
    return items / owners * owner + (owner < items % owners ? owner : items % owners);
}
STENCIL_ANYWHERE uint32_t stencil_share_owner(uint32_t items, uint32_t owners, uint32_t item) {
    const uint32_t each = items / owners, more = items % owners;
    return item < (each + 1) * more ? item / (each + 1) : more + (item - (each + 1) * more) / each;
}
/* Returns whether counter a has reached b, where counters wrap around and are less than 2^31 apart. */
STENCIL_ANYWHERE bool stencil_reached(uint32_t a, uint32_t b) {
    return (int32_t)(a - b) >= 0;
}

/* Passes barrier `id` (not none) of a team of CPU threads; called by every thread of the team. `all`: waits
 * for all threads, even where the barrier waits for neighbours only. Returns false when the wait timed out.
 */
bool stencil_team_sync(stencil_barrier_id id, const stencil_barrier_state *team, uint32_t thread, bool all);

#ifdef __cplusplus
}
#endif
