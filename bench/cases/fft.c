#include "bench/cases/fft.cuh"

#include "bench/cases/problem.h"

enum { STAGES_MAX = 30 };

static stencil_status make(stencil_case_problem *p) {
    fft_arguments *f = (fft_arguments *)p->arguments;
    uint64_t state = 3;
    while ((int64_t)1 << f->stages < p->n)
        f->stages++;
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

/* Transforms n numbers `stride` apart recursively: even and odd elements separately, then combined. */
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

/* Returns whether the 2-norm of the difference of two transforms is within its bound: log2 n stages, each
 * with errors in root, product and sum below 7 units in the last place (N. Higham, "Accuracy and Stability of
 * Numerical Algorithms", theorem 24.2), in both transforms; other radices have fewer stages. */
static bool agrees(const stencil_case_problem *p) {
    const fft_arguments *f = (const fft_arguments *)p->arguments;
    const fft_number *expected = stencil_case_expected(p, "output");
    double size = 0, difference = 0;
    for (int64_t i = 0; i < f->n; i++) {
        const double re = (double)f->output[i].re - expected[i].re,
                     im = (double)f->output[i].im - expected[i].im;
        difference += re * re + im * im;
        size += (double)expected[i].re * expected[i].re + (double)expected[i].im * expected[i].im;
    }
    return sqrt(difference) <=
           2 * 7 * 0x1p-24 * (double)f->stages * sqrt(size); /* a NaN fails the comparison */
}

STENCIL_CASE_BODY(fft, .least = 2, .most_level = STAGES_MAX, .power_of_two = true,
                  .size = {{1 << 12, 1 << 18, 8}, {1 << 16, 1 << 24, 4}}, .make = make, .plain = plain,
                  .ceiling = STENCIL_ON_GPU(stencil_case_ceiling_fft), .agrees = agrees);
