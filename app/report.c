#include "app/report.h"

#include "solver/problem/cycle.h"
#include "solver/problem/spectrum.h"
#include "solver/plan/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Texts for why a run ended: for its report, and for the line about a failure, with step number and plural
 * "s". */
static const struct {
    const char *report, *failure;
} why[STENCIL_REASON_COUNT] = {
    [STENCIL_REASON_NONE] = {"not started", NULL},
    [STENCIL_REASON_FIXED_POINT] = {"fixed point, no cell changes any more",
                                    "no cell changes after step %" PRId64 ", but only by rounding"},
    [STENCIL_REASON_CONVERGED_RTOL] = {"converged (rtol)", NULL},
    [STENCIL_REASON_CONVERGED_ATOL] = {"converged (atol)", NULL},
    [STENCIL_REASON_DIVERGED] = {"diverged: the residual is not finite",
                                 "diverged: the residual is not finite at step %" PRId64},
    [STENCIL_REASON_INTERRUPTED] = {"interrupted", NULL},
    [STENCIL_REASON_STAGNATED] = {"stagnated, the residual falls no more",
                                  "stagnated after step %" PRId64 ": "},
    [STENCIL_REASON_STEPS] = {"all steps done", NULL},
    [STENCIL_REASON_CONVERGED_PRECISION] = {"converged as far as the precision resolves", NULL},
    [STENCIL_REASON_NOT_CONVERGED] = {"all steps done, not converged",
                                      "not converged in %" PRId64 " step%s: "},
};

static void print_residual(const run_record *run) {
    const stencil_report *report = &run->report;
    const stencil_stop *stop = &run->problem.stop;
    if (report->history.count == 0)
        return;
    PRINT("Residual", "%.6e (%s) at step %s%s", stencil_history_last(&report->history),
          stencil_norm_names[stop->norm], TEXT_COUNT(report->history.step[report->history.count - 1]),
          isnan(report->threshold) ? ""
                                   : TEXT(",\nlimit %.6e (%s, first residual %.3e)", report->threshold,
                                          REPORT_CRITERIA(stop), report->residual_first));
    if (report->reason == STENCIL_REASON_CONVERGED_PRECISION)
        PRINT("", "%s resolves %.6e (docs/stopping.md)", stencil_precision_name(run->problem.precision),
              report->resolution);
}

static void print_error(const run_record *run) {
    const stencil_error_bound *bound = &run->report.bound;
    if (!bound->known)
        return;
    const char *constant = stencil_spectrum_of(&run->problem).up_to_constant ? ", up to a constant" : "";
    /* A converged field that is as small as its error: the solution is 0, or a constant. The size of the
     * field at the start is known from the first residual. */
    if (bound->relative > STENCIL_UNSOLVED && run->report.reason == STENCIL_REASON_CONVERGED_RTOL &&
        bound->absolute < STENCIL_UNSOLVED * run->report.residual_first)
        PRINT("Error", "at most %.2g%s; the field %s", bound->absolute, constant,
              constant[0] != '\0' ? "is a constant but for that" : "is as small itself");
    else
        PRINT("Error", "at most %.2g (%.3g %% of the solution's size)%s%s%s", bound->absolute,
              100.0 * bound->relative, constant, bound->estimated ? ", by an estimate" : "",
              bound->relative > STENCIL_UNSOLVED ? ": not solved" : "");
}

static void print_stop(const run_record *run) {
    const stencil_report *report = &run->report;
    const stencil_stop *stop = &run->problem.stop;
    const char *const part = report->steps_before > 0 ? TEXT(", %s of them in this run",
                                                             TEXT_COUNT(stencil_report_steps_done(report)))
                                                      : "";
    PRINT("Steps", "%s of %s%s%s: %s", TEXT_COUNT(report->steps),
          stencil_stop_has_criterion(stop) ? "at most " : "", TEXT_COUNT(stop->steps), part,
          why[report->reason].report);
    if (run->problem.spec.kind == STENCIL_KIND_HEAT)
        PRINT("Time", "t = %.9g", stencil_problem_time(&run->problem, report->steps));
    print_residual(run);
    print_error(run);
}

