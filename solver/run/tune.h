/* A race of the most promising plans in the first steps of a run, all of which count. */
#pragma once

#include "solver/plan/choose.h"
#include "solver/run/run.h"

typedef enum stencil_effort {
    STENCIL_EFFORT_ESTIMATE,   /* uses the plan with the best prediction */
    STENCIL_EFFORT_MEASURE,    /* times the best two to four plans */
    STENCIL_EFFORT_PATIENT,    /* times up to twelve plans, and for longer */
    STENCIL_EFFORT_EXHAUSTIVE, /* times all plans, however short the run is */
    STENCIL_EFFORT_COUNT
} stencil_effort;
extern const char *const stencil_effort_names[STENCIL_EFFORT_COUNT + 1]; /* "estimate", …, NULL */

enum { STENCIL_RACE_MAX = STENCIL_SIDES_MAX, STENCIL_ROUNDS_MAX = 10 };

/* A candidate in the race. It makes some steps in each round, and in the first round a few to warm up. */
typedef struct stencil_racer {
    int candidate; /* index of the candidate in stencil_choice */
    int64_t steps; /* minimum number of steps that the candidate makes in a round */
    int samples;
    double sample[STENCIL_ROUNDS_MAX]; /* seconds per step, a value per round */
} stencil_racer;

typedef struct stencil_tune {
    stencil_choice *choice;
    const stencil_problem *problem;
    stencil_run *run; /* the caller sets the run after opening it */
    int count;        /* number of racers; 1: there is no race */
    stencil_racer racer[STENCIL_RACE_MAX];
    int turn, rounds; /* turn: index of the racer that makes the steps now; rounds: number of rounds */
    double turn_s;    /* seconds that the steps of a racer in a round should take */
    int64_t mark, next;
    double mark_s;
    bool done; /* the race is over, and the choice is its winner */
} stencil_tune;

/* Returns the number of steps that the run will make, as far as it can be predicted. */
double stencil_tune_steps(const stencil_problem *problem);

/* Plans the chosen candidate for this machine or, if that fails, the next best one. Selects the other
 * candidates to time; except with STENCIL_EFFORT_EXHAUSTIVE none if the run is short, and only so many that
 * the race takes a small part of the run. Errors: those of the plans if no plan is possible. */
stencil_status stencil_tune_start(stencil_tune *tune, stencil_choice *choice, const stencil_problem *problem,
                                  stencil_machine *machine, stencil_effort effort);

/* Returns the observer that holds the race. choice->chosen is always the candidate that makes the current
 * steps, finally that with the smallest sum of median and spread: a lead within noise does not win. */
stencil_observer stencil_tune_observer(stencil_tune *tune);

/* Writes for each possible candidate why it was not chosen (candidate.why). */
void stencil_tune_explain(const stencil_tune *tune);
