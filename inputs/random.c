#include "inputs/random.h"

#include <string.h>

#include <Random123/philox.h>

void stencil_random_block(uint64_t seed, uint64_t block, uint32_t word[4]) {
    const uint64_t subsequence = block >> 16;
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const philox4x32_ctr_t counter = {
        {(uint32_t)subsequence, (uint32_t)(subsequence >> 32), (uint32_t)(block & 0xffff), 0}};
    const philox4x32_ctr_t values = philox4x32(counter, key);
    memcpy(word, values.v, sizeof values.v);
}

double stencil_random_number(uint64_t seed, stencil_precision precision, uint64_t index) {
    uint32_t word[4];
    if (precision == STENCIL_FLOAT32) {
        stencil_random_block(seed, index / 4, word);
        return (double)(word[index % 4] >> 8) * 0x1p-24;
    }
    stencil_random_block(seed, index / 2, word);
    const uint32_t *pair = word + index % 2 * 2;
    return (double)(((uint64_t)pair[1] << 32 | pair[0]) >> 11) * 0x1p-53;
}
