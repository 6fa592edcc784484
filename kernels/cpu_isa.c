/* All CPU sweeps for one instruction set, written once for both precisions and specialised by inlining: the
 * points are constants at every call, so the loops over them unroll. The build compiles this file once for
 * each set, with CPU_ISA naming it and the compiler's flags choosing it, so that fma is one instruction
 * wherever the CPU has one. */
#include <string.h>
#include <tgmath.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/cpu.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Cells that are computed at once: a segment's results are still in L1 when they are summed. A multiple of
 * the cells of a partial sum. */
enum { SEGMENT_CELLS = 512 };

/* A streaming sweep advances so many rows of a plane together, some cells of each in turn, and asks for lines
 * so far ahead. In 3D it walks through strips of rows of which so many bytes stay in a core's own cache. */
enum { BAND_ROWS = 8, TURN_BYTES = 256, LINE_BYTES = 64, PREFETCH_BYTES = 512, OWN_BYTES = 1 << 19 };

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

/* Where the partial sums of row (z, y) of the part go, from that of cell x on. */
static inline double *partials_at(const stencil_domain *d, const stencil_cpu_pass *pass, int64_t z, int64_t y,
                                  int64_t x) {
    return pass->partial + z * d->partial_plane + y * d->partial_row + x / STENCIL_PARTIAL_CELLS;
}

#define CPU_TEXT_(a)     #a
#define CPU_TEXT(a)      CPU_TEXT_(a)
#define CPU_PASTE_(a, b) a##_##b
#define CPU_PASTE(a, b)  CPU_PASTE_(a, b)
#define CPU_(name)       CPU_PASTE(name, CPU_PRECISION)
#define CPU_REAL         CPU_(real)
typedef float real_f32;
typedef double real_f64;

#define CPU_PRECISION f32
#include "kernels/cpu_precision.inc"
#undef CPU_PRECISION
#define CPU_PRECISION f64
#include "kernels/cpu_precision.inc"
#undef CPU_PRECISION

const stencil_cpu_table CPU_PASTE(stencil_cpu_table, CPU_ISA) = {
    .name = CPU_TEXT(CPU_ISA),
    .sweep = {[STENCIL_FLOAT32] = sweeps_f32, [STENCIL_FLOAT64] = sweeps_f64},
    .copy = copy_streaming,
};
