/* Slabs of one process that has no room for all lines at once: passes of several steps take one slab after
 * the other from a temporary file and put it back.
 *
 *      lines of the file after 0 steps    |-----------|-----------|-----------|
 *      a slab is read, with lines around        [.....|-----------|.....]
 *      two steps, each of fewer lines             [...|-----------|...]
 *      its own lines are written          |-----------|-----------|-----------|   lines after the pass
 */
#pragma once

#include "app/verify_slab.h"

/* A division of lines: slabs of so many own lines each, and steps of a pass. A single slab: no file is
 * used. */
typedef struct slab_plan {
    int64_t slabs, lines, steps;
} slab_plan;

/* Divides lines so that the arrays of a slab take no more than `bytes` (0: half of what the system and limits
 * leave, where they do not leave enough for all lines). */
slab_plan slab_plan_make(const reference *base, const stencil_problem *problem, int64_t bytes);

/* A nameless temporary file for the field before a pass, and one for that after it. */
typedef struct slab_store {
    int file[2]; /* 0: not open */
} slab_store;

/* Opens the files, in the directory that TMPDIR names, else in /var/tmp. Errors: CANNOT_CREATE. */
stencil_status slab_store_open(slab_store *store);
void slab_store_close(slab_store *store);

/* Writes the own lines of a field of the slab; reads all lines that its arrays hold. Errors: IO. */
stencil_status slab_store_put(const slab_store *store, int which, const slab *s, const void *field);
stencil_status slab_store_get(const slab_store *store, int which, const slab *s, void *field);
