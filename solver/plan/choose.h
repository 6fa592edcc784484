/* Choice of a plan where options leave it open: every possible strategy, sweep and number of devices, each
 * with the predicted time of its step. Pure, like plans. */
#pragma once

#include "solver/plan/model.h"
#include "solver/plan/plan.h"

enum { STENCIL_WHY_CHARS = 160 };

typedef struct stencil_candidate {
    stencil_run_options options; /* sync and sweep are set, not NULL */
    stencil_plan plan;
    bool possible;
    int order;               /* the lowest wins among candidates of equal time */
    stencil_cost cost;       /* predicted seconds of a step */
    int samples;             /* timings of the candidate's steps in this run; 0: it was not timed */
    double step_s, spread_s; /* median of the samples, half their interquartile range (of two the range) */
    char why[STENCIL_WHY_CHARS]; /* why the candidate was not chosen, or cannot run */
} stencil_candidate;

/* All candidates for a run: the fastest ones first, those that cannot run at the end. */
typedef struct stencil_choice {
    int count, possible, chosen;
    stencil_candidate *item; /* owned */
    stencil_run_options asked;
} stencil_choice;

/* Lists the candidates for all that `options` leave open and chooses the fastest. Open are sync and sweep
 * where they are NULL and, unless a cut, a halo or a fault is asked for, the number of different GPUs (the
 * first 1, 2, 4, … of them), and CPU or GPU where the device is not given. The CPU instead of a GPU, or fewer
 * GPUs than asked for, is chosen only where that gains a fifth, since predictions err, or where the field is
 * too small for so many parts. Errors: those of stencil_plan_make() if no candidate can run. */
stencil_status stencil_choice_make(stencil_choice *choice, const stencil_problem *problem,
                                   const stencil_run_options *options, const stencil_machine *machine);
void stencil_choice_destroy(stencil_choice *choice);
