#include <curand.h>

#include "inputs/random_sources.h"

stencil_status stencil_random_curand_open(void **generator, uint64_t seed) {
    curandGenerator_t made = NULL;
    curandStatus_t failed = curandCreateGeneratorHost(&made, CURAND_RNG_PSEUDO_PHILOX4_32_10);
    CHECK(failed == CURAND_STATUS_SUCCESS, UNAVAILABLE, "cuRAND has no host generator here (status %d)",
          (int)failed);
    failed = curandSetPseudoRandomGeneratorSeed(made, seed);
    if (failed != CURAND_STATUS_SUCCESS) {
        curandDestroyGenerator(made);
        FAIL(UNAVAILABLE, "cuRAND does not take the seed (status %d)", (int)failed);
    }
    *generator = made;
    return STENCIL_OK;
}

void stencil_random_curand_close(void *generator) {
    curandDestroyGenerator(generator);
}

stencil_status stencil_random_curand_words(void *generator, uint64_t first, int64_t count, uint32_t *words) {
    curandStatus_t failed = curandSetGeneratorOffset(generator, first);
    if (failed == CURAND_STATUS_SUCCESS)
        failed = curandGenerate(generator, words, (size_t)count);
    CHECK(failed == CURAND_STATUS_SUCCESS, INTERNAL, "cuRAND failed (status %d)", (int)failed);
    return STENCIL_OK;
}
