/* Problem statements for the tests of stencil_problem_resolve(), and what is expected of it. */
#ifndef STENCIL_TESTS_SOLVER_SPECS_H
#define STENCIL_TESTS_SOLVER_SPECS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "solver/problem/problem.h"

/* A spec of 20x30 (or 10x20x30) cells and nothing else. */
static inline stencil_spec blank(int rank) {
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = rank;
    spec.extent[0] = 10;
    spec.extent[rank - 2] = 20;
    spec.extent[rank - 1] = 30;
    return spec;
}

static inline stencil_spec named(const char *stencil) {
    stencil_spec spec = blank(stencil[1] == '2' ? 2 : 3);
    snprintf(spec.stencil, sizeof spec.stencil, "%s", stencil);
    return spec;
}

static inline stencil_spec equation(stencil_kind kind, int rank) {
    stencil_spec spec = blank(rank);
    spec.kind = kind;
    return spec;
}

static inline stencil_spec pointed(int rank, int count, const int32_t offset[][3], const double *weight) {
    stencil_spec spec = blank(rank);
    spec.offset_count = spec.weight_count = count;
    for (int k = 0; k < count; k++) {
        memcpy(spec.offset[k], offset[k], sizeof spec.offset[k]);
        spec.weight[k] = weight[k];
    }
    return spec;
}

static inline stencil_problem resolved(stencil_spec spec) {
    stencil_problem problem;
    if (stencil_problem_resolve(&problem, &spec) != STENCIL_OK)
        fail_msg("refused: %s", stencil_error_last()->message);
    return problem;
}

/* Refused as bad data with one line that contains `fragment`. */
static inline void refused(stencil_spec spec, const char *fragment) {
    stencil_problem problem;
    const stencil_status status = stencil_problem_resolve(&problem, &spec);
    if (status != STENCIL_BAD_DATA)
        fail_msg("status %d instead of a refusal that names '%s'", (int)status, fragment);
    const char *message = stencil_error_last()->message;
    if (strstr(message, fragment) == NULL || strchr(message, '\n') != NULL)
        fail_msg("'%s' does not name '%s' on one line", message, fragment);
    stencil_problem_destroy(&problem);
}

#endif
