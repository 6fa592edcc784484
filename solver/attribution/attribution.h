/* Attribution of the time of a run to causes. The run's clock measures all but the steps. For the steps,
 * batches are made after the run: some leave out parts of a step (Xiao and Feng, IPDPS 2010, section 4), in
 * others the participants of the barrier record time stamps. */
#pragma once

#include "solver/attribution/account.h"
#include "solver/run/run.h"

/* Model T = t_O + M (t_C + t_S) of a batch of M steps, after Xiao and Feng, from the quickest batches. */
typedef struct stencil_removal {
    int64_t steps;    /* M, number of steps */
    double total_s;   /* T, time of the complete batch */
    double start_s;   /* t_O, time of a batch with neither computation nor barriers */
    double launch_s;  /* part of start_s that does not grow with M */
    double compute_s; /* t_C, per step: time of a batch without barriers, less t_O */
    double barrier_s; /* t_S, per step: time of a batch without computation, less t_O */
    double share;  /* p = M t_C / (T - t_O); 1 / p is the largest speedup that a perfect barrier could give */
    double spread; /* relative spread of T: half of the interquartile range over the median */
} stencil_removal;

/* Seconds of a step, divided into launch, computation and barrier. */
typedef struct stencil_step_times {
    double launch_s, compute_s, barrier_s; /* NaN: not predicted */
} stencil_step_times;

/* Time of a step by cause. Where a sweep makes passes of several steps, a step means a pass. */
typedef struct stencil_attribution {
    int pass_steps; /* number of steps in a pass */
    stencil_removal removal;
    stencil_timeline timeline; /* timeline that `inside` was computed from */
    stencil_inside inside;
    stencil_account account;
    stencil_makeup made;            /* makeup of the batches with checks, per round */
    double cause_s[STENCIL_CAUSES]; /* seconds of a step in such batches, with as many checks as in the run */
    double step_s;                  /* sum of cause_s */
    stencil_step_times model;       /* prediction, set by the caller; NaN: there is none */
    double covered; /* sum of all parts of a batch over the time of a batch without time stamps */
    int64_t check_every, run_check_every; /* steps from check to check in batches, and in the run */
    double traced_s, untraced_s;          /* seconds per step of batches with and without time stamps */
    double noted;    /* fraction of the steps of traced batches that record time stamps */
    double noting_s; /* seconds by which recording makes a step longer */
    double note_s;   /* part of noting_s that was subtracted from the interval between any two time stamps */
} stencil_attribution;

/* Attributes the time of a run whose steps are done and whose result was read; destroys the cells of the run.
 * Takes about `budget_s` seconds, longer if steps are long. Errors: INTERRUPTED by an observer; BAD_DATA if
 * the field does not stay finite; UNAVAILABLE if clocks cannot be compared; those of a batch. */
stencil_status stencil_attribute(stencil_run *run, const stencil_observers *observers, double budget_s,
                                 stencil_attribution *attribution);
void stencil_attribution_destroy(stencil_attribution *attribution);

/* Records the time stamps of `steps` consecutive steps, or of as many as the strategy can record. Errors:
 * those of stencil_attribute(). The caller must destroy *timeline after success and failure. */
stencil_status stencil_attribution_record(stencil_run *run, const stencil_observers *observers, int steps,
                                          stencil_timeline *timeline);

/* Categories that the wall-clock time of a run is divided into. */
typedef enum stencil_time_row {
    STENCIL_TIME_START,  /* time before the steps: machine, plan, memory, cells */
    STENCIL_TIME_SEARCH, /* race of plans in the run's first steps, and changes between plans */
    STENCIL_TIME_CAUSES, /* the first of STENCIL_CAUSES rows, of the steps of the last plan */
    STENCIL_TIME_SLOWER = (int)STENCIL_TIME_CAUSES + (int)STENCIL_CAUSES, /* time by which passes take longer
                                                                      than those that have time stamps */
    STENCIL_TIME_FINISH, /* time after the steps: bound on the error, transfer, result */
    STENCIL_TIME_ROWS
} stencil_time_row;

/* Times of a run, measured by the caller's clock. */
typedef struct stencil_wall {
    double wall_s;  /* wall-clock time of the whole run */
    double start_s; /* seconds before the steps */
    double race_s;  /* seconds of the steps that raced plans; 0: there was one plan */
    int64_t race_steps;
    double write_s;
} stencil_wall;

/* Returns the seconds that the steps of the run's last plan would take by the batches, with as many launches
 * and checks as the run had. cause_s[]: their sums by cause, which may be more or less by a.covered. */
double stencil_attribution_predict(const stencil_attribution *attribution, const stencil_report *report,
                                   const stencil_wall *wall, double cause_s[STENCIL_CAUSES]);

/* Divides the wall-clock time of a run into row_s[], in seconds. The steps of the last plan are divided in
 * the proportions of stencil_attribution_predict(). */
void stencil_attribution_divide(const stencil_attribution *attribution, const stencil_report *report,
                                const stencil_wall *wall, double row_s[STENCIL_TIME_ROWS]);

/* Returns the parts of a step without its checks, from the time stamps: launch, computation of the slowest
 * participant, and the remainder as barrier. */
stencil_step_times stencil_attribution_inside(const stencil_attribution *attribution);