void report_print_notes(run_record *run, int quiet) {
    for (int *i = &run->notes_shown; *i < run->notes.count; ++*i)
        if (quiet == 0)
            PRINT("Note", "%s", TEXT_ESCAPE(run->notes.line[*i]));
        else if (quiet == 1 && run->notes.warns[*i])
            fprintf(stderr, "stencil: %s: note: %s\n", TEXT_ESCAPE(run->output.input_path),
                    TEXT_ESCAPE(run->notes.line[*i]));
}

static void print_rates(const run_record *run) {
    const stencil_report *report = &run->report;
    if (stencil_report_steps_done(report) == 0 || report->compute_s <= 0)
        return;
    const int bytes = (int)stencil_precision_bytes(run->problem.precision);
    const double rate = 1e-9 * stencil_report_cells_per_s(report);
    PRINT("Time/step", "%s µs", TEXT_NUMBER(stencil_report_step_us(report)));
    PRINT("Rate", "%.4g Gcell/s", rate);
    report_print_used(run, 1e9 * rate);
    PRINT("Bandwidth",
          "%.4g GB/s effective = %.4g Gcell/s x %.4g bytes per cell\n(read u %d, write u %d%s%s%s)",
          1e-9 * stencil_report_bytes_per_s(report), rate, report->bytes_per_cell, bytes, bytes,
          stencil_problem_has_source(&run->problem) ? TEXT(", read b %d", bytes) : "",
          stencil_problem_has_fields(&run->problem) ? TEXT(", read faces %d", run->problem.rank * bytes) : "",
          run_record_plan(run)->depth > 1
              ? TEXT(", once in %.4g steps", stencil_sweep_pass_steps(run_record_plan(run), &run->problem))
              : "");
}

/* Prints whether CPU stores went through the cache or past it, where both were timed. */
static void print_stores(const stencil_store_report *stores) {
    if (stores->threads == 0 || isnan(stores->cached_step_s))
        return;
    const bool some = stores->streaming_threads > 0 && stores->streaming_threads < stores->threads;
    PRINT("Stores", "%s the cache%s (tried: %s µs per step past it, %s through it)",
          stores->streaming_threads > 0 ? "past" : "through",
          some ? TEXT(" by %d of %d threads", stores->streaming_threads, stores->threads) : "",
          TEXT_NUMBER(1e6 * stores->streaming_step_s), TEXT_NUMBER(1e6 * stores->cached_step_s));
}

/* Returns the decimals with which a time in seconds takes six characters at most, to fit a line. */
static int decimals(double seconds) {
    return seconds < 10 ? 3 : seconds < 1000 ? 1 : 0;
}

static void print_times(const run_record *run) {
    const stencil_report *r = &run->report;
    PRINT("Seconds", "read %.*f, prepare %.*f, compute %.*f, finish %.*f, write %.*f", decimals(r->read_s),
          r->read_s, decimals(r->prepare_s), r->prepare_s, decimals(r->compute_s), r->compute_s,
          decimals(r->finish_s), r->finish_s, decimals(run->write_s), run->write_s);
}

void report_print_result(const run_record *run, bool explain) {
    if (run->choice.tune.done)
        report_print_choice(run);
    print_stop(run);
    print_rates(run);
    print_stores(&run->report.stores);
    print_times(run);
    PRINT("Output", "%s", run->output.path != NULL ? TEXT_ESCAPE(run->output.path) : "none");
    if (explain)
        choice_print_reasons(&run->choice.choice);
}

/* Adds a note where the run ends before the requested time. */
static void note_time(const stencil_problem *problem, stencil_notes *notes) {
    const stencil_spec *spec = &problem->spec;
    const int64_t steps = problem->stop.steps, before = problem->origin.steps;
    const double end = stencil_problem_time(problem, steps);
    if (steps >= before && spec->time_end - end > 1e-6 * spec->dt)
        stencil_notes_warn(
            notes,
            "no whole number of steps of dt %s ends at t = %s: the run ends before it, at t = %.9g; %s",
            TEXT_SHORT(spec->dt), TEXT_REAL(spec->time_end), end,
            before > 0 ? "the steps before had that dt" : "leave dt out, and it ends there");
}

