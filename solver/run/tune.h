/* Race of the most promising plans for the quickest, in the first steps of the very run. All of them make the
 * same bits, so no step is lost. */
#pragma once

#include "solver/plan/choose.h"
#include "solver/run/run.h"

typedef enum stencil_effort {
    STENCIL_EFFORT_ESTIMATE,   /* what is predicted is good enough */
    STENCIL_EFFORT_MEASURE,    /* the best two or three are timed */
    STENCIL_EFFORT_PATIENT,    /* more of them, and longer */
    STENCIL_EFFORT_EXHAUSTIVE, /* all, however short the run */
    STENCIL_EFFORT_COUNT
} stencil_effort;
extern const char *const stencil_effort_names[STENCIL_EFFORT_COUNT + 1]; /* "estimate", …, NULL */

enum { STENCIL_RACE_MAX = STENCIL_SIDES_MAX, STENCIL_ROUNDS_MAX = 10 };

/* A candidate in the race: it makes some steps in every round, the first time a few to get warm. */
typedef struct stencil_racer {
    int candidate; /* of the choice */
    int64_t steps; /* in a round, at least */
    int samples;
    double sample[STENCIL_ROUNDS_MAX]; /* seconds of a step */
} stencil_racer;

typedef struct stencil_tune {
    stencil_choice *choice;
    const stencil_problem *problem;
    stencil_run *run; /* set by the caller when it is open */
    int count;        /* racers; 1: there is nothing to find out */
    stencil_racer racer[STENCIL_RACE_MAX];
    int turn, rounds; /* whose turn it is; rounds there are */
    double turn_s;    /* what a turn is to take */
    int64_t mark, next;
    double mark_s;
    bool done; /* every round was made, and the choice is what they have shown */
} stencil_tune;

/* Steps that the run will make, as far as that is known. */
double stencil_tune_steps(const stencil_problem *problem);

/* Gives the chosen candidate its plan for this very machine, or, where that fails, the next best one, and
 * decides which others are to be timed against it: none where the run is short, and so few that they take no
 * more than a part of it. What the plans fail with where none is possible. */
stencil_status stencil_tune_start(stencil_tune *tune, stencil_choice *choice, const stencil_problem *problem,
                                  stencil_machine *machine, stencil_effort effort);

/* The observer that does it. choice->chosen is the one that makes the steps at any time, in the end that with
 * the least sum of median and spread: one that is quicker by less than its noise is not preferred. */
stencil_observer stencil_tune_observer(stencil_tune *tune);

/* Says of every candidate that is possible and was not chosen why. */
void stencil_tune_explain(const stencil_tune *tune);
