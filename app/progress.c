#include "app/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/text.h"

static const double interval_s = 0.1;
enum { BAR_CELLS = 10 };

bool progress_possible(void) {
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && (no_color == NULL || no_color[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

void progress_start(progress *progress, const stencil_problem *problem, bool quiet) {
    *progress = (struct progress){
        .shown = !quiet && progress_possible(),
        .stop = problem->stop,
        .updated_cells = stencil_problem_updated_cells(problem),
        .start_s = stencil_clock_s(),
        .first_residual = NAN,
    };
}

/* Done part of the run, 0 … 1. The residual of these iterations falls exponentially, so its logarithm tells
 * how far the tolerance is. */
static double done_fraction(const progress *progress, int64_t step, double residual) {
    const double steps = progress->stop.steps > 0 ? (double)step / (double)progress->stop.steps : 1.0;
    const double tolerance = progress->stop.tolerance, first = progress->first_residual;
    if (!(tolerance > 0) || !(residual > 0) || !(first > tolerance) || !(residual < first))
        return steps;
    const double fallen = log(first / residual) / log(first / tolerance);
    return fallen > steps ? (fallen < 1 ? fallen : 1) : steps;
}

void progress_tick(void *context, int64_t step, double residual) {
    progress *progress = context;
    if (isnan(progress->first_residual) && residual > 0)
        progress->first_residual = residual;
    const double now_s = stencil_clock_s(), elapsed_s = now_s - progress->start_s;
    if (!progress->shown || step <= 0 || now_s - progress->drawn_s < interval_s || elapsed_s < interval_s)
        return;
    progress->drawn_s = now_s;
    progress->drawn = true;
    const double done = done_fraction(progress, step, residual);
    char bar[BAR_CELLS + 1] = "", left[32] = "?", of[32] = "";
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i < (int)(done * BAR_CELLS) ? '#' : '.';
    if (done > 0)
        text_duration(elapsed_s * (1 - done) / done, left);
    if (!isnan(residual))
        snprintf(of, sizeof of, "  res %.1e", residual);
    const double rate = (double)progress->updated_cells * (double)step / elapsed_s;
    char line[160];
    snprintf(line, sizeof line, "[%s] %3.0f %%  ETA %s  step %" PRId64 "%s  %.3g Gcell/s", bar, 100 * done,
             left, step, of, 1e-9 * rate);
    /* 79 columns, so that no terminal wraps it. */
    fprintf(stderr, "\r%.79s\033[K", line);
    fflush(stderr);
}

void progress_end(progress *progress) {
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
