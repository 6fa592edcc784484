/* The host's side of barriers: barrier memory, launches of kernels whose blocks wait for each other, and
 * alarms. */
#pragma once

#include "base/cuda.h"
#include "sync/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates a barrier for a team of CPU threads, with every word `epoch` and the alarm 0; the caller frees it
 * with free(team->words). Neighbour lists remain the caller's. Errors: NO_MEMORY. */
stencil_status stencil_team_create(stencil_barrier_state *team, uint32_t threads, uint32_t epoch,
                                   double timeout_s);

/* Fails with INTERNAL: `waiter` ("block 3", "thread 1") gave up waiting at a barrier. */
stencil_status stencil_alarm_fail(const char *barrier, const char *waiter, int64_t step, double timeout_s);

/* Makes the neighbour lists of part state->part, whose participants are part_first[part] … part_first[part +
 * 1] - 1, from those of all participants (`first`, `list`), in which waiting is mutual. own_only: neighbours
 * of other parts are left out, since their ghost cells come in flagged words. The lists are one allocation,
 * which the caller frees with free(state->neighbor_first). Errors: NO_MEMORY. */
stencil_status stencil_neighbors_share(stencil_barrier_state *state, const uint32_t *part_first,
                                       const uint32_t *first, const uint32_t *list, bool own_only);

#ifdef STENCIL_HAVE_CUDA
/* Allocates `bytes` on the current device and copies them from `from`, or zeroes them where `from` is NULL.
 * The caller frees *to, after failures too. */
stencil_status stencil_to_device(void *to, const void *from, size_t bytes);

/* Enables peer access from `device`, the calling thread's current device, to the `count` devices of `others`
 * that it can access. */
stencil_status stencil_peers_reach(int device, const int *others, int count);

/* Launch configuration of a grid whose blocks wait for each other. */
typedef struct stencil_grid {
    unsigned blocks, block_x, block_y;
    unsigned cluster_blocks; /* blocks of a cluster; 0 or 1: none */
    unsigned shared_bytes;   /* dynamic shared memory of a block */
    bool shared; /* several such grids run on the device at the same time, and the caller ensures that all
                    fit: cooperative launches in several streams do not always run concurrently */
} stencil_grid;

/* Launches a kernel that takes one argument, to which `argument` points. */
stencil_status stencil_grid_launch(const void *kernel, const stencil_grid *grid, void *argument,
                                   cudaStream_t stream);

/* Loads a kernel on the current device (nothing may be loaded lazily while kernels wait for each other) and
 * finds how many of its blocks the device holds at once; with clusters, only whole clusters count. */
stencil_status stencil_grid_resident(const void *kernel, const stencil_grid *grid, int64_t *blocks);

/* Ensures that kernels in these streams of the current device run concurrently, and replaces *streams[i] by
 * new streams until they do. Errors: UNAVAILABLE when no streams were found that do. */
stencil_status stencil_streams_make_coresident(cudaStream_t *const streams[], int count);

/* Arguments from which a barrier between blocks is created. */
typedef struct stencil_barrier_shape {
    const stencil_barrier_info *info;
    int parts;
    int device[STENCIL_PARTS_MAX];         /* device of each part; peer access is enabled among them */
    uint32_t first[STENCIL_PARTS_MAX + 1]; /* participants first[p] … first[p + 1] - 1 are part p's blocks */
    uint32_t *alarm[STENCIL_PARTS_MAX];    /* zeroed alarm of part p; NULL: it follows the part's words */
    /* Other processes may have other parts. This one has `owned` from `own` on (0, 0: it has all), and
     * words[p], stencil_barrier_bytes() of device memory that the caller owns, are those of part p, here or
     * there (NULL: they are allocated). */
    int own, owned;
    uint32_t *words[STENCIL_PARTS_MAX];
    uint32_t epoch; /* value that all barrier words start from */
    double timeout_s;
} stencil_barrier_shape;

typedef struct stencil_barrier {
    stencil_barrier_shape shape;
    stencil_barrier_state state[STENCIL_PARTS_MAX]; /* for the kernel of each part */
    bool alarmed;                                   /* a participant gave up waiting */
    uint32_t *start;                                /* initial barrier words of any part; owned */
    /* Device memory of each own part, owned: neighbour lists, and a peer table, [2 * parts], that points to
     * the barrier words of all parts, then to their alarms. */
    uint32_t *lists[STENCIL_PARTS_MAX], **peers[STENCIL_PARTS_MAX];
} stencil_barrier;

/* Number of zeroed words after a part's alarm that the caller's kernel may use. */
enum { STENCIL_SPARE_WORDS = STENCIL_LINE_WORDS - STENCIL_ALARM_WORDS };
static inline uint32_t *stencil_barrier_spare(const stencil_barrier *barrier, int part) {
    return barrier->state[part].alarm + STENCIL_ALARM_WORDS;
}

/* Bytes of the barrier words of a part. */
size_t stencil_barrier_bytes(const stencil_barrier_shape *shape);

/* Allocates the barrier words of every part and, with several parts, the peer tables. Of several processes
 * each does so for its own parts, and no kernel may start before all have. Leaves the last part's device
 * current. Errors: NO_MEMORY, INTERNAL. */
stencil_status stencil_barrier_create(stencil_barrier *barrier, const stencil_barrier_shape *shape);

/* Resets the barrier words of this process's parts, the alarms that follow them and the spare words to their
 * initial values. No kernel that uses the barrier may be running. Leaves the last part's device current. */
stencil_status stencil_barrier_restart(const stencil_barrier *barrier);

/* Makes the neighbour lists of every own part on its device, as stencil_neighbors_share() does, and leaves
 * the last part's device current. */
stencil_status stencil_barrier_set_neighbors(stencil_barrier *barrier, const uint32_t *first,
                                             const uint32_t *list, bool own_only);

/* Checks the alarms, after all launches have ended. Errors: INTERNAL, with block, part and step, when a block
 * gave up waiting. */
stencil_status stencil_barrier_check(stencil_barrier *barrier);

/* Frees a barrier. Called after all other memory of its devices is freed, because the devices are reset when
 * a block gave up at a barrier whose word the driver keeps. */
void stencil_barrier_destroy(stencil_barrier *barrier);
#endif

#ifdef __cplusplus
}
#endif
