#include "sync/barrier.h"

const stencil_barrier_info stencil_barriers[] = {
    {STENCIL_BARRIER_none, "none", 0, "no barrier"},
#define STENCIL_BARRIER(name, capability, text) {STENCIL_BARRIER_##name, #name, capability, text},
#include "sync/barriers.def"
#undef STENCIL_BARRIER
};

void stencil_team_sync(void) {
#pragma omp barrier
}
