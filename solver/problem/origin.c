#include "solver/problem/origin.h"

#include <math.h>
#include <string.h>

#include "solver/problem/digest.h"

/* Compares the cells with the digests of the spec. */
static stencil_status compare(const stencil_problem *problem, const stencil_reader *cells,
                              stencil_origin_arrays *arrays) {
    const stencil_spec *spec = &problem->spec;
    const bool present[] = {true, stencil_problem_sum_arrays(problem) > 0,
                            stencil_problem_has_classes(problem)};
    const bool has_u = spec->digest_u[0] != '\0', has_b = spec->digest_b[0] != '\0';
    const char *const wanted[] = {spec->digest_u, spec->digest_b, spec->digest_class};
    bool other[STENCIL_ARRAY_COUNT] = {false};
    if (!has_u && !has_b) {
        *arrays = STENCIL_ORIGIN_UNKNOWN;
        return STENCIL_OK;
    }
    /* Runs write all attributes of the origin or none, so a file with some has lost others. */
    *arrays = STENCIL_ORIGIN_LOST;
    if (!has_u || has_b != present[STENCIL_ARRAY_B] || spec->fingerprint[0] == '\0')
        return STENCIL_OK;
    for (int array = STENCIL_ARRAY_U; array < STENCIL_ARRAY_COUNT; array++) {
        char digest[STENCIL_DIGEST_CHARS] = "";
        if (present[array])
            TRY(stencil_digest_read(problem, (stencil_array)array, cells, digest));
        other[array] = (present[array] || array == STENCIL_ARRAY_CLASS) && strcmp(digest, wanted[array]) != 0;
    }
    *arrays = other[STENCIL_ARRAY_CLASS]                         ? STENCIL_ORIGIN_OTHER_CLASSES
              : other[STENCIL_ARRAY_U] && other[STENCIL_ARRAY_B] ? STENCIL_ORIGIN_OTHER_BOTH
              : other[STENCIL_ARRAY_U]                           ? STENCIL_ORIGIN_OTHER_U
              : other[STENCIL_ARRAY_B]                           ? STENCIL_ORIGIN_OTHER_SOURCE
                                                                 : STENCIL_ORIGIN_SAME;
    return STENCIL_OK;
}

stencil_status stencil_origin_check(stencil_problem *problem, const stencil_reader *cells) {
    stencil_origin_arrays arrays;
    if (problem->origin.steps == 0)
        return STENCIL_OK;
    TRY(compare(problem, cells, &arrays));
    return stencil_origin_take(problem, arrays);
}

stencil_status stencil_origin_take(stencil_problem *problem, stencil_origin_arrays arrays) {
    stencil_origin *origin = &problem->origin;
    const double time = problem->spec.time;
    if (origin->steps == 0)
        return STENCIL_OK;
    origin->arrays = arrays;
    if (origin->arrays == STENCIL_ORIGIN_SAME || origin->arrays == STENCIL_ORIGIN_UNKNOWN)
        return STENCIL_OK;
    stencil_history_destroy(&origin->history);
    *origin = (stencil_origin){.residual_first = NAN,
                               .time_first = isnan(time) ? 0.0 : time,
                               .check_every = origin->check_every,
                               .plain_from = -1,
                               .recounted = true,
                               .arrays = origin->arrays};
    return stencil_problem_resolve_time(problem);
}
