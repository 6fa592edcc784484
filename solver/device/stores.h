#pragma once

#include "solver/plan/plan.h"

/* Trial of cached and streaming (non-temporal) stores, made in the first passes of a run when the size of the
 * fields does not decide (stores.c; a pass of the plain sweep is a step). Both ways compute the same bits, so
 * no step is wasted. The ways alternate, STENCIL_STORES_TURNS times each, and the best pass of each counts,
 * so that a disturbance matters only if it hits all turns of a way. The trial is repeated after
 * STENCIL_STORES_AGAIN passes, since other processes share the cache. */
enum { STENCIL_STORES_TURNS = 3, STENCIL_STORES_AGAIN = 8192 };

/* Untimed passes before the timed pass of a turn, which bring the cache into the state of that way to store.
 * A cache that just holds the fields holds them again after four passes. */
enum { STENCIL_STORES_WARM_CACHED = 4, STENCIL_STORES_WARM_STREAMING = 1 };
enum {
    STENCIL_STORES_STEPS =
        STENCIL_STORES_TURNS * (STENCIL_STORES_WARM_CACHED + 1 + STENCIL_STORES_WARM_STREAMING + 1)
};

/* State of one thread's trial for its own rows, in two cache lines, because lines are fetched in pairs. */
typedef struct stencil_stores_trial {
    _Alignas(128) bool streaming; /* the next pass uses streaming stores */
    bool timed;                   /* the next pass is to be timed */
    bool looked_at;               /* the last pass computed a residual or had fewer steps than others */
    int turn, warm;               /* turns done in this trial; passes done in this turn */
    int64_t step;                 /* passes since the trial began */
    double best_s[2];             /* [streaming], seconds of a step in the best pass of this trial */
    double found_s[2];            /* [streaming], best_s of the last complete trial; NaN: none is complete */
} stencil_stores_trial;

void stencil_stores_begin(stencil_stores_trial *trial, stencil_stores stores);

/* Records a finished pass whose steps took step_s seconds each (ignored unless trial->timed). looked_at: it
 * computed a residual or had fewer steps than others. */
void stencil_stores_note(stencil_stores_trial *trial, double step_s, bool looked_at);

/* Tells whether the last complete trial (else the next pass) chose streaming stores. */
bool stencil_stores_chosen(const stencil_stores_trial *trial);

/* Stores of results on a CPU: the number of threads that chose streaming stores at the end, and the time per
 * step of both ways in the best pass of the slowest thread; NaN if no trial was completed. */
typedef struct stencil_store_report {
    int threads, streaming_threads;
    double cached_step_s, streaming_step_s;
} stencil_store_report;
