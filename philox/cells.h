/* The conversion of words to numbers, the same on host and device. */
#pragma once

#include "base/base.h"

/* Number of words that a number takes. */
STENCIL_ANYWHERE int64_t stencil_random_words_of(bool wide) {
    return wide ? 2 : 1;
}

/* Returns the number that words make, of float64 (wide) or float32. */
STENCIL_ANYWHERE double stencil_random_number_of(bool wide, const uint32_t *word) {
    return wide ? (double)(((uint64_t)word[1] << 32 | word[0]) >> 11) * 0x1p-53
                : (double)(word[0] >> 8) * 0x1p-24;
}
