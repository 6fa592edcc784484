/* Does auto choose well? On problems drawn at random, which no figure was made for, the plan that a run
 * without options takes is compared with the fastest of all plans, and its predicted time with its measured
 * one. */
#pragma once

#include "solver/run/tune.h"

typedef struct stencil_check_options {
    int problems;
    uint64_t seed;           /* of the problems: the same one, the same problems */
    stencil_run_options run; /* devices; sync and sweep are open */
    /* Called before each problem; false: no more. */
    bool (*progress)(void *context, int done, const char *problem);
    bool (*poll)(void *context); /* called all the time, or NULL; false: no more, the problem is left out */
    void *context;
} stencil_check_options;

typedef struct stencil_check_case {
    char problem[64]; /* "j2d5pt float32 812x1203" */
    stencil_candidate chosen,
        fastest;   /* by auto; of all that are possible, each timed as long as the others */
    int plans;     /* that were timed */
    int64_t steps; /* that each run has made; their results are equal to the bit */
} stencil_check_case;

/* Makes two runs of every problem: one in which all plans are timed in turns, one in which auto chooses as in
 * any run of that many steps, without wisdom. The machine is calibrated, or its figures are general ones.
 * Fills cases[options->problems]; *count says how many. INTERNAL: the two results differ; INTERRUPTED by
 * `progress` or `poll`; what a run fails with. Cases that were finished before are good. */
stencil_status stencil_check_choice(const stencil_check_options *options, stencil_machine *machine,
                                    stencil_check_case *cases, int *count);

/* Return how much longer a step takes than with the fastest plan, and than predicted: 0.01 is 1 %. */
double stencil_check_loss(const stencil_check_case *c);
double stencil_check_error(const stencil_check_case *c);
