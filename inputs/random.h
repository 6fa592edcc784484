/* Random numbers for generated inputs: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1,
 * 2, 3", SC'11, section 4.3), counter-based, so that any number can be had without the rest. */
#ifndef STENCIL_INPUTS_RANDOM_H
#define STENCIL_INPUTS_RANDOM_H

#include "base/base.h"

/* Block b of the stream of a seed. Its key is (low, high half of the seed) and its counter, four 32-bit
 * words, (low, high half of b / 65536, b % 65536, 0): cuRAND's order for CURAND_RNG_PSEUDO_PHILOX4_32_10 on
 * host and device, 65536 subsequences in turn. */
void stencil_random_block(uint64_t seed, uint64_t block, uint32_t word[4]);

/* Number `index` of the stream, uniform in [0, 1): of float32 the upper 24 bits of word `index` times 2^-24,
 * of float64 the upper 53 bits of word[2 index + 1] * 2^32 + word[2 index] times 2^-53. Exact. */
double stencil_random_number(uint64_t seed, stencil_precision precision, uint64_t index);

#endif
