/* The CPU sweeps, written once for both precisions and specialised by inlining: the points are constants at
 * every call, so the loops over them unroll. Included by cpu_isa.c only. */
#ifndef STENCIL_KERNELS_CPU_ISA_H
#define STENCIL_KERNELS_CPU_ISA_H

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/cpu.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A point set. */
typedef struct cpu_points {
    int rank;
    stencil_rule rule;
    int radius;
} cpu_points;

/* Cells that are computed at once: a segment's results stay in L1 until they are stored. A multiple of the
 * cells of a partial sum. */
enum { SEGMENT_CELLS = 512 };

/* A streaming sweep advances so many rows of a plane together, some cells of each in turn, and asks for lines
 * so far ahead. */
enum { BAND_ROWS = 8, LINE_BYTES = 64, PREFETCH_BYTES = 512 };

/* Copies 64-byte lines past the cache. */
static void copy_streaming(void *to, const void *from, int64_t count) {
    char *t = to;
    const char *f = from;
    for (int64_t i = 0; i < count; i += 64) {
#if defined(__AVX512F__)
        _mm512_stream_si512((void *)(t + i), _mm512_loadu_si512((const void *)(f + i)));
#elif defined(__AVX__)
        for (int j = 0; j < 64; j += 32)
            _mm256_stream_si256((void *)(t + i + j), _mm256_loadu_si256((const void *)(f + i + j)));
#elif defined(__SSE2__)
        for (int j = 0; j < 64; j += 16)
            _mm_stream_si128((void *)(t + i + j), _mm_loadu_si128((const void *)(f + i + j)));
#else
        memcpy(t + i, f + i, 64);
#endif
    }
}

/* Makes streaming stores visible to the threads of the next step. */
static inline void streaming_fence(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Stores a segment: whole aligned lines past the cache, the ends (and everything, unless streaming) through
 * it. */
static inline void store_segment(char *to, const char *from, int64_t bytes, bool streaming) {
    const int64_t head = streaming ? (int64_t)(-(uintptr_t)to & 63) : bytes;
    if (head >= bytes) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    const int64_t lines = (bytes - head) & ~INT64_C(63);
    memcpy(to, from, (size_t)head);
    copy_streaming(to + head, from + head, lines);
    memcpy(to + head + lines, from + head + lines, (size_t)(bytes - head - lines));
}

static inline double larger(double a, double b) {
    return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
}

/* A partial sum, as stencil_partial_sum() has it; out of place, so that a level's additions are
 * vectors. */
#define LEVEL(to, from, count, combine)                                                                      \
    double to[count];                                                                                        \
    for (int i = 0; i < (count); i++)                                                                        \
        to[i] = combine(from[2 * i], from[2 * i + 1]);
#define TREE(combine)                                                                                        \
    LEVEL(t32, term, 32, combine)                                                                            \
    LEVEL(t16, t32, 16, combine)                                                                             \
    LEVEL(t8, t16, 8, combine)                                                                               \
    LEVEL(t4, t8, 4, combine)                                                                                \
    LEVEL(t2, t4, 2, combine)                                                                                \
    return combine(t2[0], t2[1]);
#define SUM(a, b) ((a) + (b))
_Static_assert(STENCIL_PARTIAL_CELLS == 64, "the tree has six levels");
static inline double combine_sum(const double term[STENCIL_PARTIAL_CELLS]) {
    TREE(SUM)
}
static inline double combine_larger(const double term[STENCIL_PARTIAL_CELLS]) {
    TREE(larger)
}
#undef SUM
#undef TREE
#undef LEVEL

#define CPU_REAL   float
#define CPU_FMA    fmaf
#define CPU_WEIGHT f32
#define CPU_(name) name##_f32
#include "kernels/cpu_precision.inc"
#undef CPU_REAL
#undef CPU_FMA
#undef CPU_WEIGHT
#undef CPU_

#define CPU_REAL   double
#define CPU_FMA    fma
#define CPU_WEIGHT f64
#define CPU_(name) name##_f64
#include "kernels/cpu_precision.inc"
#undef CPU_REAL
#undef CPU_FMA
#undef CPU_WEIGHT
#undef CPU_

#endif
