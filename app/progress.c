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
        .told = !quiet && !isatty(STDERR_FILENO),
        .line_s = stencil_clock_s(),
        .line_every_s = 60,
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

/* Notes residuals, from which the share that is done follows. */
static void note(progress *progress, double residual) {
    if (!isnan(residual))
        progress->residual = residual;
    if (isnan(progress->first_residual) && residual > 0)
        progress->first_residual = residual;
    if (isnan(progress->criterion_residual) && residual > 0)
        progress->criterion_residual = residual;
}

static progress_files look(const progress *progress) {
    progress_files files = {-1, -1, 0};
    if (progress->look != NULL)
        progress->look(progress->look_context, &files);
    return files;
}

/* Draws the bar: with the last files, and with residual and rate as far as 79 columns have room. */
static void draw(progress *progress, int64_t step, double done, const char *left, double cells_per_s) {
    enum { COLUMNS = 79 };
    const progress_files files = look(progress);
    char bar[BAR_CELLS + 1] = "", line[2 * COLUMNS] = "", residual[TEXT_SIZE] = "", rate[TEXT_SIZE];
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i < (int)(done * BAR_CELLS) ? '#' : '.';
    stencil_text_add(line, sizeof line, "[%s] %3.0f %%  ETA %s  step %" PRId64, bar, 100 * done, left, step);
    if (files.checkpoint >= 0)
        stencil_text_add(line, sizeof line, "  ckpt %" PRId64, files.checkpoint);
    if (files.frame >= 0)
        stencil_text_add(line, sizeof line, "  frame %" PRId64, files.frame);
    if (!isnan(progress->residual))
        snprintf(residual, sizeof residual, "  res %.1e", progress->residual);
    snprintf(rate, sizeof rate, "  %.3g Gcell/s", 1e-9 * cells_per_s);
    if (strlen(line) + strlen(residual) + strlen(rate) <= COLUMNS)
        stencil_text_add(line, sizeof line, "%s", residual);
    if (strlen(line) + strlen(rate) <= COLUMNS)
        stencil_text_add(line, sizeof line, "%s", rate);
    progress_line(line);
    progress->drawn = true;
}

static void print_line(const progress *progress, int64_t step, double done, const char *left, double now_s) {
    const progress_files files = look(progress);
    fprintf(stderr, "stencil: step %" PRId64 " of at most %" PRId64 ", %.0f %%, %s left", step,
            progress->problem->stop.steps, 100 * done, left);
    if (!isnan(progress->residual))
        fprintf(stderr, ", residual %.1e", progress->residual);
    if (files.checkpoint >= 0)
        fprintf(stderr, ", checkpoint of step %" PRId64 " %s ago", files.checkpoint,
                duration_text(now_s - files.checkpoint_s, (char[TEXT_SIZE]){""}));
    if (files.frame >= 0)
        fprintf(stderr, ", frame of step %" PRId64, files.frame);
    fputc('\n', stderr);
    fflush(stderr);
}

void progress_poll(progress *progress, int64_t step, double residual) {
    note(progress, residual);
    const double now_s = stencil_clock_s(), elapsed_s = now_s - progress->start_s;
    const int64_t done_steps = step - progress->problem->origin.steps;
    const bool draws = progress->shown && now_s - progress->drawn_s >= interval_s && elapsed_s >= interval_s,
               tells = progress->told && now_s - progress->line_s >= progress->line_every_s;
    if (done_steps <= 0 || !(draws || tells))
        return;
    const double done = done_fraction(progress, step),
                 cells = (double)stencil_problem_cells(progress->problem);
    char left[TEXT_SIZE] = "?";
    if (done > 0)
        duration_text(elapsed_s * (1 - done) / done, left);
    if (draws) {
        progress->drawn_s = now_s;
        draw(progress, step, done, left, cells * (double)done_steps / elapsed_s);
    } else {
        progress->line_s = now_s;
        print_line(progress, step, done, left, now_s);
    }
}

void progress_end(progress *progress) {
    if (progress->drawn)
        progress_line("");
    progress->drawn = false;
}
