/* Which plan to run where the options leave that open: every strategy, sweep and number of devices that is
 * possible, each with the time that the model predicts for its step. Pure, like the plans themselves. */
#pragma once

#include "solver/plan/model.h"
#include "solver/plan/plan.h"

enum { STENCIL_WHY_CHARS = 160 };

typedef struct stencil_candidate {
    stencil_run_options options; /* with a sync and a sweep */
    stencil_plan plan;
    bool possible;
    int order;                   /* among those that are as quick */
    stencil_cost cost;           /* predicted */
    int samples;                 /* of its steps in this run; 0: it was not timed */
    double step_s, spread_s;     /* of those: the median, and half of what lies between the quartiles; of less
                                    than three, what lies between all of them, or step_s */
    char why[STENCIL_WHY_CHARS]; /* it was not chosen, or cannot run */
} stencil_candidate;

/* Candidates, the quickest ones first, those that cannot run behind them. */
typedef struct stencil_choice {
    int count, possible, chosen;
    stencil_candidate *item; /* owned */
    stencil_run_options asked;
} stencil_choice;

/* All that `options` leave open: sync and sweep where they are NULL; and, unless a cut, a halo or a fault is
 * asked for, the first 1, 2, 4, … of several different GPUs, and the CPU where nobody says on which device.
 * The quickest is chosen; the CPU instead of a GPU, or fewer GPUs than asked for, only where that gains a
 * fifth, since predictions for two devices err apart, or where the field is too small for as many parts. What
 * the plan fails with where none is possible. */
stencil_status stencil_choice_make(stencil_choice *choice, const stencil_problem *problem,
                                   const stencil_run_options *options, const stencil_machine *machine);
void stencil_choice_destroy(stencil_choice *choice);
