/* Notes about steps of earlier runs that an input file counts. */
#include "app/report.h"

#include <math.h>

#include "app/text.h"
#include "inputs/inputs.h"

/* Adds notes where digests, checked as a run reads cells, show that arrays were changed. */
static void note_arrays(const stencil_problem *problem, stencil_notes *notes) {
    const char *source = stencil_source_names[problem->spec.source],
               *field = stencil_spec_field(&problem->spec),
               *steps = TEXT_COUNTED(problem->spec.steps_total, "step"),
               *time = problem->spec.kind == STENCIL_KIND_HEAT ? ", time goes on" : "";
    switch (problem->origin.arrays) {
    case STENCIL_ORIGIN_OTHER_U:
    case STENCIL_ORIGIN_OTHER_SOURCE:
    case STENCIL_ORIGIN_OTHER_BOTH:
        stencil_notes_warn(notes, "%s%s%s changed after the file's %s: steps count from 0 again%s",
                           problem->origin.arrays == STENCIL_ORIGIN_OTHER_SOURCE ? source : field,
                           problem->origin.arrays == STENCIL_ORIGIN_OTHER_BOTH ? TEXT(" and %s", source) : "",
                           problem->origin.arrays == STENCIL_ORIGIN_OTHER_BOTH ? " were" : " was", steps,
                           time);
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
                           "the file's %s had other weights, size, boundary, time step, source factor, "
                           "precision or norm: steps count from 0 again",
                           TEXT_COUNTED(problem->spec.steps_total, "step"));
    else if (origin->steps > 0 && origin->steps < problem->stop.steps)
        stencil_notes_add(notes, "the file holds step %s, from which the run goes on, to step %s at most",
                          TEXT_COUNT(origin->steps), TEXT_COUNT(problem->stop.steps));
    if (origin->steps > 0 && isnan(origin->residual_first) && !isnan(problem->stop.rtol))
        stencil_notes_warn(notes,
                           "no earlier run had a criterion: rtol is relative to the residual of step %s",
                           TEXT_COUNT(origin->steps + 1));
}
