/* Memory of the GPUs of all ranks of a host, mapped into this process (CUDA IPC). Internal to solver/ and to
 * programs that start ranks. */
#pragma once

#include "base/cuda.h"
#include "base/world.h"

#ifdef STENCIL_HAVE_CUDA
/* Arrays of all ranks: array i of rank r is at[r * count + i] here, an address of this process. */
typedef struct stencil_mapping {
    int rank, ranks, count;
    void **at; /* [ranks * count]; those of other ranks are owned */
} stencil_mapping;

/* Returns the bytes of an allocation for `bytes` that others map: drivers map whole pages. */
static inline size_t stencil_mapping_bytes(size_t bytes) {
    const size_t page = 1 << 21;
    return (bytes + page - 1) / page * page;
}

/* Maps the `count` arrays that each rank has, own[i] of this one, each the begin of an allocation on its
 * current device; NULL in all ranks: none. All ranks of `world` call it. *can: it is possible in all of them,
 * else nothing is mapped. The caller closes the mapping, after failures too, before any of the arrays is
 * freed. Errors: NO_MEMORY. */
stencil_status stencil_mapping_open(stencil_mapping *mapping, stencil_world *world, void *const own[],
                                    int count, bool *can);
void stencil_mapping_close(stencil_mapping *mapping);

/* Finds out whether the GPUs of all ranks, of this one `gpu`, reach each other's memory: they can map it, and
 * what they store there arrives. All ranks call it. Errors: NO_MEMORY, INTERNAL. */
stencil_status stencil_ranks_reach(stencil_world *world, int gpu, bool *reach);
#endif
