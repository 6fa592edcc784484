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
        .problem = problem,
        .start_s = stencil_clock_s(),
        .residual = NAN,
        .first_residual = NAN,
        .criterion_residual = problem->origin.residual_first,
    };
}

/* Returns the share of a run that is done, 0 … 1. Residuals fall exponentially with steps, so their logarithm
 * tells how far the tolerance is. */
static double done_fraction(const progress *progress, int64_t step) {
    const stencil_stop *stop = &progress->problem->stop;
    const int64_t before = progress->problem->origin.steps;
    const double steps =
        stop->steps > before ? (double)(step - before) / (double)(stop->steps - before) : 1.0;
    const double first = progress->first_residual, now = progress->residual;
    const double limit = fmax(stop->atol, stop->rtol * progress->criterion_residual);
    if (!(limit > 0) || !(now > 0) || !(first > limit) || !(now < first))
        return steps;
    const double fallen = log(first / now) / log(first / limit);
    return fallen > steps ? (fallen < 1 ? fallen : 1) : steps;
}

/* Returns a duration: "4.2 µs", "12 ms", "3.42 s", "2 min 05 s", "3 h 20 min", "12 days", "3.17 years". */
static const char *duration_text(double seconds, char text[TEXT_SIZE]) {
    const long whole = (long)(seconds < 1e9 ? seconds + 0.5 : 1e9);
    if (seconds < 0.9995e-3)
        snprintf(text, TEXT_SIZE, "%.3g µs", 1e6 * seconds);
    else if (seconds < 0.9995)
        snprintf(text, TEXT_SIZE, "%.3g ms", 1e3 * seconds);
    else if (seconds < 99.5)
        snprintf(text, TEXT_SIZE, "%.3g s", seconds);
    else if (whole < 3600)
        snprintf(text, TEXT_SIZE, "%ld min %02ld s", whole / 60, whole % 60);
    else if (whole < 172800)
        snprintf(text, TEXT_SIZE, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
    else
        snprintf(text, TEXT_SIZE, seconds < 1e8 ? "%.0f days" : "%.3g years",
                 seconds / (seconds < 1e8 ? 86400 : 31556952));
    return text;
}

void progress_line(const char *text) {
    fprintf(stderr, "\r%.79s\033[K", text);
    fflush(stderr);
}

void progress_say(bool quiet, const char *text) {
    if (!quiet && progress_possible())
        progress_line(text);
}

void progress_poll(progress *progress, int64_t step, double residual) {
    if (!isnan(residual))
        progress->residual = residual;
    if (isnan(progress->first_residual) && residual > 0)
        progress->first_residual = residual;
    if (isnan(progress->criterion_residual) && residual > 0)
        progress->criterion_residual = residual;
    const double now_s = stencil_clock_s(), elapsed_s = now_s - progress->start_s;
    const int64_t done_steps = step - progress->problem->origin.steps;
    if (!progress->shown || done_steps <= 0 || now_s - progress->drawn_s < interval_s ||
        elapsed_s < interval_s)
        return;
    progress->drawn_s = now_s;
    progress->drawn = true;
    const double done = done_fraction(progress, step);
    char bar[BAR_CELLS + 1] = "", left[TEXT_SIZE] = "?";
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i < (int)(done * BAR_CELLS) ? '#' : '.';
    if (done > 0)
        duration_text(elapsed_s * (1 - done) / done, left);
    const double cells = (double)stencil_problem_cells(progress->problem),
                 rate = cells * (double)done_steps / elapsed_s;
    progress_line(TEXT("[%s] %3.0f %%  ETA %s  step %" PRId64 "%s  %.3g Gcell/s", bar, 100 * done, left, step,
                       isnan(progress->residual) ? "" : TEXT("  res %.1e", progress->residual), 1e-9 * rate));
}

void progress_end(progress *progress) {
    if (progress->drawn)
        progress_line("");
    progress->drawn = false;
}
