/* What the report says of the end of a run: limits, prediction, reason, error. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "app/report.h"
#include "base/words.h"

double report_last_residual(const stencil_report *report) {
    return report->history_count > 0 ? report->residual[report->history_count - 1] : NAN;
}

/* "rtol 1e-08", "atol 1e-06", "rtol 1e-08, atol 1e-06". */
static const char *criteria_text(const stencil_stop *stop, char text[96]) {
    if (!isnan(stop->rtol))
        stencil_text_add(text, 96, "rtol %g", stop->rtol);
    if (!isnan(stop->atol))
        stencil_text_add(text, 96, "%satol %g", text[0] != '\0' ? ", " : "", stop->atol);
    return text;
}
#define CRITERIA(stop) criteria_text(stop, (char[96]){""})

void report_print_prediction(FILE *out, const stencil_problem *problem) {
    const double steps = stencil_predicted_steps(problem);
    if (isnan(steps) || isinf(steps))
        return;
    report_print_entry(out, "Predicted", "%s%s steps to rtol %g; each takes %.2g of the error away",
                       steps < 1e15 ? "" : "more than ", TEXT_COUNT((int64_t)fmin(steps, 1e15)),
                       problem->stop.rtol, 1.0 - stencil_contraction(problem));
}

void report_print_limits(FILE *out, const stencil_stop *stop) {
    const bool criterion = stencil_stop_has_criterion(stop);
    report_print_entry(out, "Steps", "%s%s%s\nresidual every %s step%s", criterion ? "at most " : "",
                       TEXT_COUNT(stop->steps),
                       criterion ? TEXT(", until the residual (%s) is under %s",
                                        stencil_norm_names[stop->norm], CRITERIA(stop))
                                 : "",
                       TEXT_COUNT(stop->check_every), stencil_plural(stop->check_every));
}

/* Why a run ended: in its report, and in the line about what went wrong, with the step and "s" for more. */
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
    [STENCIL_REASON_NOT_CONVERGED] = {"all steps done, not converged",
                                      "not converged in %" PRId64 " step%s: "},
};

static void print_residual(FILE *out, const run_record *run) {
    const stencil_report *report = &run->report;
    const stencil_stop *stop = &run->problem.stop;
    if (report->history_count == 0)
        return;
    report_print_entry(
        out, "Residual", "%.6e (%s) at step %s%s", report_last_residual(report),
        stencil_norm_names[stop->norm], TEXT_COUNT(report->residual_step[report->history_count - 1]),
        isnan(report->threshold) ? ""
                                 : TEXT(",\nlimit %.6e (%s, first residual %.3e)", report->threshold,
                                        CRITERIA(stop), report->residual_first));
}

/* From which part of the solution on an error is no approximation any more. */
static const double unsolved = 0.1;

static void print_error(FILE *out, const run_record *run) {
    const stencil_error_bound *bound = &run->report.bound;
    if (!bound->known)
        return;
    const char *constant = stencil_spectrum_of(&run->problem).up_to_constant ? ", up to a constant" : "";
    /* A field that has shrunk as asked and is as small as its error: the solution is 0, or a constant. */
    if (bound->relative > unsolved && run->report.reason == STENCIL_REASON_CONVERGED_RTOL)
        report_print_entry(out, "Error", "at most %.2g%s; the field is as small itself", bound->absolute,
                           constant);
    else
        report_print_entry(out, "Error", "at most %.2g (%.3g %% of the solution's size)%s%s", bound->absolute,
                           100.0 * bound->relative, constant,
                           bound->relative > unsolved ? ": not solved" : "");
}

void report_print_stop(FILE *out, const run_record *run) {
    const stencil_report *report = &run->report;
    const stencil_stop *stop = &run->problem.stop;
    const char *const part = report->steps_before > 0 ? TEXT(", %s of them in this run",
                                                             TEXT_COUNT(stencil_report_steps_done(report)))
                                                      : "";
    report_print_entry(out, "Steps", "%s of %s%s%s: %s", TEXT_COUNT(report->steps),
                       stencil_stop_has_criterion(stop) ? "at most " : "", TEXT_COUNT(stop->steps), part,
                       why[report->reason].report);
    print_residual(out, run);
    print_error(out, run);
}

