/* Notes where a problem may differ from what its author meant, and about steps of earlier runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report.h"
#include "app/text.h"
#include "solver/problem/bounds.h"
#include "solver/problem/cycle.h"
#include "solver/problem/pockets.h"
#include "solver/problem/spectrum.h"

/* Returns the factor from the equation's source to its term in a step: dt for heat, omega / S for
 * relaxations; 0 for given weights. */
static double source_factor(const stencil_spec *spec) {
    const double sum = stencil_spec_diagonal(spec), omega = isnan(spec->omega) ? 1.0 : spec->omega;
    if (spec->kind == STENCIL_KIND_NONE)
        return 0.0;
    if (spec->kind != STENCIL_KIND_HEAT)
        return omega / sum;
    stencil_spec plain = *spec; /* without walls, which lower the largest dt */
    memset(plain.wall, 0, sizeof plain.wall);
    return isnan(spec->dt) ? stencil_spec_dt_largest(&plain) : spec->dt;
}

/* Adds a note where options change the factor that dataset /b includes. */
static void note_other_step(const stencil_spec *spec, const stencil_spec *file, stencil_notes *notes) {
    const double factor = source_factor(spec), before = source_factor(file);
    const double ratio = before / factor;
    const bool heat = spec->kind == STENCIL_KIND_HEAT;
    /* A dt that is not given is chosen so that it divides time_end. */
    stencil_spec open = *spec;
    open.dt = NAN;
    const bool divides =
        heat && isnan(file->dt) && spec->time_end == file->time_end && source_factor(&open) == before;
    if (divides || before == 0.0 || heat != (file->kind == STENCIL_KIND_HEAT) || fabs(ratio - 1.0) < 1e-9)
        return;
    stencil_notes_warn(notes,
                       "%s: /b is added as it is all the same, a source %s times as strong as the file's",
                       heat ? TEXT("dt is %s, the file's %s", TEXT_SHORT(factor), TEXT_SHORT(before))
                            : "spacing or omega is not the file's",
                       TEXT_NUMBER(ratio));
}

void report_note_source(run_record *run, const stencil_spec *file) {
    static const char *const meant[] = {
        [STENCIL_KIND_LAPLACE] = "spacing and omega: a right-hand side is given as /f, with problem poisson",
        [STENCIL_KIND_POISSON] = "spacing and omega: the right-hand side of the equation is given as /f",
        [STENCIL_KIND_HEAT] = "dt: a rate, a value per time, is given as /q",
    };
    const stencil_spec *spec = &run->problem.spec;
    if (spec->driven_count > 0 && run->problem.driven == 0)
        stencil_notes_warn(
            &run->notes,
            "/fixed_value has no effect: no cell that keeps its value, by /fixed or the boundary, "
            "has a number in it");
    if (spec->kind == STENCIL_KIND_POISSON && spec->source == STENCIL_SOURCE_NONE)
        stencil_notes_warn(&run->notes, "poisson without /f: this is Laplace's equation");
    if (spec->kind == STENCIL_KIND_NONE || spec->source != STENCIL_SOURCE_B)
        return;
    stencil_notes_warn(&run->notes, "/b is added as it is in every step, whose meaning depends on %s",
                       meant[spec->kind]);
    note_other_step(spec, file, &run->notes);
}

double report_omega(double most) {
    return fmax(floor(100.0 * (2.0 / most) - 1e-9) / 100.0, 0.01);
}

/* Estimates the eigenvalues of a problem without pockets where no box has them. */
static stencil_status estimate(run_record *record, const stencil_reader *cells) {
    stencil_problem *problem = &record->problem;
    const stencil_estimate *found = &problem->estimate;
    if (!stencil_bounds_are_needed(problem))
        return STENCIL_OK;
    TRY(stencil_bounds_estimate(problem, cells, STENCIL_BOUNDS_UPDATES));
    if (found->known)
        stencil_notes_add(
            &record->notes,
            "the least eigenvalue is about %.2g, an estimate by %d steps of Lanczos' method (%.2g s): "
            "a bound on the error, and predicted steps, rest on it",
            found->least, found->steps, found->seconds);
    else
        stencil_notes_add(
            &record->notes,
            "the least eigenvalue is not known (%d steps of Lanczos' method, %.2g s): there is no bound "
            "on the error",
            found->steps, found->seconds);
    return text_name_file(stencil_cycle_take_estimate(problem), record->output.input_path);
}

