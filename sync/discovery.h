/* Occupancy discovery (T. Sorensen et al., "Portable inter-workgroup barrier synchronisation for GPUs",
 * OOPSLA 2016): the blocks of an ordinary launch, which may be more than are resident, find out which of them
 * run at the same time. A barrier between those (sync/discovery.cuh) needs neither a cooperative launch nor
 * the number of blocks that fit.
 *
 * There is a poll, under a lock. A block that comes while the poll is open takes part and gets a number; then
 * it takes the lock again and closes the poll. So all that take part had begun before any of them goes on,
 * and their count is final for each of them. A block that finds the poll closed returns, and makes room. The
 * lock gives out tickets: blocks that have begun join before the poll is closed behind them, so that few are
 * missed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The poll, followed by arrived[most] and released[most] of the barrier, for `most` launched blocks. All
 * words are 0 before each launch. */
typedef struct stencil_discovery {
    uint32_t ticket, serving; /* next ticket of the lock, and the ticket whose holder has it */
    uint32_t closed, count;   /* whether the poll is closed; blocks that take part. Under the lock */
} stencil_discovery;

static inline size_t stencil_discovery_bytes(uint32_t most) {
    return sizeof(stencil_discovery) + 2 * (size_t)most * sizeof(uint32_t);
}