/* Adds what is known of a relaxation before its first step. */
static void note_prediction(const stencil_problem *problem, stencil_notes *notes) {
    const double steps = stencil_predicted_steps(problem);
    const stencil_spectrum spectrum = stencil_spectrum_of(problem);
    if (problem->cycle.length == 1 && stencil_contraction(problem) >= 1.0 &&
        problem->spec.omega * spectrum.most > 2.0 + 1e-12)
        stencil_notes_warn(notes, "this iteration is unstable: give --omega below %.6g", 2.0 / spectrum.most);
    else if (isnan(problem->stop.rtol))
        return;
    else if (isinf(steps) || stencil_keeps_checkerboard(problem))
        stencil_notes_warn(notes,
                           "with omega %g the mode with alternating signs does not shrink: try --omega 0.9",
                           problem->spec.omega);
    else if (steps > (double)problem->stop.steps)
        stencil_notes_add(notes, "the predicted steps are more than the limit of %s: raise --steps, or rtol",
                          TEXT_COUNTED(problem->stop.steps, "step"));
}

/* Adds notes where acceleration (a cycle of damping) differs from that in the options or the input file. */
static void note_cycle(const stencil_problem *problem, const stencil_spec *file, stencil_notes *notes) {
    const stencil_spec *spec = &problem->spec;
    const stencil_stop *stop = &problem->stop;
    if (problem->cycle.length == 1 && spec->kind == file->kind && strcmp(file->accelerate, "none") != 0 &&
        file->accelerate[0] != '\0' && spec->omega != 1.0)
        stencil_notes_add(notes, "--omega %g: plain steps, where the file asks for accelerate %s",
                          spec->omega, file->accelerate);
    if (problem->cycle.length > 1 && !isnan(file->omega) && file->omega != 1.0)
        stencil_notes_add(notes, "--accelerate: the file's omega %g has no effect", file->omega);
    if (spec->steps >= 0 && stop->steps != spec->steps)
        stencil_notes_warn(notes, "%s become %s: whole cycles of %d", TEXT_COUNTED(spec->steps, "step"),
                           TEXT_COUNT(stop->steps), problem->cycle.length);
    if (spec->check_every > 0 && stop->check_every != spec->check_every)
        stencil_notes_add(notes, "the residual is checked every %s, not every %s: at ends of cycles of %d",
                          TEXT_COUNTED(stop->check_every, "step"), TEXT_COUNT(spec->check_every),
                          problem->cycle.length);
}

void report_note_start(run_record *run, const stencil_spec *file) {
    const stencil_problem *problem = &run->problem;
    stencil_notes *notes = &run->notes;
    note_cycle(problem, file, notes);
    if (stencil_problem_relaxes(problem))
        note_prediction(problem, notes);
    if (problem->spec.kind == STENCIL_KIND_HEAT)
        note_time(problem, notes);
}

static const char *stagnation_text(const run_record *run) {
    const stencil_problem *problem = &run->problem;
    switch (run->report.stagnation) {
    case STENCIL_STAGNATION_GROWTH:
        return "it grows: the iteration is unstable, give smaller weights or omega";
    case STENCIL_STAGNATION_SOURCE:
        return "no axis is fixed and the source has a mean other than 0: there is no solution";
    case STENCIL_STAGNATION_MODE:
        return "these weights have a mode that neither shrinks nor grows";
    case STENCIL_STAGNATION_CHECKERBOARD:
#define CHECKERBOARD "the mode with alternating signs (checkerboard) does not shrink"
        return problem->spec.kind == STENCIL_KIND_HEAT ? CHECKERBOARD ": give a smaller --dt"
               : stencil_problem_relaxes(problem)      ? CHECKERBOARD ": try --omega 0.9"
                                                       : CHECKERBOARD " with these weights";
    default:
        return problem->precision == STENCIL_FLOAT32 ? "float32 resolves no less: --precision float64 does"
                                                     : "float64 resolves no less";
    }
}

/* Adds a note on subnormal numbers, which slow CPUs down: they are not flushed to 0, so that all devices give
 * equal bits. */
static void note_subnormal(run_record *record) {
    static const double few = 0.01;
    const bool wide = record->problem.precision == STENCIL_FLOAT64;
    if (record->report.subnormal > few)
        stencil_notes_warn(
            &record->notes,
            "%.0f %% of all cells are subnormal numbers (below %s), which slow a CPU down several "
            "times: %s a larger scale of the field and its source; a GPU is not slowed",
            100 * record->report.subnormal, wide ? "2.2e-308" : "1.2e-38",
            wide ? "give" : "give --precision float64, or");
}

