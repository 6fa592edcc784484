#include "inputs/random.h"

#include "inputs/random_sources.h"

stencil_status stencil_random_open(stencil_random *random, uint64_t seed, stencil_random_source source) {
    *random = (stencil_random){.seed = seed, .source = source};
#ifdef STENCIL_HAVE_CURAND
    if (source != STENCIL_RANDOM_PHILOX) {
        const stencil_status status = stencil_random_curand_open(&random->generator, seed);
        if (status == STENCIL_OK) {
            random->source = STENCIL_RANDOM_CURAND;
            return STENCIL_OK;
        }
#ifndef STENCIL_HAVE_RANDOM123
        return status;
#endif
        if (source == STENCIL_RANDOM_CURAND)
            return status;
    }
#endif
    CHECK(source != STENCIL_RANDOM_CURAND, UNAVAILABLE,
          "this build has no cuRAND: random numbers come from Random123");
#ifdef STENCIL_HAVE_RANDOM123
    random->source = STENCIL_RANDOM_PHILOX;
    return STENCIL_OK;
#else
    FAIL(UNAVAILABLE, "this build has no Random123: random numbers come from cuRAND");
#endif
}

void stencil_random_close(stencil_random *random) {
    if (random == NULL)
        return;
#ifdef STENCIL_HAVE_CURAND
    if (random->generator != NULL)
        stencil_random_curand_close(random->generator);
#endif
    random->generator = NULL;
}

stencil_status stencil_random_words(stencil_random *random, uint64_t first, int64_t count, uint32_t *words) {
#ifdef STENCIL_HAVE_CURAND
    if (random->generator != NULL)
        return stencil_random_curand_words(random->generator, first, count, words);
#endif
#ifdef STENCIL_HAVE_RANDOM123
    stencil_random_philox_words(random->seed, first, count, words);
    return STENCIL_OK;
#else
    (void)first, (void)count, (void)words;
    FAIL(INTERNAL, "the random stream is not open");
#endif
}

int stencil_random_words_per_number(stencil_precision precision) {
    return precision == STENCIL_FLOAT64 ? 2 : 1;
}

double stencil_random_uniform(stencil_precision precision, const uint32_t *word) {
    if (precision == STENCIL_FLOAT32)
        return (double)(word[0] >> 8) * 0x1p-24;
    return (double)(((uint64_t)word[1] << 32 | word[0]) >> 11) * 0x1p-53;
}
