/* A solver of quadratic equations on two streams (004, a tutorial on synchronising streams): eight
 * element-wise operations a round, four in each stream, which meet three times. Not a case of cases.def: its
 * phases are the streams' own, and no barrier of a grid keeps them in order. Internal to bench/.
 *
 * Of a x² + b x + c the array `b` holds -b, so that both solutions are (b ± sqrt(b² - 4 a c)) / 2 a. */
#pragma once

#include <math.h>

#include "bench/benchmark.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { QUADRATIC_ELEMENTS = 16382 };

typedef enum quadratic_operation {
    PRODUCT,
    PRODUCT_TIMES,
    SUM,
    ROOT,
    DIFFERENCE,
    QUOTIENT_TIMES
} quadratic_operation;

STENCIL_ANYWHERE float quadratic_operate(quadratic_operation what, float x, float y, float factor) {
    switch (what) {
    case PRODUCT:
        return x * y;
    case PRODUCT_TIMES:
        return factor * (x * y);
    case SUM:
        return x + y;
    case ROOT:
        return sqrtf(x);
    case DIFFERENCE:
        return x - y;
    case QUOTIENT_TIMES:
        return factor * (x / y);
    }
    return 0;
}

/* The streams, or threads, named after the solution that they end with; and the arrays, of which the first
 * two are these solutions. */
enum { QUADRATIC_MINUS, QUADRATIC_PLUS, QUADRATIC_STREAMS };
enum { QUADRATIC_ROOT = QUADRATIC_STREAMS, QUADRATIC_A, QUADRATIC_B, QUADRATIC_C, QUADRATIC_ARRAYS };

/* A round: eight operations, array `to` = x ∘ y, in stretches behind each of which the streams meet. */
enum { QUADRATIC_OPERATIONS = 8, QUADRATIC_STRETCHES = 3 };
typedef struct quadratic_step {
    int stretch, stream;
    quadratic_operation what;
    int x, y;
    float factor;
    int to;
} quadratic_step;
extern const quadratic_step quadratic_round[QUADRATIC_OPERATIONS];
/* The stream that the other one waits for behind each stretch, since it goes on with its results. */
extern const int quadratic_teller[QUADRATIC_STRETCHES];

/* Equations with two real solutions each, 1 <= a, -b, -c < 2. */
typedef struct quadratic_solver {
    const struct stencil_device
        *device; /* [QUADRATIC_STREAMS], of one GPU, which has the arrays; NULL: the host has */
    float *array[QUADRATIC_ARRAYS];
    float *solution[QUADRATIC_STREAMS], *expected[QUADRATIC_STREAMS]; /* on the host: found; right */
} quadratic_solver;

/* A row: how the streams meet. Its run makes so many rounds. */
typedef struct quadratic_ordered {
    quadratic_solver *of;
    int how;
    const char *name;
    void *own; /* of the side that runs it */
    stencil_status (*run)(const struct quadratic_ordered *ordered, int64_t rounds, double *time_s);
} quadratic_ordered;

/* Until the benchmark ends; the member `device` is the caller's to fill in. */
stencil_status quadratic_create(stencil_bench *b, quadratic_solver *solver);
/* Adds the row, for a sampler of quadratic_ordered that is given `count` rounds, or as many as calibration
 * finds. Verified: INTERNAL where after one round from spoiled arrays a solution is not, bit by bit, what it
 * has to be. */
stencil_status quadratic_add(stencil_bench *b, const quadratic_ordered *ordered,
                             stencil_bench_case_sampler sample, int64_t count);

#ifdef __cplusplus
}
#endif
