#include "bench/cases/normalise_cached.cuh"

#include "bench/cases/normalise.h"

static stencil_status make(stencil_case_problem *p) {
    normalise_cached_arguments *a = (normalise_cached_arguments *)p->arguments;
    TRY(normalise_cut(p, &a->piece_quads, &a->pieces));
    a->own = a->pieces;
    a->parts = 1;
    p->items = a->pieces * normalise_lanes;
    p->bytes = (double)p->n * (sizeof(int32_t) + sizeof(float)); /* if everything is kept */
    TRY(CASE_ADD_ARRAY(p, normalise_cached, integers, INPUT, a->pieces * a->piece_quads));
    TRY(CASE_ADD_ARRAY(p, normalise_cached, largest[0], SCRATCH, a->pieces));
    TRY(CASE_ADD_ARRAY(p, normalise_cached, numbers, RESULT, a->pieces * a->piece_quads));
    normalise_fill(p);
    return STENCIL_OK;
}

STENCIL_CASE_BODY(normalise_cached, .size = {{1 << 12, 917504, 8}, {917504, 64 * 917504, 4}}, .make = make,
                  .plain = normalise_plain, .keeps = true);
