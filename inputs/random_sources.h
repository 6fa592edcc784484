/* What random.c needs of a source of the Philox stream (random_curand.c, random_philox.c). */
#ifndef STENCIL_INPUTS_RANDOM_SOURCES_H
#define STENCIL_INPUTS_RANDOM_SOURCES_H

#include "base/base.h"

/* *generator is owned by the caller (curand_close). UNAVAILABLE where cuRAND does not work. */
stencil_status stencil_random_curand_open(void **generator, uint64_t seed);
void stencil_random_curand_close(void *generator);
stencil_status stencil_random_curand_words(void *generator, uint64_t first, int64_t count, uint32_t *words);

void stencil_random_philox_words(uint64_t seed, uint64_t first, int64_t count, uint32_t *words);

#endif
