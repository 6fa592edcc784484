/* What the tests of test_conformance share. */
#pragma once

#include "trial.h"

enum { MATRIX_STEPS = 7, STOP_STEPS = 150, LONG_STEPS = 2000 };
enum { MATRIX_ONE_OF = 48, PASSES_ONE_OF = 12, STOPS_ONE_OF = 4 }; /* runs on a CPU, see trial_run */

typedef struct conformance {
    stencil_machine machine;
    stencil_backend backend;
    int turn; /* of thread counts and residual settings */
} conformance;
extern conformance here;

/* One cell of the matrix: a point set in a precision; boundary and size vary inside. */
typedef struct subject {
    const stencil_shape *shape;
    stencil_precision precision;
} subject;

bool runs_here(int strategy);
/* Tells whether the trial of this number is made in this precision: on a GPU each is, else see draw.h. */
bool is_made(const subject *s, int number);
/* The next run: thread counts, machine and residual settings (`pair`) take turns. */
trial_run run_of(int strategy, int64_t steps, int pair);
/* Passes of sweeps that make several steps have any depth. */
void set_sweep(trial_run *r, int sweep);
/* One sweep after the other, of those that the problem has. */
void set_some_sweep(const trial *t, trial_run *r);
/* A trial with all strategies and sweeps. */
void run_trial(const trial *t);

/* Tests of conformance_passes.c; state: a subject. */
void cycles(void **state);
void accelerated(void **state);
void deep_passes(void **state);
void wide_fields(void **state);
void solid_fields(void **state);
void resident_fields(void **state);
void resident_solids(void **state);

/* Tests of conformance_classes.c; state: a subject. */
void fixed_cells(void **state);
void class_cells(void **state);
void walls(void **state);
void wide_rows(void **state);
void in_time(void **state);
void sums_in_time(void **state);
void deep_classes(void **state);

/* Runs a trial with each strategy and sweep, and each depth in turn; the trace has ALL_STEPS steps. */
enum { ALL_STEPS = 40 };
void expect_all(const trial *t, trace *trace);

/* Runs an accelerated trial with each strategy and some sweep, in whole cycles of `length` steps. */
void expect_cycles(const trial *t, trace *trace, int64_t length, int64_t steps);
void fixed_accelerated(void **state);

/* Tests of conformance_coefficients.c; state: a subject. */
void coefficients(void **state);
void coefficients_accelerated(void **state);

/* Tests of conformance_subnormal.c; state: a subject. */
void subnormal(void **state);

/* Tests of conformance_ends.c; state: a subject. */
void tolerance_midway(void **state);
void continued(void **state);
void divergence(void **state);
void interrupted(void **state);
void observed(void **state);
void plain_ends(void **state);
