/* Whether the results of a CPU sweep go through the cache or past it, where the size of the fields does not
 * say: tried with the first steps of the run. Both ways give the same bits, so no step is lost. Internal to
 * solver/. */
#pragma once

#include "solver/problem.h"
#include "solver/run.h"

/* Each way has so many turns, in alternation; the best step of each counts, so that a fault has to hit
 * all turns of a way to matter. After so many steps they are tried again, since a cache is shared with
 * others. */
enum { STENCIL_STORES_TURNS = 3, STENCIL_STORES_AGAIN = 8192 };

/* Steps of a turn before the one that is timed: they bring the cache into the state that this way leaves. One
 * that just holds the fields gets hold of them again in four. */
enum { STENCIL_STORES_WARM_CACHED = 4, STENCIL_STORES_WARM_STREAMING = 1 };
enum {
    STENCIL_STORES_STEPS =
        STENCIL_STORES_TURNS * (STENCIL_STORES_WARM_CACHED + 1 + STENCIL_STORES_WARM_STREAMING + 1)
};

/* What one thread finds out with its own rows, in two lines of a cache, as they are fetched in pairs. */
typedef struct stencil_stores_trial {
    _Alignas(128) bool streaming; /* the way of the next step */
    bool timed;                   /* the next step may count: its time is wanted */
    bool looked_at;               /* the last step was */
    int turn, warm;               /* turns done; steps done in this one */
    int64_t step;                 /* since the trial began */
    double best_s[2];             /* of this trial, [streaming] */
    double found_s[2];            /* of the last one that came to an end; NaN: none has */
} stencil_stores_trial;

/* Decides by size: for `threads` threads that share (or each have) a last-level cache of cache_bytes, 0 where
 * that is unknown. */
stencil_stores stencil_stores_choose(const stencil_problem *problem, int threads, int64_t cache_bytes);

void stencil_stores_begin(stencil_stores_trial *trial, stencil_stores stores);

/* A step was made that took step_s (any number unless trial->timed); looked_at: with its residual. */
void stencil_stores_note(stencil_stores_trial *trial, double step_s, bool looked_at);

/* The way that was chosen last, whatever is tried just now. */
bool stencil_stores_chosen(const stencil_stores_trial *trial);
