#include "inputs/random.h"

void stencil_random_block(uint64_t seed, uint64_t block, uint32_t word[4]) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint64_t round_robin = block >> 16;
    uint32_t c0 = (uint32_t)round_robin, c1 = (uint32_t)(round_robin >> 32), c2 = block & 0xffff, c3 = 0;
    for (int round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c0, b = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ key[0];
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ key[1];
        c3 = (uint32_t)a;
        key[0] += UINT32_C(0x9E3779B9); /* the golden ratio and the root of 3, less 1, as in the paper */
        key[1] += UINT32_C(0xBB67AE85);
    }
    word[0] = c0, word[1] = c1, word[2] = c2, word[3] = c3;
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
