/* What a run must give, step by step: all states and residuals of a trial by the plain reference, and where a
 * stop rule ends it. */
#ifndef STENCIL_TESTS_TRACE_H
#define STENCIL_TESTS_TRACE_H

#include "solver/run/report.h"
#include "solver/problem/problem.h"

struct trial;

/* States of a run of `steps` steps, up to the last one that somebody asked for. */
typedef struct trace {
    const struct trial *trial;
    int64_t steps, made;
    size_t state_bytes;
    char *state;                          /* [steps + 1] arrays, owned */
    double *residual[STENCIL_NORM_COUNT]; /* [steps + 1], owned; entry s belongs to step s, entry 0 unused */
} trace;

/* A trace of up to `steps` steps of a trial, which outlives it, with the initial values alone: trial_expect()
 * makes the steps of the runs that are drawn. Freed by trace_destroy. */
void trace_begin(trace *trace, const struct trial *trial, int64_t steps);
/* Makes the steps up to one that have not been made. */
void trace_reach(trace *trace, int64_t step);
/* A trace with all of its steps. */
void trace_make(trace *trace, const struct trial *trial, int64_t steps);
void trace_destroy(trace *trace);

/* The state after step s. */
const void *trace_state(const trace *trace, int64_t step);

/* Whether the residual of step s is looked at in a run that looks every `check_every` steps and ends after
 * `end`. */
bool trace_looks_at(int64_t step, int64_t check_every, int64_t end);

/* A stop rule; rtol and atol NAN: no such limit. The first residual counts as first_least at least. */
typedef struct trace_stop {
    int64_t steps, check_every; /* steps <= trace->steps */
    stencil_norm norm;
    double rtol, atol, first_least;
} trace_stop;

/* How a run ends: the step after which it stops, and why. */
typedef struct trace_end {
    int64_t step;
    stencil_reason reason;
} trace_end;

/* Where a run with this stop rule ends. */
trace_end trace_find_end(const trace *trace, const trace_stop *stop);

#endif
