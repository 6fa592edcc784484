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

/* On the host: equations with two real solutions each, 1 <= a, -b, -c < 2, and what these are. */
typedef struct quadratic_data {
    float *a, *b, *c;
    float *expected[2]; /* with the minus, with the plus */
} quadratic_data;

/* Until the benchmark ends. */
stencil_status quadratic_data_create(stencil_bench *b, quadratic_data *data);
/* INTERNAL where a solution is not, bit by bit, what it has to be. */
stencil_status quadratic_check(const quadratic_data *data, const float *const solution[2], const char *by);

#ifdef __cplusplus
}
#endif
