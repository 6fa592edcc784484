#include "bench/cases/reduction.cuh"

#include <math.h>

#include "bench/cases/problem.h"

/* Limits of pieces as n grows: pieces of minimal length up to FEW pieces, then longer pieces up to LONG
 * values, then more pieces, for larger GPUs or several, up to MANY, whose sums one block adds quickly. */
enum { FEW = 256, LONG = 4 * REDUCTION_PIECE, MANY = 16384 };

static int64_t divide_up(int64_t count, int64_t by) {
    return (count + by - 1) / by;
}

static int64_t choose_piece(int64_t n) {
    const int64_t few = stencil_smaller(divide_up(n, FEW), LONG), many = divide_up(n, MANY);
    return divide_up(few > many ? few : many, REDUCTION_PIECE) * REDUCTION_PIECE;
}

static stencil_status make(stencil_case_problem *p) {
    reduction_arguments *r = (reduction_arguments *)p->arguments;
    uint64_t state = 2;
    CHECK(p->n <= INT64_MAX / 64, BAD_DATA, "reduction: more elements than can be counted");
    const int64_t piece = choose_piece(p->n);
    r->piece_pairs = piece / 2;
    r->pieces = piece > 0 ? divide_up(p->n, piece) : 0;
    r->own = r->pieces;
    r->parts = 1;
    p->items = reduction_lanes * r->pieces;
    p->bytes = (double)p->n * sizeof(double);
    TRY(CASE_ADD_ARRAY(p, reduction, values, INPUT, r->pieces * r->piece_pairs));
    TRY(CASE_ADD_ARRAY(p, reduction, sums, SCRATCH, reduction_sums_pairs(r)));
    TRY(CASE_ADD_ARRAY(p, reduction, sum, RESULT, 1));
    double *values = p->array[0].memory;
    for (int64_t i = 0; i < p->n; i++)
        values[i] = stencil_case_random_real(&state) - 0.5;
    return STENCIL_OK;
}

static int64_t groups(const void *arguments, int64_t phase) {
    return phase == 0 ? ((const reduction_arguments *)arguments)->pieces : 1;
}

/* Returns the sum of a piece in the order of additions that reduction.cuh defines. */
static double add(const double *value, int64_t count) {
    double sum[2 * reduction_lanes] = {0};
    for (int64_t i = 0; i < count; i++)
        sum[i % (2 * reduction_lanes)] += value[i];
    for (int t = 0; t < reduction_lanes; t++)
        sum[t] = sum[2 * t] + sum[2 * t + 1];
    for (int half = reduction_lanes / 2; half > 0; half /= 2)
        for (int t = 0; t < half; t++)
            sum[t] += sum[t + half];
    return sum[0];
}

/* Computes the expected sum: adds up pieces, then their sums, in the scratch array of the phases. */
static void plain(const stencil_case_problem *p) {
    const reduction_arguments *r = (const reduction_arguments *)p->arguments;
    double *expected = stencil_case_expected(p, "sum"), *sums = (double *)r->sums;
    for (int64_t i = 0; i < r->pieces; i++)
        sums[i] = add((const double *)(r->values + i * r->piece_pairs), 2 * r->piece_pairs);
    *expected = add(sums, r->pieces);
}

/* Tells whether the sum is within its bound of error: in either of two sums, a value of at most 1/2 goes
 * through at most n / 256 + 64 additions, where 256 partial sums or more are joined in a tree. */
static bool agrees(const stencil_case_problem *p) {
    const reduction_arguments *r = (const reduction_arguments *)p->arguments;
    const double *expected = stencil_case_expected(p, "sum"), n = (double)p->n;
    return fabs(*r->sum - *expected) <=
           2 * (n / 256 + 64) * 0x1p-53 * (n / 2); /* a NaN fails the comparison */
}

STENCIL_CASE_BODY(reduction, .size = {{1 << 10, 1 << 22, 16}, {1 << 10, 1 << 30, 8}}, .make = make,
                  .groups = groups, .plain = plain, .ceiling = STENCIL_ON_GPU(stencil_case_ceiling_reduction),
                  .sample = STENCIL_ON_GPU(stencil_case_sample_reduction), .agrees = agrees,
                  .in_flight = REDUCTION_UNDER_WAY * REDUCTION_PAIRS * sizeof(reduction_pair));
