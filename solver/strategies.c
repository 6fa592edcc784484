/* The registry of time loops, made of strategies.def and, for the persistent ones, sync/barriers.def. */
#include <stdio.h>
#include <string.h>

#include "solver/strategy.h"

#define STENCIL_STRATEGY(id, name, text) extern const stencil_strategy stencil_strategy_##id;
#include "solver/strategies.def"
#undef STENCIL_STRATEGY

typedef enum loop_id {
#define STENCIL_STRATEGY(id, name, text) LOOP_##id,
#include "solver/strategies.def"
#undef STENCIL_STRATEGY
    LOOP_COUNT
} loop_id;

static const stencil_strategy *const loops[] = {
#define STENCIL_STRATEGY(id, name, text) &stencil_strategy_##id,
#include "solver/strategies.def"
#undef STENCIL_STRATEGY
};

static const struct {
    const char *name, *summary;
} infos[] = {
#define STENCIL_STRATEGY(id, name, text) {name, text},
#include "solver/strategies.def"
#undef STENCIL_STRATEGY
#define STENCIL_BARRIER(id, name, capability, needs, text) {name, text},
#include "sync/barriers.def"
#undef STENCIL_BARRIER
};

static const stencil_strategy persistent[] = {
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    {.barrier = STENCIL_BARRIER_##id,                                                                        \
     .cooperative = true,                                                                                    \
     .spans =                                                                                                \
         STENCIL_NEEDS_##needs == STENCIL_NEEDS_NEIGHBORS || STENCIL_NEEDS_##needs == STENCIL_NEEDS_PEERS,   \
     .batch_cpu = stencil_persistent_cpu,                                                                    \
     .batch_gpu = STENCIL_ON_GPU(stencil_persistent_gpu)},
#include "sync/barriers.def"
#undef STENCIL_BARRIER
};

int stencil_strategy_count(void) {
    return (int)(sizeof infos / sizeof *infos);
}

stencil_strategy_info stencil_strategy_at(int index) {
    const stencil_strategy *row = stencil_strategy_row(index);
    return (stencil_strategy_info){infos[index].name,
                                   infos[index].summary,
                                   row->barrier != STENCIL_BARRIER_none,
                                   row->spans,
                                   row->copies,
                                   stencil_barriers[row->barrier].needs == STENCIL_NEEDS_NEIGHBORS};
}

const stencil_strategy *stencil_strategy_row(int index) {
    return index < LOOP_COUNT ? loops[index] : &persistent[index - LOOP_COUNT];
}

int stencil_strategy_index(const char *name) {
    for (int i = 0; i < stencil_strategy_count(); i++)
        if (strcmp(infos[i].name, name) == 0)
            return i;
    return -1;
}
