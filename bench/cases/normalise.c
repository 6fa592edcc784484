#include "bench/cases/normalise_cached.cuh"

#include "bench/cases/problem.h"

/* Largest number of pieces, limited since every block reads the largest value of each piece. */
enum { PIECES_MAX = 4096 };

static stencil_status make(stencil_case_problem *p) {
    normalise_arguments *a = (normalise_arguments *)p->arguments;
    const int64_t quads = (p->n + 3) / 4, least = (quads + PIECES_MAX - 1) / PIECES_MAX;
    const size_t reads = p->of->body->keeps ? 1 : 2; /* reads of each integer, if all fit on chip */
    uint64_t state = 6;
    CHECK(p->n <= INT64_MAX / 64, BAD_DATA, "%s: more elements than can be counted", p->of->name);
    a->piece_quads = (least + NORMALISE_PIECE - 1) / NORMALISE_PIECE * NORMALISE_PIECE;
    a->pieces = a->own = quads > 0 ? (quads + a->piece_quads - 1) / a->piece_quads : 0;
    a->parts = 1;
    p->items = a->pieces * normalise_lanes;
    p->bytes = (double)p->n * (double)(reads * sizeof(int32_t) + sizeof(float));
    TRY(CASE_ADD_ARRAY(p, normalise, integers, INPUT, a->pieces * a->piece_quads));
    TRY(CASE_ADD_ARRAY(p, normalise, largest[0], SCRATCH, a->pieces));
    TRY(CASE_ADD_ARRAY(p, normalise, numbers, RESULT, a->pieces * a->piece_quads));
    int32_t *integer = p->array[0].memory;
    for (int64_t i = 0; i < p->n; i++)
        integer[i] = (int32_t)(uint32_t)stencil_case_random(&state);
    return STENCIL_OK;
}

static void plain(const stencil_case_problem *p) {
    const int64_t count = 4 * p->array[0].count;
    const int32_t *integer = p->array[0].memory;
    float *number = stencil_case_expected(p, "numbers");
    int64_t largest = 1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t size = integer[i] < 0 ? -(int64_t)integer[i] : integer[i];
        largest = size > largest ? size : largest;
    }
    for (int64_t i = 0; i < count; i++)
        number[i] = (float)integer[i] / (float)largest;
}

#define SIZES                                                                                                \
    {                                                                                                        \
        {1 << 12, 917504, 8}, {                                                                              \
            917504, 64 * 917504, 4                                                                           \
        }                                                                                                    \
    }
STENCIL_CASE_BODY(normalise, .size = SIZES, .make = make, .plain = plain);
STENCIL_CASE_BODY(normalise_cached, .size = SIZES, .make = make, .plain = plain, .keeps = true);
