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
        .first_step = problem->origin.steps,
        .residual = NAN,
        .first_residual = NAN,
        .criterion_residual = problem->origin.residual_first,
    };
}

/* Done part of the run, 0 … 1. The residual of these iterations falls exponentially, so its logarithm tells
 * how far the tolerance is. */
static double done_fraction(const progress *progress, int64_t step) {
    const double all = (double)(progress->stop.steps - progress->first_step);
    const double steps = all > 0 ? (double)(step - progress->first_step) / all : 1.0;
    const double first = progress->first_residual, now = progress->residual;
    const double limit = fmax(progress->stop.atol, progress->stop.rtol * progress->criterion_residual);
    if (!(limit > 0) || !(now > 0) || !(first > limit) || !(now < first))
        return steps;
    const double fallen = log(first / now) / log(first / limit);
    return fallen > steps ? (fallen < 1 ? fallen : 1) : steps;
}

bool progress_poll(void *context, int64_t step, double residual) {
    progress *progress = context;
    if (!isnan(residual))
        progress->residual = residual;
    if (isnan(progress->first_residual) && residual > 0)
        progress->first_residual = residual;
    if (isnan(progress->criterion_residual) && residual > 0)
        progress->criterion_residual = residual;
    const double now_s = stencil_clock_s(), elapsed_s = now_s - progress->start_s;
    if (!progress->shown || step <= progress->first_step || now_s - progress->drawn_s < interval_s ||
        elapsed_s < interval_s)
        return true;
    progress->drawn_s = now_s;
    progress->drawn = true;
    const double done = done_fraction(progress, step);
    char bar[BAR_CELLS + 1] = "", left[32] = "?", of[32] = "";
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i < (int)(done * BAR_CELLS) ? '#' : '.';
    if (done > 0)
        text_duration(elapsed_s * (1 - done) / done, left);
    if (!isnan(progress->residual))
        snprintf(of, sizeof of, "  res %.1e", progress->residual);
    const double rate = (double)progress->updated_cells * (double)(step - progress->first_step) / elapsed_s;
    char line[160];
    snprintf(line, sizeof line, "[%s] %3.0f %%  ETA %s  step %" PRId64 "%s  %.3g Gcell/s", bar, 100 * done,
             left, step, of, 1e-9 * rate);
    /* 79 columns, so that no terminal wraps it. */
    fprintf(stderr, "\r%.79s\033[K", line);
    fflush(stderr);
    return true;
}

void progress_end(progress *progress) {
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
