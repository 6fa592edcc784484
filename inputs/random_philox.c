#include <Random123/philox.h>
#include <string.h>

#include "inputs/random_sources.h"

static philox4x32_ctr_t block(philox4x32_key_t key, uint64_t index) {
    const uint64_t round = index >> 16;
    const philox4x32_ctr_t counter = {
        {(uint32_t)round, (uint32_t)(round >> 32), (uint32_t)(index & UINT64_C(0xffff)), 0}};
    return philox4x32(counter, key);
}

void stencil_random_philox_words(uint64_t seed, uint64_t first, int64_t count, uint32_t *words) {
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const int64_t head = first % 4 == 0 ? 0 : 4 - (int64_t)(first % 4);
    int64_t done = 0;
    if (head > 0) {
        const philox4x32_ctr_t values = block(key, first / 4);
        for (; done < head && done < count; done++)
            words[done] = values.v[first % 4 + (uint64_t)done];
    }
    const int64_t blocks = (count - done) / 4;
    const uint64_t first_block = (first + (uint64_t)done) / 4;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        const philox4x32_ctr_t values = block(key, first_block + (uint64_t)b);
        memcpy(words + done + 4 * b, values.v, sizeof values.v);
    }
    done += 4 * blocks;
    if (done < count) {
        const philox4x32_ctr_t values = block(key, first_block + (uint64_t)blocks);
        memcpy(words + done, values.v, (size_t)(count - done) * sizeof *words);
    }
}
