#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/random.h"

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

static const uint64_t seeds[] = {0, 1, 42, UINT64_C(0x123456789abcdef1), UINT64_MAX};
enum { SEED_COUNT = sizeof seeds / sizeof *seeds, WORD_COUNT = 1200007 };

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

/* The whole stream of a source at once and in odd pieces equals the reference. */
static void check_source(stencil_random_source source) {
    uint32_t *words = malloc((size_t)WORD_COUNT * sizeof *words);
    assert_non_null(words);
    for (int s = 0; s < SEED_COUNT; s++) {
        stencil_random random;
        const stencil_status opened = stencil_random_open(&random, seeds[s], source);
        if (opened == STENCIL_UNAVAILABLE && source != STENCIL_RANDOM_AUTO) {
            free(words);
            skip();
        }
        files_expect(opened, STENCIL_OK, "");
        const int64_t piece = s == 0 ? WORD_COUNT : 99991 + s;
        for (int64_t at = 0; at < WORD_COUNT; at += piece)
            files_expect(stencil_random_words(&random, (uint64_t)at,
                                              at + piece < WORD_COUNT ? piece : WORD_COUNT - at, words + at),
                         STENCIL_OK, "");
        int64_t different = 0;
        for (int64_t i = 0; i < WORD_COUNT; i++)
            different += words[i] != word(seeds[s], (uint64_t)i);
        assert_int_equal(different, 0);
        stencil_random_close(&random);
        stencil_random_close(&random);
    }
    free(words);
}

static void random123_follows_the_reference(void **state) {
    (void)state;
    check_source(STENCIL_RANDOM_PHILOX);
}

static void curand_follows_the_reference(void **state) {
    (void)state;
    check_source(STENCIL_RANDOM_CURAND);
}

static void some_source_is_there(void **state) {
    (void)state;
    check_source(STENCIL_RANDOM_AUTO);
}

/* Short pieces anywhere, far out in the stream as well. */
static void check_pieces(stencil_random_source source) {
    static const uint64_t firsts[] = {
        0, 1, 3, 262143, 262144, UINT64_C(0x3fffffffd), UINT64_C(0x1000000000001)};
    stencil_random random;
    if (stencil_random_open(&random, 7, source) == STENCIL_UNAVAILABLE)
        skip();
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
        for (int count = 1; count < 12; count++) {
            uint32_t words[16];
            memset(words, 0xab, sizeof words);
            files_expect(stencil_random_words(&random, firsts[f], count, words), STENCIL_OK, "");
            for (int i = 0; i < count; i++)
                assert_int_equal(words[i], word(7, firsts[f] + (uint64_t)i));
            assert_int_equal(words[count], UINT32_C(0xabababab));
        }
    stencil_random_close(&random);
}

static void random123_gives_any_piece(void **state) {
    (void)state;
    check_pieces(STENCIL_RANDOM_PHILOX);
}

static void curand_gives_any_piece(void **state) {
    (void)state;
    check_pieces(STENCIL_RANDOM_CURAND);
}

static void numbers_are_uniform_and_exact(void **state) {
    (void)state;
    const uint32_t none[2] = {0, 0}, all[2] = {UINT32_MAX, UINT32_MAX}, low[2] = {1u << 11, 0};
    assert_true(stencil_random_uniform(STENCIL_FLOAT32, none) == 0.0);
    assert_true(stencil_random_uniform(STENCIL_FLOAT64, none) == 0.0);
    assert_true(stencil_random_uniform(STENCIL_FLOAT32, all) == 1.0 - 0x1p-24);
    assert_true(stencil_random_uniform(STENCIL_FLOAT64, all) == 1.0 - 0x1p-53);
    assert_true(stencil_random_uniform(STENCIL_FLOAT64, low) == 0x1p-53);
    assert_int_equal(stencil_random_words_per_number(STENCIL_FLOAT32), 1);
    assert_int_equal(stencil_random_words_per_number(STENCIL_FLOAT64), 2);

    enum { COUNT = 100000 };
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint32_t pair[2] = {word(3, 2 * i), word(3, 2 * i + 1)};
        const double value = stencil_random_uniform(STENCIL_FLOAT64, pair);
        sum += value;
        squares += value * value;
        const double single = stencil_random_uniform(STENCIL_FLOAT32, pair);
        assert_true((double)(float)single == single);
    }
    assert_true(fabs(sum / COUNT - 0.5) < 0.005);
    assert_true(fabs(squares / COUNT - 1.0 / 3.0) < 0.005);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_philox),
        cmocka_unit_test(some_source_is_there),
        cmocka_unit_test(random123_follows_the_reference),
        cmocka_unit_test(curand_follows_the_reference),
        cmocka_unit_test(random123_gives_any_piece),
        cmocka_unit_test(curand_gives_any_piece),
        cmocka_unit_test(numbers_are_uniform_and_exact),
    };
    return cmocka_run_group_tests_name("inputs: random numbers", tests, NULL, NULL);
}
