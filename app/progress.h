/* Progress on stderr: on a terminal a bar, drawn at most ten times a second and erased at the end; elsewhere
 * a line a minute, for the logs of batch systems. */
#pragma once

#include "solver/problem/problem.h"

/* Files that a run has left so far: steps of the last ones, -1 where there is none. */
typedef struct progress_files {
    int64_t checkpoint, frame;
    double checkpoint_s; /* clock when that checkpoint was complete */
} progress_files;

typedef struct progress {
    bool shown;                                         /* a bar is wanted and possible */
    bool told;                                          /* lines are wanted, and there is no terminal */
    double line_s, line_every_s;                        /* clock of the last line, seconds between lines */
    void (*look)(void *context, progress_files *files); /* tells what files there are; NULL: none */
    void *look_context;
    bool drawn; /* a bar is on the terminal now */
    const stencil_problem *problem;
    double start_s, drawn_s;         /* clock: start of computing, last drawing */
    double residual, first_residual; /* last and first residual of this run; NaN: none yet */
    double criterion_residual;       /* residual that rtol is relative to, if known */
} progress;

/* Tells whether progress may be shown: stderr is a terminal, NO_COLOR is not set, TERM is not "dumb". */
bool progress_possible(void);

/* Starts progress: a bar where progress_possible(), lines where stderr is no terminal, neither where `quiet`.
 * `problem` has to outlive it. */
void progress_start(progress *progress, const stencil_problem *problem, bool quiet);

/* Draws the progress bar, at most ten times a second, or prints a line, once a minute. `residual`: last one
 * checked; NaN: none since the last call. */
void progress_poll(progress *progress, int64_t step, double residual);

/* Erases the bar. */
void progress_end(progress *progress);

/* Show a line of progress in place of the last one, cut to 79 columns, so that no terminal wraps it; ""
 * erases it. progress_say() shows it only where progress_possible() and not `quiet`. */
void progress_line(const char *text);
void progress_say(bool quiet, const char *text);