static void note_prediction(const stencil_problem *problem, stencil_notes *notes) {
    const double steps = stencil_predicted_steps(problem);
    const stencil_spectrum spectrum = stencil_spectrum_of(problem);
    if (isinf(steps) && problem->spec.omega * spectrum.most > 2.0 + 1e-12)
        stencil_notes_add(notes, "this iteration is unstable: give --omega below %.6g", 2.0 / spectrum.most);
    else if (isinf(steps))
        stencil_notes_add(notes,
                          "with omega %g the mode with alternating signs does not shrink: try --omega 0.9",
                          problem->spec.omega);
    else if (steps > (double)problem->stop.steps)
        stencil_notes_add(notes,
                          "the predicted steps are more than the limit of %s step%s: raise --steps, or rtol",
                          TEXT_COUNT(problem->stop.steps), stencil_plural(problem->stop.steps));
}

void report_note_start(run_record *run) {
    const stencil_problem *problem = &run->problem;
    stencil_notes *notes = &run->notes;
    const stencil_origin *origin = &problem->origin;
    if (origin->recounted)
        stencil_notes_add(notes,
                          "the file's %s step%s had other weights, size, boundary, time step, source factor, "
                          "precision or norm: steps count from 0 again",
                          TEXT_COUNT(problem->spec.steps_total), stencil_plural(problem->spec.steps_total));
    else if (origin->steps > 0 && origin->steps < problem->stop.steps)
        stencil_notes_add(notes, "the file holds step %s, from which the run goes on, to step %s at most",
                          TEXT_COUNT(origin->steps), TEXT_COUNT(problem->stop.steps));
    if (origin->steps > 0 && isnan(origin->residual_first) && !isnan(problem->stop.rtol))
        stencil_notes_add(notes,
                          "no earlier run had a criterion: rtol is relative to the residual of step %s",
                          TEXT_COUNT(origin->steps + 1));
    if (stencil_problem_relaxes(problem) && !isnan(problem->stop.rtol))
        note_prediction(problem, notes);
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

void report_note_end(run_record *run) {
    const stencil_report *report = &run->report;
    stencil_notes *notes = &run->notes;
    if (stencil_report_steps_done(report) == 0 && report->steps > 0)
        stencil_notes_add(
            notes, report->reason == STENCIL_REASON_STEPS || report->reason == STENCIL_REASON_NOT_CONVERGED
                       ? "no step was made: the file has all its steps; --steps asks for more"
                       : "no step was made: the file is a finished result; a smaller --rtol or --atol "
                         "asks for better");
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
        stencil_notes_add(notes,
                          "atol is met far from the solution, since u' - u shrinks with spacing and omega: "
                          "--rtol limits the error");
}

void report_print_failure(FILE *out, const run_record *run) {
    const stencil_report *report = &run->report;
    const char *failure = why[report->reason].failure;
    fprintf(out, "stencil: %s: ", TEXT_ESCAPE(run->input));
    fprintf(out, failure != NULL ? failure : "interrupted after step %" PRId64, report->steps,
            stencil_plural(report->steps));
    if (report->reason == STENCIL_REASON_STAGNATED)
        fputs(stagnation_text(run), out);
    if (report->reason == STENCIL_REASON_NOT_CONVERGED) {
        if (isnan(report_last_residual(report))) /* no step, no residual */
            fprintf(out, "no residual yet");
        else
            fprintf(out, "residual %g", report_last_residual(report));
        fprintf(out, ", limit %s", CRITERIA(&run->problem.stop));
    }
    if (run->output != NULL)
        fprintf(out, "; %s holds that step", TEXT_ESCAPE(run->output));
    fputc('\n', out);
}
