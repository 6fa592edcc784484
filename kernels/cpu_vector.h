/* Vectors of the instruction set that a file is compiled for, with the same few operations for each set:
 * vector_P of precision P, and unaligned_P, which may lie at any cell of a row. */
#pragma once

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64 };
#elif defined(__AVX__)
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif

typedef float real_f32;
typedef double real_f64;
typedef real_f32 vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef real_f64 vector_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef real_f32 unaligned_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef real_f64 unaligned_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

/* Makes the compiler load a vector once: otherwise compilers load it again for each use, and a load that
 * crosses two cache lines takes as long as two loads. */
#if defined(__SSE2__)
#define VECTOR_IN_REGISTER(v) __asm__("" : "+v"(v))
#else
#define VECTOR_IN_REGISTER(v) (void)(v)
#endif

/* Makes the compiler load the values at a pointer again: where fma cannot broadcast a value from memory,
 * compilers would keep more values than there are registers, and spill. */
#if defined(__AVX512F__) || !defined(__SSE2__)
#define LOADED_AGAIN(pointer) (void)(pointer)
#else
#define LOADED_AGAIN(pointer) __asm__("" : "+r"(pointer))
#endif

/* Keeps later loads from moving up across this point: compilers would load what two branches need before they
 * know which branch is taken. */
#define LOADS_STAY_BEHIND() __asm__ volatile("" : : : "memory")

/* words_of_two() returns the vector that begins at word n of two concatenated vectors; a word has the size of
 * a float. VECTOR_SHIFTS: it takes one instruction, and is faster than a load that crosses two cache
 * lines. */
#if defined(__AVX512F__)
enum { VECTOR_SHIFTS = 1 };
#else
enum { VECTOR_SHIFTS = 0 };
#endif
static inline vector_f32 words_of_two(vector_f32 low, vector_f32 high, int n) {
#if defined(__AVX512F__)
#define WORDS_FROM(n)                                                                                        \
    case n:                                                                                                  \
        return (vector_f32)_mm512_alignr_epi32((__m512i)high, (__m512i)low, n);
    switch (n) { /* the shifts by up to three cells of either precision, to either side */
        WORDS_FROM(1)
        WORDS_FROM(2)
        WORDS_FROM(3)
        WORDS_FROM(4)
        WORDS_FROM(6)
        WORDS_FROM(10)
        WORDS_FROM(12)
        WORDS_FROM(13)
        WORDS_FROM(14)
        WORDS_FROM(15)
    }
#undef WORDS_FROM
    return low;
#else
    enum { WORDS = VECTOR_BYTES / (int)sizeof(float) };
    vector_f32 words;
    for (int i = 0; i < WORDS; i++)
        words[i] = i + n < WORDS ? low[i + n] : high[i + n - WORDS];
    return words;
#endif
}

/* Returns a vector with the same value in all lanes; a zero keeps its sign. */
static inline vector_f32 splat_f32(float value) {
    return value - (vector_f32){0};
}
static inline vector_f64 splat_f64(double value) {
    return value - (vector_f64){0};
}

/* Stores a vector, bypassing the cache where the instruction set can; `to` is a multiple of VECTOR_BYTES. */
static inline void store_past(void *to, vector_f32 words) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, words);
#elif defined(__AVX__)
    _mm256_stream_ps(to, words);
#elif defined(__SSE2__)
    _mm_stream_ps(to, words);
#else
    *(vector_f32 *)to = words;
#endif
}

/* Stores the first `bytes` bytes of a vector: at least one word, and less than the vector. */
static inline void store_some(void *to, vector_f32 words, size_t bytes) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << bytes / sizeof(float)) - 1), words);
#else
    memcpy(to, &words, bytes);
#endif
}

/* Makes stores that bypass the cache visible to the threads of the next step. */
static inline void streaming_fence(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}
