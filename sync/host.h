/* The host's side of barriers: their memory, launches whose blocks wait for each other, alarms. The solver,
 * the benchmarks and other callers whose participants wait for each other use it. */
#pragma once

#include "base/cuda.h"
#include "sync/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of a barrier for a team of threads, every word `epoch`, alarm included (which is 0); freed with
 * free(team->words). Lists of neighbours are the caller's. */
stencil_status stencil_team_create(stencil_barrier_state *team, uint32_t threads, uint32_t epoch,
                                   double timeout_s);

/* Fails with INTERNAL: `waiter` ("block 3", "thread 1") gave up waiting at a barrier. */
stencil_status stencil_alarm_fail(const char *barrier, const char *waiter, int64_t step, double timeout_s);

/* Tells state->part, whose participants are part_first[part] … part_first[part + 1] - 1, whom they wait for,
 * by the lists of all participants; of two participants each waits for the other, or neither does. own_only:
 * participants of other parts are left out, since their ghost cells come in flagged words. What is made is
 * one piece, announcements before lists, freed with free(state->neighbor_first). */
stencil_status stencil_neighbors_share(stencil_barrier_state *state, const uint32_t *part_first,
                                       const uint32_t *first, const uint32_t *list, bool own_only);

#ifdef STENCIL_HAVE_CUDA
/* Allocates on the current device and copies, or zeroes where `from` is NULL; *to is the caller's, with
 * failures too. */
stencil_status stencil_to_device(void *to, const void *from, size_t bytes);

/* Lets `device`, which is the calling thread's, reach the memory of others, where it can. */
stencil_status stencil_peers_reach(int device, const int *others, int count);

/* A grid whose blocks wait for each other. */
typedef struct stencil_grid {
    unsigned blocks, block_x, block_y;
    unsigned cluster_blocks; /* blocks of a cluster; 0 or 1: none */
    unsigned shared_bytes;   /* dynamic shared memory of a block */
    bool shared; /* other such grids are on the device at the same time, and the caller has seen to it that
                    all fit: cooperative launches of several streams do not always start side by side */
} stencil_grid;

/* Launches a kernel of one argument. */
stencil_status stencil_grid_launch(const void *kernel, const stencil_grid *grid, void *argument,
                                   cudaStream_t stream);

/* Loads a kernel on the current device (nothing may be loaded lazily while kernels wait for each other) and
 * finds how many of its blocks the device holds at once, in whole clusters where there are some. */
stencil_status stencil_grid_resident(const void *kernel, const stencil_grid *grid, int64_t *blocks);

/* Sees to it that kernels in these streams of the current device run side by side: streams that do not are
 * replaced. `streams`: where the caller keeps them. UNAVAILABLE where none do. */
stencil_status stencil_streams_make_coresident(cudaStream_t *const streams[], int count);

/* A barrier between blocks. */
typedef struct stencil_barrier_shape {
    const stencil_barrier_info *info;
    int parts;
    int device[STENCIL_PARTS_MAX];         /* of each part; peers reach each other */
    uint32_t first[STENCIL_PARTS_MAX + 1]; /* participants first[p] … first[p + 1] - 1 are part p's blocks */
    uint32_t *alarm[STENCIL_PARTS_MAX];    /* part p's, zeroed, in its memory; NULL: behind its words */
    uint32_t epoch;                        /* what it counts from */
    double timeout_s;
} stencil_barrier_shape;

typedef struct stencil_barrier {
    stencil_barrier_shape shape;
    stencil_barrier_state state[STENCIL_PARTS_MAX]; /* for the kernel of each part */
    bool alarmed;                                   /* a participant gave up */
    uint32_t *start;                                /* words of each part in the beginning; owned */
    /* Device memory, owned, as are the words: neighbours, and peer tables, [2 * parts]: the words, then the
     * alarms of all parts. */
    uint32_t *lists[STENCIL_PARTS_MAX], **peers[STENCIL_PARTS_MAX];
} stencil_barrier;

/* Zeroed words behind a part's own alarm, for whatever the caller's kernel has to say. */
enum { STENCIL_SPARE_WORDS = STENCIL_LINE_WORDS - STENCIL_ALARM_WORDS };
static inline uint32_t *stencil_barrier_spare(const stencil_barrier *barrier, int part) {
    return barrier->state[part].alarm + STENCIL_ALARM_WORDS;
}

/* These leave the device of the last part the calling thread's. Allocates the words and, with several parts,
 * the peer tables. */
stencil_status stencil_barrier_create(stencil_barrier *barrier, const stencil_barrier_shape *shape);

/* Words as they were in the beginning, own alarms and spare words included. No kernel that uses the barrier
 * is running. */
stencil_status stencil_barrier_restart(const stencil_barrier *barrier);

/* Gives every part its share of the lists of all participants: stencil_neighbors_share(). */
stencil_status stencil_barrier_set_neighbors(stencil_barrier *barrier, const uint32_t *first,
                                             const uint32_t *list, bool own_only);

/* After the launches have ended: INTERNAL where a block gave up waiting, with its number, part and step. */
stencil_status stencil_barrier_check(stencil_barrier *barrier);

/* After everything else on the devices is freed: they are reset after an alarm where the driver keeps the
 * barrier's word. */
void stencil_barrier_destroy(stencil_barrier *barrier);
#endif

#ifdef __cplusplus
}
#endif
