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

/* On the host: equations with two real solutions each, 1 <= a, -b, -c < 2, and what these are. */
typedef struct quadratic_data {
    float *input[3];                    /* a, b, c */
    float *expected[QUADRATIC_STREAMS]; /* with the minus, with the plus */
} quadratic_data;

/* Until the benchmark ends. */
stencil_status quadratic_data_create(stencil_bench *b, quadratic_data *data);
/* INTERNAL where a solution is not, bit by bit, what it has to be. */
stencil_status quadratic_check(const quadratic_data *data, const float *const solution[2], const char *by);

#ifdef __cplusplus
}
#endif
