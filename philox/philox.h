/* Random numbers: a stream for each seed, any part of which can be computed without the others. Words come
 * from Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11, section 4.3). */
#pragma once

#include "base/base.h"

/* Sets the words 4 block … 4 block + 3 of the stream of a seed: Philox of the key (low, high half of the
 * seed) and the counter (low, high half of block / 65536, block % 65536, 0). They come in cuRAND's order for
 * CURAND_RNG_PSEUDO_PHILOX4_32_10: 65536 subsequences, one block of each in turn. */
void stencil_random_words(uint64_t seed, uint64_t block, uint32_t word[4]);

/* Returns number `index` of the stream of a seed, uniform in [0, 1): for float32 the upper 24 bits of word
 * `index` times 2^-24, for float64 the upper 53 bits of word[2 index + 1] * 2^32 + word[2 index] times 2^-53;
 * both exact. */
double stencil_random_number(uint64_t seed, stencil_precision precision, uint64_t index);

/* The cells of a random field: cell k is number k of the stream times `factor`. */
typedef struct stencil_random_cells {
    uint64_t seed;
    stencil_precision precision;
    double factor;
} stencil_random_cells;

/* Computes to[count], the cells from number `first` on, by all threads. */
void stencil_random_fill(const stencil_random_cells *cells, uint64_t first, int64_t count, double *to);
