/* Scrubbing: now and then, a random tile of some steps is made again by the plain sweep of a CPU thread, from
 * the cells that these steps began with, and compared bit by bit with what the run has made of them. All ways
 * to make a step give the same bits, so a difference is a fault of the hardware or of a program. */
#pragma once

#include "solver/run/run.h"

typedef struct stencil_scrub stencil_scrub;

/* The amount of a run that was compared. */
typedef struct stencil_scrubbed {
    int64_t tiles;   /* tiles compared */
    int64_t updates; /* cell updates of these tiles */
    int64_t step;    /* step up to which the last tile was compared; 0: none was */
    double seconds;  /* time that this took from the run */
} stencil_scrubbed;

/* The share of a run's time that scrubbing takes where none is given. */
#define STENCIL_SCRUB_SHARE 0.005

/* Prepares to scrub a run, which is borrowed; share: the most that it may take, as a part of the time that
 * the run's steps take without it, in (0, 1]; of 1, the first tile does not wait until there is time for it.
 * *scrub is NULL on failure. Errors: NO_MEMORY. */
stencil_status stencil_scrub_open(stencil_scrub **scrub, stencil_run *run, double share);

/* Returns the observer that scrubs, which begins to count time now. It names the step before which it keeps
 * the cells that a tile depends on, and the step at which the tile is compared. Its errors: INTERNAL: a cell
 * differs; the message has GPU, cell, tile and steps. NO_MEMORY; those of reading the run's cells. */
stencil_observer stencil_scrub_observer(stencil_scrub *scrub);

/* Returns how much has been compared so far. */
stencil_scrubbed stencil_scrub_done(const stencil_scrub *scrub);

/* Tells whether a cell differed. */
bool stencil_scrub_found(const stencil_scrub *scrub);

/* NULL is allowed. */
void stencil_scrub_close(stencil_scrub *scrub);
