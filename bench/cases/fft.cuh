/* The discrete Fourier transform of n = 2^k complex numbers in float32: X[f] = sum over t of
 * x[t] exp(-2 pi i f t / n). Radix 2, decimation in time, in memory: phase s joins transforms of 2^s numbers
 * to such of 2^(s+1), phase 0 from the input in bit-reversed order; each butterfly is a' = a + w b,  b' =
 * a - w b,  w b = (fma(w.re, b.re, -(w.im b.im)), fma(w.re, b.im, w.im b.re)). */
#pragma once

#include <math.h>

#include "bench/cases/case.h"

enum { fft_lanes = 256, fft_shared_bytes = 0, fft_resident = 0 };

typedef struct fft_number {
    float re, im;
} __attribute__((aligned(8))) fft_number;

typedef struct fft_arguments {
    int64_t n, stages;       /* n = 2^stages, at least 2 */
    const fft_number *input; /* [n]: numbers to transform */
    const fft_number *root;  /* [n / 2]: exp(-2 pi i k / n) */
    fft_number *output;      /* [n]: results of the latest phase */
} fft_arguments;

STENCIL_ANYWHERE int64_t fft_phases(const fft_arguments *f) {
    return f->stages;
}

/* Returns the low `bits` bits of x in reverse order; bits > 0. */
STENCIL_ANYWHERE uint32_t fft_reverse(uint32_t x, int64_t bits) {
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
    return (x << 16 | x >> 16) >> (32 - bits);
}

STENCIL_ANYWHERE void fft_join(fft_number a, fft_number b, fft_number w, fft_number *sum,
                               fft_number *difference) {
    const float re = fmaf(w.re, b.re, -(w.im * b.im)), im = fmaf(w.re, b.im, w.im * b.re);
    sum->re = a.re + re;
    sum->im = a.im + im;
    difference->re = a.re - re;
    difference->im = a.im - im;
}

STENCIL_ANYWHERE void fft_phase(const fft_arguments *f, int64_t phase, stencil_case_block block) {
    const int64_t half = (int64_t)1 << phase;
    CASE_ITEMS(i, f->n / 2, block) {
        const int64_t k = i & (half - 1), at = (i >> phase << (phase + 1)) | k;
        const bool first = phase == 0;
        const fft_number a = first ? f->input[fft_reverse((uint32_t)at, f->stages)] : f->output[at];
        const fft_number b =
            first ? f->input[fft_reverse((uint32_t)(at + 1), f->stages)] : f->output[at + half];
        fft_join(a, b, f->root[k << (f->stages - 1 - phase)], &f->output[at], &f->output[at + half]);
    }
}
