/* What has to be known of a relaxation's cells before its first step: whether it has a solution, and its
 * eigenvalues where they do not follow from the box. */
#include "library/inside.h"

#include "base/words.h"
#include "solver/problem/bounds.h"
#include "solver/problem/cycle.h"
#include "solver/problem/pockets.h"

static bool has_pockets(const stencil_problem *problem) {
    return stencil_problem_relaxes(problem) && problem->coefficients == STENCIL_COEFFICIENTS_NONE &&
           !stencil_problem_is_separable(problem);
}

bool stencil_study_reads_source(const stencil_problem *problem) {
    return has_pockets(problem) && problem->spec.source != STENCIL_SOURCE_NONE;
}

static stencil_status refuse(const stencil_problem *problem, const stencil_pockets *found) {
    char at[96] = "";
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(at, sizeof at, "%s%lld", at[0] != '\0' ? ", " : "", (long long)found->first[axis]);
    FAIL(BAD_DATA,
         "cells around u[%s] are joined to no fixed cell and to no wall that exchanges, and a step adds %.3g "
         "to "
         "their mean: there is no solution; fix one of them, or let source and fluxes add up to 0",
         at, found->gain);
}

stencil_status stencil_plan_study(stencil_plan_t *plan, bool other_source) {
    stencil_problem *problem = &plan->problem;
    const stencil_reader cells = {stencil_arrays_read, &plan->arrays};
    const bool criterion = stencil_stop_has_criterion(&problem->stop),
               searches = has_pockets(problem) && (!plan->studied || (criterion && other_source));
    stencil_pockets found = {0};
    if (searches)
        TRY(stencil_pockets_find(problem, &cells, &found));
    if (found.unsolvable > 0 && criterion)
        return refuse(problem, &found);
    const bool estimates = stencil_problem_relaxes(problem) && !plan->studied && found.count == 0 &&
                           problem->coefficients == STENCIL_COEFFICIENTS_NONE &&
                           stencil_bounds_are_estimated(problem) &&
                           (criterion || stencil_cycle_accelerates(&problem->cycle));
    if (estimates) {
        TRY(stencil_bounds_estimate(problem, &cells, STENCIL_BOUNDS_UPDATES));
        TRY(stencil_cycle_take_estimate(problem));
    }
    plan->studied = true;
    return STENCIL_OK;
}