/* Adds a note where walls that exchange through cells make an iteration grow, or may do so. */
static void note_growth(run_record *record) {
    const stencil_problem *problem = &record->problem;
    const stencil_estimate *estimate = &problem->estimate;
    const double omega = problem->spec.omega, bound = stencil_spectrum_bound(problem);
    if (!stencil_problem_relaxes(problem) || problem->cycle.length > 1)
        return;
    if (estimate->known && omega * estimate->seen > 2.0 + 1e-5)
        stencil_notes_warn(
            &record->notes,
            "this iteration grows: an eigenvalue is %.4g or more, and omega %g times that above "
            "2: try --omega %.2f",
            estimate->seen, omega, report_omega(estimate->most));
    else if (!estimate->known && bound >= 2.1 && omega * bound > 2.0)
        stencil_notes_warn(&record->notes,
                           "walls exchange-node may make this iteration grow: if it does, try --omega %.2f",
                           report_omega(bound));
}

static stencil_status note_pockets(run_record *record, const stencil_reader *cells) {
    const stencil_problem *problem = &record->problem;
    stencil_pockets *of = &record->pockets;
    char at[80] = "", why[STENCIL_POCKETS_CHARS];
    if (stencil_pockets_are_possible(problem))
        TRY(stencil_pockets_find(problem, cells, of));
    const stencil_pockets found = *of;
    if (found.count == 0)
        return estimate(record, cells);
    if (problem->origin.steps > 0 || stencil_problem_is_separable(problem)) /* report_note_outlook() has it */
        return STENCIL_OK;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(at, sizeof at, "[%lld]", (long long)found.first[axis]);
    stencil_pockets_tell(problem, &found, stencil_spec_field(&problem->spec), why);
    CHECK(found.unsolvable == 0 || !stencil_stop_has_criterion(&problem->stop), BAD_DATA,
          "'%s': %s; fix one of them, or let source and fluxes add up to 0", record->output.input_path, why);
    if (found.unsolvable > 0)
        stencil_notes_warn(&record->notes, "%s", why);
    else
        stencil_notes_warn(&record->notes,
                           "%lld cells, in %lld pocket%s (the first one around %s%s), are joined to no fixed "
                           "cell and to no wall that exchanges: their mean stays what it is",
                           (long long)found.cells, (long long)found.count, stencil_plural(found.count),
                           stencil_spec_field(&problem->spec), at);
    return STENCIL_OK;
}

/* Refuses a box without a fixed axis whose source does not add up to 0, or adds a note without a criterion;
 * not where the residual that each step leaves for that is under the limit. */
static stencil_status check_source(run_record *record, const stencil_outlook *outlook, double limit) {
    const stencil_problem *problem = &record->problem;
    const stencil_pockets *pockets = &record->pockets;
    const bool rows = problem->coefficients != STENCIL_COEFFICIENTS_NONE;
    const double omega = problem->spec.omega,
                 floor = fabs(rows ? pockets->gain : outlook->source_mean * omega),
                 mean = rows ? pockets->sum / (double)pockets->cells : outlook->source_mean * omega;
    const char *source = stencil_source_name(problem);
    char why[STENCIL_POCKETS_CHARS];
    if (!(rows ? pockets->unsolvable > 0 : outlook->unsolvable) || floor < 0.5 * limit)
        return STENCIL_OK;
    snprintf(why, sizeof why, "no axis is fixed and %s has the mean %g, not 0: there is no solution", source,
             mean / problem->source_scale);
    if (rows && problem->spec.source == STENCIL_SOURCE_B) /* which counts by the faces of a cell */
        stencil_pockets_tell(problem, pockets, stencil_spec_field(&problem->spec), why);
    CHECK(!stencil_stop_has_criterion(&problem->stop), BAD_DATA,
          "'%s': %s; subtract the mean from it, or fix an axis", record->output.input_path, why);
    stencil_notes_warn(&record->notes, "%s, and each step moves the whole field", why);
    return STENCIL_OK;
}

stencil_status report_note_pockets(run_record *record, const stencil_reader *cells) {
    TRY(note_pockets(record, cells));
    note_growth(record);
    return STENCIL_OK;
}

stencil_status report_note_outlook(run_record *record, const stencil_reader *cells) {
    const stencil_problem *problem = &record->problem;
    const stencil_stop *stop = &problem->stop;
    stencil_outlook outlook;
    if (!stencil_problem_relaxes(problem) || problem->origin.steps > 0 ||
        !stencil_problem_is_separable(problem))
        return STENCIL_OK;
    TRY(stencil_outlook_of(problem, cells, &outlook));
    const double limit = fmax(stop->rtol * outlook.first, stop->atol);
    TRY(check_source(record, &outlook, limit));
    const double resolution = stencil_resolution(problem, outlook.size);
    if (limit < resolution && outlook.first > 0)
        stencil_notes_warn(
            &record->notes,
            "the limit of the residual, %.2g, is below what %s resolves in such a field, %.2g: the run "
            "ends there%s",
            limit, stencil_precision_name(problem->precision), resolution,
            problem->precision == STENCIL_FLOAT32 ? "; --precision float64 goes on" : "");
    return STENCIL_OK;
}

