/* Barriers: what all of them share. A barrier is a policy type in sync/<name>.cuh with
 *     NAME(const stencil_barrier_state &)   loads its epoch: all threads of all blocks, once per launch
 *     void sync()                           all threads of all blocks; everything written before it by anybody
 *                                           is seen after it by everybody (release + acquire)
 * and a line in barriers.def. The CPU twin of a barrier is a team barrier of the same name. */
#ifndef STENCIL_SYNC_BARRIER_H
#define STENCIL_SYNC_BARRIER_H

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stencil_barrier_id {
    STENCIL_BARRIER_none, /* a launch of its own for every step */
#define STENCIL_BARRIER(name, capability, text) STENCIL_BARRIER_##name,
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    STENCIL_BARRIER_COUNT
} stencil_barrier_id;

/* A row of barriers.def. */
typedef struct stencil_barrier_info {
    stencil_barrier_id id;
    const char *name;
    int capability; /* smallest compute capability, 60 for 6.0 */
    const char *summary;
} stencil_barrier_info;

/* STENCIL_BARRIER_COUNT rows, the empty barrier first. */
extern const stencil_barrier_info stencil_barriers[];

/* Memory of a barrier on the device; unused by those that bring their own. */
typedef struct stencil_barrier_state {
    uint32_t *words; /* zeroed once, kept from launch to launch */
} stencil_barrier_state;

/* Barrier of a team of CPU threads: the calling OpenMP team, or its twin. Called by every thread of it. */
void stencil_team_sync(void);

#ifdef __cplusplus
}
#endif
#endif
