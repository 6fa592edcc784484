#include "inputs/random.h"

#ifdef STENCIL_HAVE_CURAND
#include <curand.h>

static stencil_status open_curand(stencil_random *random) {
    curandGenerator_t made = NULL;
    curandStatus_t failed = curandCreateGeneratorHost(&made, CURAND_RNG_PSEUDO_PHILOX4_32_10);
    CHECK(failed == CURAND_STATUS_SUCCESS, UNAVAILABLE, "cuRAND has no host generator here (status %d)",
          (int)failed);
    random->generator = made;
    failed = curandSetPseudoRandomGeneratorSeed(made, random->seed);
    CHECK(failed == CURAND_STATUS_SUCCESS, UNAVAILABLE, "cuRAND does not take the seed (status %d)",
          (int)failed);
    random->source = STENCIL_RANDOM_CURAND;
    return STENCIL_OK;
}
#else
static stencil_status open_curand(stencil_random *random) {
    (void)random;
    FAIL(UNAVAILABLE, "this build has no cuRAND: random numbers come from Random123");
}
#endif

#ifdef STENCIL_HAVE_RANDOM123
#include <Random123/philox.h>

static stencil_status open_philox(stencil_random *random) {
    random->source = STENCIL_RANDOM_PHILOX;
    return STENCIL_OK;
}

static void philox_words(uint64_t seed, uint64_t first, int64_t count, uint32_t *words) {
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const int64_t skip = (int64_t)(first % 4), blocks = (skip + count + 3) / 4;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        const uint64_t index = first / 4 + (uint64_t)b, round = index >> 16;
        const philox4x32_ctr_t counter = {
            {(uint32_t)round, (uint32_t)(round >> 32), (uint32_t)(index & UINT64_C(0xffff)), 0}};
        const philox4x32_ctr_t values = philox4x32(counter, key);
        const int64_t at = 4 * b - skip; /* of the block's first word */
        for (int64_t i = at < 0 ? -at : 0; i < 4 && at + i < count; i++)
            words[at + i] = values.v[i];
    }
}
#else
static stencil_status open_philox(stencil_random *random) {
    if (random->source == STENCIL_RANDOM_AUTO) /* what is wrong with cuRAND is known */
        return STENCIL_UNAVAILABLE;
    FAIL(UNAVAILABLE, "this build has no Random123: random numbers come from cuRAND");
}
#endif

stencil_status stencil_random_open(stencil_random *random, uint64_t seed, stencil_random_source source) {
    *random = (stencil_random){.seed = seed, .source = source};
    stencil_status status = STENCIL_UNAVAILABLE;
    if (source != STENCIL_RANDOM_PHILOX)
        status = open_curand(random);
    if (status != STENCIL_OK)
        stencil_random_close(random);
    return status == STENCIL_OK || source == STENCIL_RANDOM_CURAND ? status : open_philox(random);
}

void stencil_random_close(stencil_random *random) {
    if (random == NULL || random->generator == NULL)
        return;
#ifdef STENCIL_HAVE_CURAND
    curandDestroyGenerator(random->generator);
#endif
    random->generator = NULL;
}

stencil_status stencil_random_words(stencil_random *random, uint64_t first, int64_t count, uint32_t *words) {
    CHECK(random->source != STENCIL_RANDOM_AUTO, INTERNAL, "the random stream is not open");
#ifdef STENCIL_HAVE_RANDOM123
    if (random->source == STENCIL_RANDOM_PHILOX)
        philox_words(random->seed, first, count, words);
#endif
#ifdef STENCIL_HAVE_CURAND
    if (random->source == STENCIL_RANDOM_CURAND) {
        curandStatus_t failed = curandSetGeneratorOffset(random->generator, first);
        if (failed == CURAND_STATUS_SUCCESS)
            failed = curandGenerate(random->generator, words, (size_t)count);
        CHECK(failed == CURAND_STATUS_SUCCESS, INTERNAL, "cuRAND failed (status %d)", (int)failed);
    }
#endif
    return STENCIL_OK;
}

int stencil_random_words_per_number(stencil_precision precision) {
    return precision == STENCIL_FLOAT64 ? 2 : 1;
}

double stencil_random_uniform(stencil_precision precision, const uint32_t *word) {
    if (precision == STENCIL_FLOAT32)
        return (double)(word[0] >> 8) * 0x1p-24;
    return (double)(((uint64_t)word[1] << 32 | word[0]) >> 11) * 0x1p-53;
}
