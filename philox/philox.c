#include "philox/philox.h"

#include <Random123/philox.h>

#include "philox/cells.h"

void stencil_random_words(uint64_t seed, uint64_t block, uint32_t word[4]) {
    const uint64_t turn = block >> 16; /* of all subsequences */
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const philox4x32_ctr_t counter = {
        {(uint32_t)turn, (uint32_t)(turn >> 32), (uint32_t)(block & 0xffff), 0}};
    const philox4x32_ctr_t values = philox4x32(counter, key);
    for (int i = 0; i < 4; i++)
        word[i] = values.v[i];
}

double stencil_random_number(uint64_t seed, stencil_precision precision, uint64_t index) {
    const bool wide = precision == STENCIL_FLOAT64;
    const uint64_t first = (uint64_t)stencil_random_words_of(wide) * index;
    uint32_t word[4];
    stencil_random_words(seed, first / 4, word);
    return stencil_random_number_of(wide, word + first % 4);
}

void stencil_random_fill(const stencil_random_cells *c, uint64_t first, int64_t count, double *to) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        to[i] = c->factor * stencil_random_number(c->seed, c->precision, first + (uint64_t)i);
}
