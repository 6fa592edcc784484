/* The strategies (time loops): calibrations measure them, plans choose one, solver/run/ implements them. */
#pragma once

#include "sync/barrier.h"

enum {
    STENCIL_STRATEGIES = 0
#define STENCIL_STRATEGY(id, name, parts, text) +1
#include "solver/machine/strategies.def"
#undef STENCIL_STRATEGY
#define STENCIL_BARRIER(id, name, capability, needs, text) +1
#include "sync/barriers.def"
#undef STENCIL_BARRIER
};

/* One row per strategy, in the order of the .def files: for --help, `info` and the conformance tests. */
typedef struct stencil_strategy_info {
    const char *name;
    const char *summary;
    stencil_barrier_id barrier; /* barrier of a persistent loop; none: the host leads */
    bool spans;                 /* the strategy can run several parts */
    bool copies;   /* the strategy can copy halos, and overlap the copies (--halo copy, --overlap) */
    bool ll;       /* the strategy can send halos in flagged words on GPUs (--halo ll) */
    bool team;     /* a team of CPU threads makes all steps of a batch, not a parallel loop for each */
    bool sends;    /* ranks on GPUs can send messages between its launches */
    bool replayed; /* its launches are replayed: messages have to be in the stream, too (--halo nccl) */
} stencil_strategy_info;
int stencil_strategy_count(void);
extern const char *const stencil_strategy_names[]; /* NULL after the last name */
stencil_strategy_info stencil_strategy_at(int index);
