/* Progress bar on stderr: only on a terminal, drawn at most ten times a second, erased at the end. */
#pragma once

#include "solver/problem/problem.h"

typedef struct progress {
    bool shown; /* a bar is wanted and possible */
    bool drawn; /* a bar is on the terminal now */
    const stencil_problem *problem;
    double start_s, drawn_s;         /* clock: start of computing, last drawing */
    double residual, first_residual; /* last and first residual of this run; NaN: none yet */
    double criterion_residual;       /* residual that rtol is relative to, if known */
} progress;

/* Tells whether progress may be shown: stderr is a terminal, NO_COLOR is not set, TERM is not "dumb". */
bool progress_possible(void);

/* Starts a progress bar, which is shown where progress_possible() and not `quiet`. `problem` has to outlive
 * the bar. */
void progress_start(progress *progress, const stencil_problem *problem, bool quiet);

/* Draws the progress bar, at most ten times a second. `residual`: last one checked; NaN: none since the last
 * call. */
void progress_poll(progress *progress, int64_t step, double residual);

/* Erases the bar. */
void progress_end(progress *progress);

/* Show a line of progress in place of the last one, cut to 79 columns, so that no terminal wraps it; ""
 * erases it. progress_say() shows it only where progress_possible() and not `quiet`. */
void progress_line(const char *text);
void progress_say(bool quiet, const char *text);