const char *report_changed_arrays(const stencil_problem *problem, char text[REPORT_ARRAYS]) {
    const stencil_origin_arrays arrays = problem->origin.arrays;
    const bool both = arrays == STENCIL_ORIGIN_OTHER_BOTH;
    const char *source = stencil_source_name(problem),
               *first = arrays == STENCIL_ORIGIN_OTHER_U || both ? stencil_spec_field(&problem->spec)
                        : arrays == STENCIL_ORIGIN_OTHER_SOURCE  ? source
                        : arrays == STENCIL_ORIGIN_OTHER_CLASSES ? stencil_spec_classes(&problem->spec)
                                                                 : "";
    snprintf(text, REPORT_ARRAYS, "%s%s%s", first, both ? " and " : "", both ? source : "");
    return text;
}

stencil_status report_check_numbers(const char *path, const stencil_spec *spec,
                                    const stencil_history *history, const stencil_provenance *made) {
    bool same;
    TRY(stencil_input_same_numbers(spec, history, made, &same));
    CHECK(
        same, BAD_DATA,
        "'%s' is damaged, or was changed: its numbers (steps_total, residual_first, /residual and the like) "
        "are not those that a run has written (digest_numbers)",
        path);
    return STENCIL_OK;
}

/* Adds notes where digests, checked as a run reads cells, show that arrays were changed. */
static void note_arrays(const stencil_problem *problem, stencil_notes *notes) {
    const char *source = stencil_source_name(problem), *field = stencil_spec_field(&problem->spec),
               *steps = TEXT_COUNTED(problem->spec.steps_total, "step"),
               *time = problem->spec.kind == STENCIL_KIND_HEAT ? ", time goes on" : "";
    char changed[REPORT_ARRAYS];
    switch (problem->origin.arrays) {
    case STENCIL_ORIGIN_OTHER_U:
    case STENCIL_ORIGIN_OTHER_SOURCE:
    case STENCIL_ORIGIN_OTHER_BOTH:
    case STENCIL_ORIGIN_OTHER_CLASSES:
        stencil_notes_warn(notes, "%s %s changed after the file's %s: steps count from 0 again%s",
                           report_changed_arrays(problem, changed),
                           problem->origin.arrays == STENCIL_ORIGIN_OTHER_BOTH ? "were" : "was", steps, time);
        break;
    case STENCIL_ORIGIN_LOST:
        stencil_notes_warn(
            notes,
            "of digest_u, digest_b and fingerprint, which a run writes, the file has some and "
            "others not, so nobody knows what its %s were made with: they count from 0 again%s",
            steps, time);
        break;
    case STENCIL_ORIGIN_UNKNOWN:
        stencil_notes_warn(
            notes,
            "the file has no digests (as results of version 0.2.0), so a change of %s%s%s after "
            "its %s cannot be seen: where there was one, remove the attribute steps_total",
            field, stencil_problem_has_source(problem) ? " or " : "",
            stencil_problem_has_source(problem) ? source : "", steps);
        break;
    default:
        break;
    }
}

void report_note_origin(run_record *run) {
    const stencil_problem *problem = &run->problem;
    const stencil_origin *origin = &problem->origin;
    stencil_notes *notes = &run->notes;
    note_arrays(problem, notes);
    if (origin->recounted && origin->arrays == STENCIL_ORIGIN_UNCHECKED)
        stencil_notes_warn(notes,
                           "the file's %s had other weights,%s size, boundary, time step, source factor, "
                           "table over time, precision or norm: steps count from 0 again",
                           TEXT_COUNTED(problem->spec.steps_total, "step"),
                           problem->spec.has_k ? " coefficients," : "");
    else if (origin->steps > 0 && origin->steps < problem->stop.steps)
        stencil_notes_add(notes, "the file holds step %s, from which the run goes on, to step %s at most",
                          TEXT_COUNT(origin->steps), TEXT_COUNT(problem->stop.steps));
    if (origin->steps > 0 && isnan(origin->residual_first) && !isnan(problem->stop.rtol))
        stencil_notes_warn(notes,
                           "no earlier run had a criterion: rtol is relative to the residual of step %s",
                           TEXT_COUNT(origin->steps + 1));
}