void report_note_end(run_record *run) {
    const stencil_report *report = &run->report;
    stencil_notes *notes = &run->notes;
    const bool finished =
        report->reason != STENCIL_REASON_STEPS && report->reason != STENCIL_REASON_NOT_CONVERGED;
    if (stencil_report_steps_done(report) == 0 && report->steps > 0)
        stencil_notes_add(notes, "no step was made: %s asks for %s",
                          finished ? "the file is a finished result; a smaller --rtol or --atol"
                          : isnan(run->problem.spec.time_end) ? "the file has all its steps; --steps"
                                                              : "the file has all its steps; --time",
                          finished ? "better" : "more");
    if (report->estimate_refuted)
        stencil_notes_warn(notes,
                           "the residual fell more slowly than the estimated eigenvalues allow: there is no "
                           "bound on the error");
    if (report->reason == STENCIL_REASON_STAGNATED)
        stencil_notes_add(notes, "the residual falls no more: %s", stagnation_text(run));
    if (report->reason == STENCIL_REASON_FIXED_POINT && !report->reached)
        stencil_notes_add(
            notes,
            "no cell changes any more, yet only because %s rounds the changes away: %sa larger rtol "
            "stops before",
            stencil_precision_name(run->problem.precision),
            run->problem.precision == STENCIL_FLOAT32 ? "--precision float64 goes on, " : "");
    if (report->reason == STENCIL_REASON_CONVERGED_ATOL && report->bound.known &&
        report->bound.relative > 0.01)
        stencil_notes_warn(notes,
                           "atol is met far from the solution, since u' - u shrinks with spacing and omega: "
                           "--rtol limits the error");
    if (report->reason == STENCIL_REASON_CONVERGED_ATOL && !stencil_problem_relaxes(&run->problem))
        stencil_notes_warn(
            notes,
            "atol is met, since a step changes less than that%s; that says nothing about how much "
            "is left to change: --rtol compares with the first change",
            run->problem.spec.kind == STENCIL_KIND_HEAT ? ", the less the smaller dt is" : "");
    const bool solved = report->bound.known && report->bound.relative <= STENCIL_UNSOLVED;
    if (report->lost.change > 0 && !solved)
        stencil_notes_warn(
            notes,
            "every change is rounded away: a step would change cells by up to %.3g, which %s does not "
            "resolve beside values of %.3g%s",
            report->lost.change, stencil_precision_name(run->problem.precision), report->lost.value,
            run->problem.precision == STENCIL_FLOAT32 ? "; --precision float64 does" : "");
    note_subnormal(run);
}

void report_print_failure(const run_record *run) {
    const stencil_report *report = &run->report;
    const char *failure = why[report->reason].failure;
    fprintf(stderr, "stencil: %s: ", TEXT_ESCAPE(run->output.input_path));
    if (failure != NULL)
        fprintf(stderr, failure, report->steps, stencil_plural(report->steps));
    if (report->reason == STENCIL_REASON_STAGNATED)
        fputs(stagnation_text(run), stderr);
    const stencil_estimate *estimate = &run->problem.estimate;
    const double bound = estimate->known ? estimate->most : stencil_spectrum_bound(&run->problem);
    if (report->reason == STENCIL_REASON_DIVERGED && stencil_problem_relaxes(&run->problem) &&
        run->problem.cycle.length == 1 && run->problem.spec.omega * bound > 2.0)
        fprintf(stderr, "; try --omega %.2f", report_omega(bound));
    if (report->reason == STENCIL_REASON_NOT_CONVERGED) {
        if (isnan(stencil_history_last(&report->history))) /* no residual was computed yet */
            fprintf(stderr, "no residual yet");
        else
            fprintf(stderr, "residual %g", stencil_history_last(&report->history));
        fprintf(stderr, ", limit %s", REPORT_CRITERIA(&run->problem.stop));
    }
    if (run->output.path != NULL)
        fprintf(stderr, "; %s holds that step", TEXT_ESCAPE(run->output.path));
    fputc('\n', stderr);
}
