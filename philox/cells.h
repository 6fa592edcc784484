/* The conversion of words to cells, the same on host and device. */
#pragma once

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of words that a number of float64 (wide) or float32 takes. */
STENCIL_ANYWHERE int64_t stencil_random_words_of(bool wide) {
    return wide ? 2 : 1;
}

/* Returns the number that words make. */
STENCIL_ANYWHERE double stencil_random_number_of(bool wide, const uint32_t *word) {
    return wide ? (double)(((uint64_t)word[1] << 32 | word[0]) >> 11) * 0x1p-53
                : (double)(word[0] >> 8) * 0x1p-24;
}

/* Words in the memory of a GPU, and the cells to make of them. */
typedef struct stencil_random_conversion {
    const uint32_t *word;
    double *cell; /* [count] */
    int64_t count;
    double factor;
    bool wide;
} stencil_random_conversion;

/* Returns the kernel convert(stencil_random_conversion by value), in any number of blocks of
 * STENCIL_BLOCK_THREADS threads. Only with cuRAND. */
const void *stencil_random_kernel(void);

#ifdef __cplusplus
}
#endif
