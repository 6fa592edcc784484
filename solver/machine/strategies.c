/* The table of time loops, made of strategies.def and, for the persistent ones, sync/barriers.def. */
#include "solver/machine/strategies.h"

enum { ONE, SEVERAL, TEAM, REPLAYED };

/* The members after the barrier: spans, copies, ll, team, sends, replayed of stencil_strategy_info. */
static const stencil_strategy_info rows[] = {
#define STENCIL_STRATEGY(id, name, parts, text)                                                              \
    {name,                                                                                                   \
     text,                                                                                                   \
     STENCIL_BARRIER_none,                                                                                   \
     (parts) == SEVERAL || (parts) == TEAM,                                                                  \
     (parts) == SEVERAL || (parts) == TEAM,                                                                  \
     false,                                                                                                  \
     (parts) == TEAM,                                                                                        \
     (parts) == ONE || (parts) == SEVERAL,                                                                   \
     (parts) == REPLAYED},
#include "solver/machine/strategies.def"
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    {name,                                                                                                   \
     text,                                                                                                   \
     STENCIL_BARRIER_##id,                                                                                   \
     STENCIL_NEEDS_##needs == STENCIL_NEEDS_NEIGHBORS || STENCIL_NEEDS_##needs == STENCIL_NEEDS_PEERS,       \
     false,                                                                                                  \
     STENCIL_NEEDS_##needs == STENCIL_NEEDS_NEIGHBORS,                                                       \
     true,                                                                                                   \
     false,                                                                                                  \
     false},
#include "sync/barriers.def"
};

const char *const stencil_strategy_names[] = {
#define STENCIL_STRATEGY(id, name, parts, text) name,
#include "solver/machine/strategies.def"
#define STENCIL_BARRIER(id, name, capability, needs, text) name,
#include "sync/barriers.def"
    NULL,
};

int stencil_strategy_count(void) {
    return (int)(sizeof rows / sizeof *rows);
}

stencil_strategy_info stencil_strategy_at(int index) {
    return rows[index];
}
