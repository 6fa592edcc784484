/* The pieces that a batch of steps consists of, and the time that each takes, by cause: an account that is
 * made from batches says what another number of steps, launches and checks takes. Arithmetic only. */
#pragma once

#include "solver/attribution/timeline.h"

/* Causes that the time of steps is divided into. */
typedef enum stencil_cause {
    STENCIL_CAUSE_LAUNCH, /* until a launch, or a participant of it, begins, and after it ends */
    STENCIL_CAUSE_LOAD,   /* cells are loaded on chip, where they stay for a launch */
    STENCIL_CAUSE_COMPUTE,
    STENCIL_CAUSE_LATENCY,   /* latency of barriers */
    STENCIL_CAUSE_IMBALANCE, /* waits at barriers for later participants */
    STENCIL_CAUSE_HALO,
    STENCIL_CAUSE_CHECK, /* residuals (sum, combination), stopping decisions, polls */
    STENCIL_CAUSE_STORE, /* cells are stored that stayed on chip */
    STENCIL_CAUSES
} stencil_cause;

/* The pieces that steps consist of. */
typedef struct stencil_makeup {
    double batches;
    double launches;   /* launches of the time loop */
    double checks;     /* checked steps */
    double exits;      /* checked steps for which a persistent loop ends its launch */
    double passes;     /* passes of the time loop, without the steps of exits */
    double loop_steps; /* steps of these passes */
    double steps;      /* all steps */
} stencil_makeup;

/* Seconds of each batch, launch, exit, pass and step of a pass, by cause. */
typedef struct stencil_account {
    double batch_s[STENCIL_CAUSES], launch_s[STENCIL_CAUSES], exit_s[STENCIL_CAUSES], pass_s[STENCIL_CAUSES],
        step_s[STENCIL_CAUSES];
} stencil_account;

/* Sets cause_s[] to what steps of this makeup take, and returns the sum. */
double stencil_account_of(const stencil_account *account, const stencil_makeup *makeup,
                          double cause_s[STENCIL_CAUSES]);

/* Adds a mean pass of a timeline. full: only passes of `depth` steps were sampled, so that computation counts
 * by steps; 0: passes of all lengths were. */
void stencil_account_add_pass(stencil_account *account, const stencil_inside *inside, int full);

/* Adds what launches take beside their steps; made: makeup of the batches of `spans`, on average. Where an
 * exit ends a batch, what follows it is the same as between two launches. */
void stencil_account_add_spans(stencil_account *account, const stencil_spans *spans,
                               const stencil_makeup *made);
