/* A solver of quadratic equations on two streams (004, a tutorial on synchronising streams): an iteration has
 * eight element-wise operations, four in each stream; the streams synchronise three times. Not a case of
 * cases.def, since streams, not grid barriers, order its phases. Internal to bench/.
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

/* The two streams, or CPU threads, named after the solution that they compute. */
enum { QUADRATIC_MINUS, QUADRATIC_PLUS, QUADRATIC_STREAMS };
enum { QUADRATIC_ROOT = QUADRATIC_STREAMS, QUADRATIC_A, QUADRATIC_B, QUADRATIC_C, QUADRATIC_ARRAYS };

/* An iteration: eight operations, array `to` = x ∘ y, in stretches, each followed by a synchronisation. */
enum { QUADRATIC_OPERATIONS = 8, QUADRATIC_STRETCHES = 3 };
typedef struct quadratic_step {
    int stretch, stream;
    quadratic_operation what;
    int x, y;
    float factor;
    int to;
} quadratic_step;
extern const quadratic_step quadratic_round[QUADRATIC_OPERATIONS];
/* For each stretch, the stream whose results the other stream waits for at its end. */
extern const int quadratic_teller[QUADRATIC_STRETCHES];

/* Quadratic equations with two real solutions each: 1 <= a, -b, -c < 2. */
typedef struct quadratic_solver {
    const struct stencil_device *device; /* [QUADRATIC_STREAMS]: streams of one GPU; NULL: CPU threads */
    float *array[QUADRATIC_ARRAYS];
    float *solution[QUADRATIC_STREAMS], *expected[QUADRATIC_STREAMS]; /* host arrays */
} quadratic_solver;

/* A benchmark row: a way to synchronise the streams, and the sampler, which makes a number of iterations. */
typedef struct quadratic_ordered {
    quadratic_solver *of;
    int how;
    const char *name;
    void *own; /* private data of the CPU or GPU code */
    stencil_bench_case_sampler sample;
} quadratic_ordered;

/* Makes a solver that lasts until the benchmark ends; the caller sets its member `device` before. */
stencil_status quadratic_create(stencil_bench *b, quadratic_solver *solver);
/* Adds a benchmark row with `count` iterations per sample, or as many as calibration finds. Its verification
 * fails with INTERNAL when a solution after one iteration differs from the expected one in any bit. */
stencil_status quadratic_add(stencil_bench *b, const quadratic_ordered *ordered, int64_t count);

#ifdef __cplusplus
}
#endif
