/* The fused multiply-add of the CPU's cell update, for vectors and for single cells. CPU sweeps contain no
 * other fma. */
#pragma once

#include "kernels/cpu_vector.h"

/* Returns a * b + c, rounded once. */
static inline vector_f32 fma_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX__) && defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#else
    for (int i = 0; i < VECTOR_BYTES / (int)sizeof(float); i++)
        c[i] = fmaf(a[i], b[i], c[i]);
    return c;
#endif
}

static inline vector_f64 fma_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX__) && defined(__FMA__)
    return _mm256_fmadd_pd(a, b, c);
#else
    for (int i = 0; i < VECTOR_BYTES / (int)sizeof(double); i++)
        c[i] = fma(a[i], b[i], c[i]);
    return c;
#endif
}

static inline float fma_one_f32(float a, float b, float c) {
    return fmaf(a, b, c);
}
static inline double fma_one_f64(double a, double b, double c) {
    return fma(a, b, c);
}
