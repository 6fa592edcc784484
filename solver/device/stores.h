#pragma once

#include "solver/plan/plan.h"

/* A sweep tries whether its results go through the cache or past it, where the size of the fields does not
 * say, with the first passes of the run (stores.c; a pass of the plain sweep is a step). Both ways give the
 * same bits, so no step is lost. Each way has so many turns, in alternation; the best pass of each counts, so
 * that a fault has to hit all turns of a way to matter. After so many passes they are tried again, since a
 * cache is shared with others. */
enum { STENCIL_STORES_TURNS = 3, STENCIL_STORES_AGAIN = 8192 };

/* Passes of a turn before the one that is timed: they bring the cache into the state that this way leaves.
 * One that just holds the fields gets hold of them again in four. */
enum { STENCIL_STORES_WARM_CACHED = 4, STENCIL_STORES_WARM_STREAMING = 1 };
enum {
    STENCIL_STORES_STEPS =
        STENCIL_STORES_TURNS * (STENCIL_STORES_WARM_CACHED + 1 + STENCIL_STORES_WARM_STREAMING + 1)
};

/* Findings of one thread with its own rows, in two lines of a cache, as they are fetched in pairs. */
typedef struct stencil_stores_trial {
    _Alignas(128) bool streaming; /* the way of the next pass */
    bool timed;                   /* the next pass may count: its time is wanted */
    bool looked_at;               /* the last pass was */
    int turn, warm;               /* turns done; passes done in this one */
    int64_t step;                 /* passes since the trial began */
    double best_s[2];             /* of a step of the best pass of this trial, [streaming] */
    double found_s[2];            /* of the last one that came to an end; NaN: none has */
} stencil_stores_trial;

void stencil_stores_begin(stencil_stores_trial *trial, stencil_stores stores);

/* A pass was made whose steps took step_s each (any number unless trial->timed); looked_at: with a residual,
 * or with fewer steps than others. */
void stencil_stores_note(stencil_stores_trial *trial, double step_s, bool looked_at);

/* The way that was chosen last, whatever is tried just now. */
bool stencil_stores_chosen(const stencil_stores_trial *trial);

/* Ways in which a CPU stored results in the end, and those that it tried before: time per step in the slowest
 * thread's best pass, NaN where nothing was tried (to the end). */
typedef struct stencil_store_report {
    int threads, streaming_threads;
    double cached_step_s, streaming_step_s;
} stencil_store_report;
