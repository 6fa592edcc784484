/* A copy of a run's field as it is between two steps, which one other thread reads while the run goes on. */
#pragma once

#include "solver/run/run.h"

typedef struct stencil_snapshot stencil_snapshot;

/* Allocates nothing yet but the structure. *snapshot is NULL on failure. Errors: NO_MEMORY. */
stencil_status stencil_snapshot_create(stencil_snapshot **snapshot, const stencil_problem *problem);

/* Copies the run's field, between steps: on GPUs into memory of each GPU, where that has room, else into
 * memory of the host. Nothing may read the snapshot meanwhile. Errors: NO_MEMORY: neither has room, and the
 * copy that was there is lost; later calls fail likewise, without trying again. */
stencil_status stencil_snapshot_take(stencil_snapshot *snapshot, stencil_run *run);

/* Copies the arrays that no step changes, source term, faces and classes of cells, before the first
 * step, for readers of the snapshot. Errors: NO_MEMORY; those of reading the run's cells. */
stencil_status stencil_snapshot_keep_arrays(stencil_snapshot *snapshot, stencil_run *run);

/* Reads a box of cells of the snapshot, as a stencil_reader; of other arrays only where they are kept. */
stencil_status stencil_snapshot_read(void *snapshot, stencil_array array, const stencil_box *box,
                                     const stencil_cells *to);

/* Frees the memory of the copy, which no reader needs any more; arrays that no step changes stay. */
void stencil_snapshot_drop(stencil_snapshot *snapshot);

/* Tells where the last copy was made: "GPU", "host", or NULL before the first. */
const char *stencil_snapshot_place(const stencil_snapshot *snapshot);

/* Frees the copy; NULL is allowed. The run whose field it is must be open still. */
void stencil_snapshot_destroy(stencil_snapshot *snapshot);
