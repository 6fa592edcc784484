#include "bench/cases/normalise.cuh"

#include "bench/cases/problem.h"

/* So many pieces at most, however many integers: every block looks at the largest value of each. */
enum { PIECES_MAX = 4096 };

static stencil_status make(stencil_case_problem *p) {
    normalise_arguments *a = (normalise_arguments *)p->arguments;
    const int64_t quads = (p->n + 3) / 4, least = (quads + PIECES_MAX - 1) / PIECES_MAX;
    uint64_t state = 6;
    CHECK(p->n <= INT64_MAX / 64, BAD_DATA, "normalise: more elements than can be counted");
    a->piece_quads = (least + NORMALISE_PIECE - 1) / NORMALISE_PIECE * NORMALISE_PIECE;
    a->pieces = quads > 0 ? (quads + a->piece_quads - 1) / a->piece_quads : 0;
    p->items = a->pieces * normalise_lanes;
    p->bytes = (double)p->n * (2 * sizeof(int32_t) + sizeof(float)); /* integers are read twice */
    TRY(CASE_ADD_ARRAY(p, normalise, integers, INPUT, a->pieces * a->piece_quads));
    TRY(CASE_ADD_ARRAY(p, normalise, largest, SCRATCH, a->pieces));
    TRY(CASE_ADD_ARRAY(p, normalise, numbers, RESULT, a->pieces * a->piece_quads));
    int32_t *integer = p->array[0].memory;
    for (int64_t i = 0; i < p->n; i++)
        integer[i] = (int32_t)(uint32_t)stencil_case_random(&state);
    return STENCIL_OK;
}

static void plain(const stencil_case_problem *p) {
    const normalise_arguments *a = (const normalise_arguments *)p->arguments;
    const int64_t count = 4 * a->pieces * a->piece_quads;
    const int32_t *integer = (const int32_t *)a->integers;
    float *number = stencil_case_expected(p, "numbers");
    int64_t largest = 1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t size = integer[i] < 0 ? -(int64_t)integer[i] : integer[i];
        largest = size > largest ? size : largest;
    }
    for (int64_t i = 0; i < count; i++)
        number[i] = (float)integer[i] / (float)largest;
}

STENCIL_CASE_BODY(normalise, .size = {{1 << 12, 917504, 8}, {917504, 64 * 917504, 4}}, .make = make,
                  .plain = plain);
