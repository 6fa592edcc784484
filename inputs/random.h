/* Random numbers for generated inputs: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1,
 * 2, 3", SC'11, section 4.3), counter-based, so that any part of the stream can be had without the rest.
 *
 * Word i of the stream of a seed is element i % 4 of the block b = i / 4; its key is (low, high half of the
 * seed) and its counter, four 32-bit words, (low, high half of b / 65536,  b % 65536,  0). That is cuRAND's
 * order for CURAND_RNG_PSEUDO_PHILOX4_32_10 on host and device: 65536 subsequences in turn. */
#ifndef STENCIL_INPUTS_RANDOM_H
#define STENCIL_INPUTS_RANDOM_H

#include "base/base.h"

/* Who computes the stream. All of them give the same words. */
typedef enum stencil_random_source {
    STENCIL_RANDOM_AUTO,   /* cuRAND where it is built in and works, else Random123 */
    STENCIL_RANDOM_CURAND, /* the host generator of the CUDA Toolkit */
    STENCIL_RANDOM_PHILOX, /* Random123 */
} stencil_random_source;

/* A stream. Zero-initialise. */
typedef struct stencil_random {
    uint64_t seed;
    stencil_random_source source; /* what AUTO came to */
    void *generator;              /* cuRAND's, owned */
} stencil_random;

/* UNAVAILABLE where `source` is not built in or does not work here. */
stencil_status stencil_random_open(stencil_random *random, uint64_t seed, stencil_random_source source);
/* NULL-safe, may be called twice. */
void stencil_random_close(stencil_random *random);

/* Words [first, first + count) of the stream into words[count]. */
stencil_status stencil_random_words(stencil_random *random, uint64_t first, int64_t count, uint32_t *words);

/* Number of words that one uniform number takes: 1 for float32, 2 for float64. */
int stencil_random_words_per_number(stencil_precision precision);

/* Uniform in [0, 1) from the words of one number: the upper 24 bits of one word times 2^-24 (float32), or the
 * upper 53 bits of word[1] * 2^32 + word[0] times 2^-53 (float64). Exact. */
double stencil_random_uniform(stencil_precision precision, const uint32_t *word);

#endif
