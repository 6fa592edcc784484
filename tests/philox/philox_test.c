/* The stream of random numbers, compared with Philox as the paper has it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "philox/philox.h"

/* Philox4x32-10 written down from the paper, for comparison. */
static void philox(uint32_t c[4], uint64_t seed) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a};
        memcpy(c, next, sizeof next);
        key[0] += UINT32_C(0x9E3779B9);
        key[1] += UINT32_C(0xBB67AE85);
    }
}

static uint32_t word(uint64_t seed, uint64_t index) {
    const uint64_t b = index / 4, round = b / 65536;
    uint32_t c[4] = {(uint32_t)round, (uint32_t)(round >> 32), (uint32_t)(b % 65536), 0};
    philox(c, seed);
    return c[index % 4];
}

/* Known answers published with the algorithm (Random123, kat_vectors). */
static void reference_is_philox(void **state) {
    (void)state;
    uint32_t zero[4] = {0}, ones[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    const uint32_t zero_answer[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const uint32_t ones_answer[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    const uint32_t pi_answer[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    philox(zero, 0);
    philox(ones, UINT64_MAX);
    philox(pi, UINT64_C(0x299f31d0a4093822));
    assert_memory_equal(zero, zero_answer, sizeof zero);
    assert_memory_equal(ones, ones_answer, sizeof ones);
    assert_memory_equal(pi, pi_answer, sizeof pi);
}

static double float64_of(uint64_t seed, uint64_t index) {
    return (double)(((uint64_t)word(seed, 2 * index + 1) << 32 | word(seed, 2 * index)) >> 11) * 0x1p-53;
}

static double float32_of(uint64_t seed, uint64_t index) {
    return (double)(word(seed, index) >> 8) * 0x1p-24;
}

/* All four words of a block, and their numbers, from the first one on, and anywhere far out in the stream. */
static void numbers_follow_the_reference(void **state) {
    static const uint64_t seeds[] = {0, 1, 42, UINT64_C(0x123456789abcdef1), UINT64_MAX};
    static const uint64_t firsts[] = {0, 65535, UINT64_C(0xfffffffe), UINT64_C(0x400000000000)};
    (void)state;
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++)
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
            for (uint64_t b = firsts[f]; b < firsts[f] + 100000; b++) {
                uint32_t words[4];
                stencil_random_words(seeds[s], b, words);
                for (uint64_t i = 0; i < 4; i++)
                    assert_int_equal(words[i], word(seeds[s], 4 * b + i));
                for (uint64_t i = 2 * b; i < 2 * b + 2; i++)
                    assert_true(stencil_random_number(seeds[s], STENCIL_FLOAT64, i) ==
                                float64_of(seeds[s], i));
                for (uint64_t i = 4 * b; i < 4 * b + 4; i++)
                    assert_true(stencil_random_number(seeds[s], STENCIL_FLOAT32, i) ==
                                float32_of(seeds[s], i));
            }
}

static void numbers_are_uniform_and_exact(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const double value = stencil_random_number(3, STENCIL_FLOAT64, i);
        assert_true(value == float64_of(3, i));
        sum += value;
        squares += value * value;
        const double single = stencil_random_number(3, STENCIL_FLOAT32, i);
        assert_true(single == float32_of(3, i));
        assert_true((double)(float)single == single);
    }
    assert_true(fabs(sum / COUNT - 0.5) < 0.005);
    assert_true(fabs(squares / COUNT - 1.0 / 3.0) < 0.005);
}

static void cells_are_numbers_times_a_factor(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static double cells[COUNT + 1];
    for (int p = 0; p < STENCIL_PRECISION_COUNT; p++) {
        const stencil_random_cells random = {5, (stencil_precision)p, -0.3};
        cells[COUNT] = 2;
        stencil_random_fill(&random, 262141, COUNT, cells);
        for (uint64_t i = 0; i < COUNT; i++)
            assert_true(cells[i] == -0.3 * stencil_random_number(5, (stencil_precision)p, 262141 + i));
        assert_true(cells[COUNT] == 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_philox),
        cmocka_unit_test(numbers_follow_the_reference),
        cmocka_unit_test(numbers_are_uniform_and_exact),
        cmocka_unit_test(cells_are_numbers_times_a_factor),
    };
    return cmocka_run_group_tests_name("random numbers", tests, NULL, NULL);
}
