#include "bench/cases/fft.cuh"

#include "bench/cases/problem.h"

enum { STAGES_MAX = 30 };

static stencil_status make(stencil_case_problem *p) {
    fft_arguments *f = (fft_arguments *)p->arguments;
    uint64_t state = 3;
    while (f->stages < STAGES_MAX && (int64_t)1 << f->stages < p->n)
        f->stages++;
    CHECK(p->n >= 2 && (int64_t)1 << f->stages == p->n, BAD_DATA,
          "fft of %lld elements: it takes a power of two, 2 … 2^%d", (long long)p->n, STAGES_MAX);
    f->n = p->n;
    p->items = p->n / 2;
    p->bytes = 2.0 * (double)f->stages * (double)p->n * sizeof(fft_number);
    TRY(CASE_ADD_ARRAY(p, fft, input, INPUT, p->n));
    TRY(CASE_ADD_ARRAY(p, fft, root, INPUT, p->n / 2));
    TRY(CASE_ADD_ARRAY(p, fft, output, RESULT, p->n));
    fft_number *input = p->array[0].memory, *root = p->array[1].memory;
    for (int64_t i = 0; i < p->n; i++) {
        input[i].re = (float)(stencil_case_random_real(&state) - 0.5);
        input[i].im = (float)(stencil_case_random_real(&state) - 0.5);
    }
    const double step = 2 * acos(-1) / (double)p->n;
    for (int64_t k = 0; k < p->n / 2; k++)
        root[k] = (fft_number){(float)cos(step * (double)k), (float)-sin(step * (double)k)};
    return STENCIL_OK;
}

/* The transform of n numbers `stride` apart: of the even ones, of the odd ones, and both joined. */
static void transform(const fft_arguments *f, const fft_number *from, int64_t stride, int64_t n,
                      fft_number *to) {
    if (n == 1) {
        *to = *from;
        return;
    }
    transform(f, from, 2 * stride, n / 2, to);
    transform(f, from + stride, 2 * stride, n / 2, to + n / 2);
    for (int64_t k = 0; k < n / 2; k++) {
        const fft_number a = to[k], b = to[k + n / 2];
        fft_join(a, b, f->root[k * stride], &to[k], &to[k + n / 2]);
    }
}

static void plain(const stencil_case_problem *p) {
    const fft_arguments *f = (const fft_arguments *)p->arguments;
    transform(f, f->input, 1, f->n, stencil_case_expected(p, "output"));
}

STENCIL_CASE_BODY(fft, .size = {{1 << 12, 1 << 18, 8}, {1 << 16, 1 << 24, 4}}, .make = make, .plain = plain);
