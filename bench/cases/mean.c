#include "bench/cases/mean.cuh"

#include <string.h>

#include "bench/cases/problem.h"

enum { REPEATS = 10000 };

static stencil_status make(stencil_case_problem *p) {
    mean_arguments *m = (mean_arguments *)p->arguments;
    uint64_t state = 1;
    m->n = p->items = p->n;
    m->phases = p->repeats > 0 ? p->repeats : REPEATS;
    TRY(CASE_ADD_ARRAY(p, mean, start, INPUT, m->n));
    if (m->phases % 2 != 0) {
        TRY(CASE_ADD_ARRAY(p, mean, value[0], RESULT, m->n));
        TRY(CASE_ADD_ARRAY(p, mean, value[1], SCRATCH, m->n));
    } else {
        TRY(CASE_ADD_ARRAY(p, mean, value[0], SCRATCH, m->n));
        TRY(CASE_ADD_ARRAY(p, mean, value[1], RESULT, m->n));
    }
    float *start = p->array[0].memory;
    for (int64_t i = 0; i < m->n; i++)
        start[i] = (float)stencil_case_random_real(&state);
    return STENCIL_OK;
}

/* Computes the expected means in place: of the overwritten values only the first is needed again. */
static void plain(const stencil_case_problem *p) {
    const mean_arguments *m = (const mean_arguments *)p->arguments;
    float *value = stencil_case_expected(p, m->phases % 2 != 0 ? "value[0]" : "value[1]");
    memcpy(value, m->start, (size_t)m->n * sizeof *value);
    for (int64_t k = 0; k < m->phases && m->n > 0; k++) {
        const float first = value[0];
        for (int64_t i = 0; i + 1 < m->n; i++)
            value[i] = 0.5f * (value[i] + value[i + 1]);
        value[m->n - 1] = 0.5f * (value[m->n - 1] + first);
    }
}

STENCIL_CASE_BODY(mean, .size = {{256, 0, 2}, {256, 0, 8}}, .make = make, .plain = plain, .alike = true);
