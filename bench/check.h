/* Check of the plans that `auto` chooses on random problems against the fastest plan and the prediction. */
#pragma once

#include "solver/run/tune.h"

typedef struct stencil_check_options {
    int problems;
    uint64_t seed;           /* seed that determines the problems */
    stencil_run_options run; /* devices of the runs; sync and sweep unset */
    /* Called before each problem; false: ends the check. */
    bool (*progress)(void *context, int done, const char *problem);
    /* Called often, or NULL; false: ends the check and drops the current problem. */
    bool (*poll)(void *context);
    void *context;
} stencil_check_options;

typedef struct stencil_check_case {
    char problem[64];                  /* "j2d5pt float32 812x1203" */
    stencil_candidate chosen, fastest; /* plan chosen by auto; fastest of all plans, timed equally long */
    int plans;                         /* number of timed plans */
    int64_t steps;                     /* time steps of both runs, whose results are bitwise equal */
} stencil_check_case;

/* Runs every problem twice: with all plans timed alternately, and with the choice of `auto` for the same
 * number of steps, without wisdom. `machine` may be calibrated or not. Fills cases[options->problems] and
 * sets *count to the number of finished cases, which are valid after an error as well. Errors: INTERNAL where
 * the two results differ, INTERRUPTED by `progress` or `poll`, and those of a run. */
stencil_status stencil_check_choice(const stencil_check_options *options, stencil_machine *machine,
                                    stencil_check_case *cases, int *count);

/* Return the relative excess of the time of a step with the chosen plan over the fastest plan (loss) and over
 * the prediction (error): 0.01 is 1 %. */
double stencil_check_loss(const stencil_check_case *c);
double stencil_check_error(const stencil_check_case *c);
