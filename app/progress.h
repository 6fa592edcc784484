/* The progress bar on stderr: only on a terminal, at most ten times a second, gone at the end. */
#pragma once

#include "solver/problem/problem.h"

typedef struct progress {
    bool shown; /* a bar is wanted here */
    bool drawn; /* one stands on the terminal */
    stencil_stop stop;
    int64_t updated_cells;
    double start_s, drawn_s;         /* clock: start of computing, last drawing */
    int64_t first_step;              /* made before */
    double residual, first_residual; /* the last one, the first one of this run; NaN: none seen */
    double criterion_residual;       /* that rtol is relative to, as far as it is known */
} progress;

/* Tells whether progress may be shown: stderr is a terminal, NO_COLOR is not set, TERM is not "dumb". */
bool progress_possible(void);

/* A bar is shown where progress_possible() and not `quiet`. */
void progress_start(progress *progress, const stencil_problem *problem, bool quiet);

/* Draws, at most ten times a second. `residual`: the last one checked, NaN: none of late. */
void progress_poll(progress *progress, int64_t step, double residual);

/* Erases the bar. */
void progress_end(progress *progress);

/* The line of such a bar, in place of the one before; cut to 79 columns, so that no terminal wraps it. "":
 * erased. The second one shows it where progress_possible() and not `quiet`. */
void progress_line(const char *text);
void progress_say(bool quiet, const char *text);
