#include "solver/problem/origin.h"

#include <math.h>
#include <string.h>

#include "solver/problem/digest.h"

static stencil_status differs(const stencil_problem *problem, stencil_array array,
                              const stencil_reader *cells, bool *found) {
    const char *wanted = array == STENCIL_ARRAY_U ? problem->spec.digest_u : problem->spec.digest_b;
    char digest[STENCIL_DIGEST_CHARS];
    TRY(stencil_digest_read(problem, array, cells, digest));
    *found = strcmp(digest, wanted) != 0;
    return STENCIL_OK;
}

/* Compares the cells with the digests of the spec. */
static stencil_status compare(const stencil_problem *problem, const stencil_reader *cells,
                              stencil_origin_arrays *arrays) {
    const stencil_spec *spec = &problem->spec;
    const bool source = spec->source != STENCIL_SOURCE_NONE;
    const bool has_u = spec->digest_u[0] != '\0', has_b = spec->digest_b[0] != '\0';
    bool other_u = false, other_b = false;
    if (!has_u && !has_b) {
        *arrays = STENCIL_ORIGIN_UNKNOWN;
        return STENCIL_OK;
    }
    /* A run writes all attributes of the origin or none. */
    *arrays = STENCIL_ORIGIN_LOST;
    if (!has_u || has_b != source || spec->fingerprint[0] == '\0')
        return STENCIL_OK;
    TRY(differs(problem, STENCIL_ARRAY_U, cells, &other_u));
    if (source)
        TRY(differs(problem, STENCIL_ARRAY_B, cells, &other_b));
    *arrays = other_u && other_b ? STENCIL_ORIGIN_OTHER_BOTH
              : other_u          ? STENCIL_ORIGIN_OTHER_U
              : other_b          ? STENCIL_ORIGIN_OTHER_SOURCE
                                 : STENCIL_ORIGIN_SAME;
    return STENCIL_OK;
}

stencil_status stencil_origin_check(stencil_problem *problem, const stencil_reader *cells) {
    stencil_origin *origin = &problem->origin;
    const double time = problem->spec.time;
    if (origin->steps == 0)
        return STENCIL_OK;
    TRY(compare(problem, cells, &origin->arrays));
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
