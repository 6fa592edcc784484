#include "sync/barrier.h"
#include "sync/all.cuh"

const stencil_barrier_info stencil_barriers[] = {
    {STENCIL_BARRIER_none, "none", 0, STENCIL_NEEDS_NOTHING, "no barrier"},
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    {STENCIL_BARRIER_##id, name, capability, STENCIL_NEEDS_##needs, text},
#include "sync/barriers.def"
#undef STENCIL_BARRIER
};

bool stencil_team_sync(stencil_barrier_id id, const stencil_barrier_state *team, uint32_t thread, bool all) {
    switch (id) {
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    case STENCIL_BARRIER_##id:                                                                               \
        return id##_team(team, thread, all);
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    case STENCIL_BARRIER_none:
    case STENCIL_BARRIER_COUNT:
        break;
    }
    return false;
}
