/* Attribution of the time of a run: by its own clock for the parts around the steps, and for the steps by
 * batches made after it, whose results are thrown away: with parts left out (Xiao and Feng, IPDPS 2010,
 * section 4), and from inside, by the moments that the participants of the barrier note. */
#pragma once

#include "solver/attribution/timeline.h"
#include "solver/run/run.h"

/* T = t_O + M (t_C + t_S) for a batch of M steps, after Xiao and Feng; each time that of the quickest batch.
 */
typedef struct stencil_removal {
    int64_t steps;    /* M */
    double total_s;   /* T */
    double start_s;   /* t_O: the batch with neither compute nor barriers */
    double launch_s;  /* of it, what does not grow with M; the rest is the loop's own */
    double compute_s; /* t_C per step: the batch without barriers, less t_O; not the remainder */
    double barrier_s; /* t_S per step: the batch without compute, less t_O */
    double share;     /* p = M t_C / (T - t_O); 1 / p is the most that a perfect barrier could gain */
    double spread;    /* of T, relative: half of the distance of the quartiles over the median */
} stencil_removal;

/* A step in its parts. */
typedef struct stencil_step_times {
    double launch_s, compute_s, barrier_s; /* NaN: no model */
} stencil_step_times;

/* Time of a step in parts; a step is a pass where a sweep makes several at once, in the members, too. */
typedef struct stencil_attribution {
    int pass_steps; /* steps of a pass; 1: they are the same */
    stencil_removal removal;
    stencil_timeline timeline; /* what `inside` was found in */
    stencil_inside inside;
    stencil_step_times model;    /* the caller's; all NaN: there is none */
    double covered;              /* part of a step's time that its moments account for, at most 1 */
    double traced_s, untraced_s; /* per step: batches with moments, and the same without */
    double noted;                /* part of their steps that note moments */
    double noting_s;             /* by which such a step takes longer */
    double note_s;               /* of it, what was taken off the time between any two moments */
} stencil_attribution;

/* Attributes the time of a run that has made its steps and whose cells were read: what it holds is worthless
 * afterwards. Takes about `budget_s` of time, more where steps are long. INTERRUPTED by an observer; BAD_DATA
 * where the field does not stay finite; UNAVAILABLE; what a batch fails with. */
stencil_status stencil_attribute(stencil_run *run, const stencil_observers *observers, double budget_s,
                                 stencil_attribution *attribution);
void stencil_attribution_destroy(stencil_attribution *attribution);

/* Notes the moments of `steps` steps that follow each other, or of as many as the strategy can note. Fails as
 * stencil_attribute() does; *timeline is the caller's, with failures too. */
stencil_status stencil_attribution_record(stencil_run *run, const stencil_observers *observers, int steps,
                                          stencil_timeline *timeline);

/* Rows that the wall clock of a run is divided into. */
typedef enum stencil_time_row {
    STENCIL_TIME_START,  /* before the steps: machine, plan, memory, cells */
    STENCIL_TIME_SEARCH, /* plans timed in the run's first steps, changes from one to the other */
    STENCIL_TIME_LAUNCH,
    STENCIL_TIME_COMPUTE,
    STENCIL_TIME_LATENCY,   /* of barriers */
    STENCIL_TIME_IMBALANCE, /* at barriers */
    STENCIL_TIME_HALO,
    STENCIL_TIME_CHECKS, /* residual, decision, polls */
    STENCIL_TIME_FINISH, /* behind the steps: bound on the error, transfer, result */
    STENCIL_TIME_REST,   /* what is left over */
    STENCIL_TIME_ROWS
} stencil_time_row;

/* Times of a run by its own clock. */
typedef struct stencil_wall {
    double wall_s;  /* all of it */
    double start_s; /* before its steps */
    double race_s;  /* those of them in which plans were timed: 0 where one plan has made them all */
    double write_s;
} stencil_wall;

/* Seconds of each row; they add up to the wall clock. The time of the steps that its last plan has made (all
 * but those of the race) is divided as that of the batches was; what their moments do not account for is left
 * over. */
void stencil_attribution_divide(const stencil_attribution *attribution, const stencil_report *report,
                                const stencil_wall *wall, double row_s[STENCIL_TIME_ROWS]);

/* A step without its checks, as the moments show it: of who computes longest, and the rest of the step. */
stencil_step_times stencil_attribution_inside(const stencil_attribution *attribution);
