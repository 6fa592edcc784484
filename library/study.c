/* The study of a relaxation's cells before its first step finds out whether there is a solution, and
 * estimates eigenvalues where they do not follow from the box. */
#include "library/inside.h"

#include "solver/problem/bounds.h"
#include "solver/problem/cycle.h"
#include "solver/problem/pockets.h"

bool stencil_study_reads_source(const stencil_problem *problem) {
    return stencil_pockets_are_possible(problem) && problem->spec.source != STENCIL_SOURCE_NONE;
}

stencil_status stencil_plan_study(stencil_plan_t *plan, bool other_source) {
    stencil_problem *problem = &plan->problem;
    const stencil_reader cells = {stencil_arrays_read, &plan->arrays};
    const bool criterion = stencil_stop_has_criterion(&problem->stop),
               searches =
                   stencil_pockets_are_possible(problem) && (!plan->studied || (criterion && other_source));
    stencil_pockets found = {0};
    char why[STENCIL_POCKETS_CHARS] = "";
    if (searches)
        TRY(stencil_pockets_find(problem, &cells, &found));
    if (found.unsolvable > 0)
        stencil_pockets_tell(problem, &found, "u", why);
    CHECK(found.unsolvable == 0 || !criterion, BAD_DATA,
          "%s; fix one of them, or let source and fluxes add up to 0", why);
    if (!plan->studied && found.count == 0 && stencil_bounds_are_needed(problem)) {
        TRY(stencil_bounds_estimate(problem, &cells, STENCIL_BOUNDS_UPDATES));
        TRY(stencil_cycle_take_estimate(problem));
    }
    plan->studied = true;
    return STENCIL_OK;
}
