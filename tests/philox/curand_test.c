/* Words of our streams are those of cuRAND, in its order. Argument: host, for cuRAND's generator that needs
 * no GPU, or gpu, for that on GPU 0 and the cells that philox/gpu.h makes of its words. $STENCIL_CURAND names
 * the library where the loader does not find it; where there is none, or no GPU, the test is skipped. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cuda.h"
#include "base/symbols.h"
#include "philox/gpu.h"

/* The declarations of curand.h that the test needs, so that it is built where only the library is. */
enum { PHILOX4_32_10 = 161, ORDERING_DEFAULT = 101, ORDERING_LEGACY = 103, SKIPPED = 77 };
static struct {
    int (*create)(void **generator, int type);
    int (*create_host)(void **generator, int type);
    int (*destroy)(void *generator);
    int (*set_ordering)(void *generator, int ordering);
    int (*set_seed)(void *generator, unsigned long long seed);
    int (*set_offset)(void *generator, unsigned long long offset);
    int (*generate)(void *generator, unsigned int *words, size_t count);
} curand;

static bool load(char why[96]) {
    const stencil_symbol symbols[] = {{"curandCreateGenerator", &curand.create},
                                      {"curandCreateGeneratorHost", &curand.create_host},
                                      {"curandDestroyGenerator", &curand.destroy},
                                      {"curandSetGeneratorOrdering", &curand.set_ordering},
                                      {"curandSetPseudoRandomGeneratorSeed", &curand.set_seed},
                                      {"curandSetGeneratorOffset", &curand.set_offset},
                                      {"curandGenerate", &curand.generate},
                                      {0}};
    const char *named = getenv("STENCIL_CURAND");
    return stencil_symbols_load(named != NULL && named[0] != '\0' ? named : "libcurand.so.10", symbols, why);
}

/* Words that cuRAND makes for a test, and the memory of the GPU where it does; NULL: it is its generator of
 * the host. */
enum { WORDS = 700001 };
static uint32_t made[WORDS + 1];
static unsigned int *on_gpu;

static void *open_generator(uint64_t seed, int ordering) {
    void *generator = NULL;
    assert_int_equal((on_gpu != NULL ? curand.create : curand.create_host)(&generator, PHILOX4_32_10), 0);
    assert_int_equal(curand.set_ordering(generator, ordering), 0);
    assert_int_equal(curand.set_seed(generator, seed), 0);
    return generator;
}

static void generate(void *generator, size_t count) {
#ifdef STENCIL_HAVE_CUDA
    if (on_gpu != NULL) {
        assert_int_equal(curand.generate(generator, on_gpu, count), 0);
        assert_int_equal(cudaMemcpy(made, on_gpu, count * sizeof *made, cudaMemcpyDeviceToHost), cudaSuccess);
        return;
    }
#endif
    assert_int_equal(curand.generate(generator, made, count), 0);
}

static void compare(void *generator, uint64_t seed, uint64_t first, int64_t count) {
    assert_int_equal(curand.set_offset(generator, first), 0);
    made[count] = 0xabababab;
    generate(generator, (size_t)count);
    assert_int_equal(made[count], 0xabababab);
    uint32_t word[4];
    for (int64_t i = 0; i < count; i++) {
        const uint64_t index = first + (uint64_t)i;
        if (i == 0 || index % 4 == 0)
            stencil_random_words(seed, index / 4, word);
        if (made[i] != word[index % 4])
            fail_msg("seed %" PRIu64 ": word %" PRIu64 " is %08" PRIx32 ", cuRAND's is %08" PRIx32, seed,
                     index, word[index % 4], made[i]);
    }
}

static void compare_once(uint64_t seed, int ordering, uint64_t first, int64_t count) {
    void *generator = open_generator(seed, ordering);
    compare(generator, seed, first, count);
    assert_int_equal(curand.destroy(generator), 0);
}

static const uint64_t seeds[] = {0, 1, 42, UINT64_C(0x80000000), UINT64_C(0x123456789abcdef1), UINT64_MAX};
enum { SEEDS = sizeof seeds / sizeof *seeds };

/* Two turns of all 65,536 subsequences, of a block each, and the beginning of the third. */
static void the_beginning_is_the_same(void **state) {
    (void)state;
    for (int s = 0; s < SEEDS; s++) {
        compare_once(seeds[s], ORDERING_LEGACY, 0, WORDS);
        compare_once(seeds[s], ORDERING_DEFAULT, 0, WORDS);
    }
}

/* Ends of a turn, the first of which is after 65,536 blocks; those where the number of the turn has more than
 * 16 and 32 bits; and the middle of nowhere. From every word of a block on, and few words. */
static void any_piece_is_the_same(void **state) {
    static const uint64_t ends[] = {0,
                                    UINT64_C(1) << 18,
                                    UINT64_C(2) << 18,
                                    UINT64_C(65536) << 18,
                                    UINT64_C(1) << 50,
                                    UINT64_C(123456789012345),
                                    UINT64_C(0x3ffffffffffff0)};
    static const int64_t counts[] = {1, 2, 4, 5, 23};
    (void)state;
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        const uint64_t seed = seeds[e % SEEDS];
        void *generator = open_generator(seed, ORDERING_LEGACY);
        for (uint64_t before = 0; before < 5 && before <= ends[e]; before++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                compare(generator, seed, ends[e] - before, counts[c]);
        assert_int_equal(curand.destroy(generator), 0);
    }
}

/* As many words as cross two ends of a turn, far out. */
static void long_pieces_are_the_same(void **state) {
    static const uint64_t firsts[] = {3, (UINT64_C(65536) << 18) - 300001, (UINT64_C(1) << 50) - 350002};
    (void)state;
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
        compare_once(seeds[f + 2], ORDERING_LEGACY, firsts[f], WORDS);
}

#ifdef STENCIL_HAVE_CUDA
#define CUDA(call) assert_int_equal(call, cudaSuccess)
#define OK(call)                                                                                             \
    do {                                                                                                     \
        if ((call) != STENCIL_OK)                                                                            \
            fail_msg("%s", stencil_error_last()->message);                                                   \
    } while (0)

/* Cells from `first` on that a GPU makes, on the host and in its memory, are those of the host, and no more
 * are written. */
static void compare_cells(const stencil_random_cells *cells, uint64_t first, int64_t count) {
    const size_t bytes = ((size_t)count + 1) * sizeof(double);
    stencil_random_gpu *gpu;
    double *wanted = malloc(bytes), *got = malloc(bytes), *there;
    assert_true(wanted != NULL && got != NULL);
    CUDA(cudaMalloc((void **)&there, bytes));
    stencil_random_fill(cells, first, count, wanted);
    wanted[count] = got[count] = -7;
    OK(stencil_random_gpu_open(&gpu, 0, cells));
    for (int turn = 0; turn < 2; turn++) { /* the second time the generator goes back */
        memset(got, 0xff, bytes - sizeof *got);
        OK(stencil_random_gpu_read(gpu, first, count, got));
        assert_memory_equal(got, wanted, bytes);
    }
    memset(got, 0xff, bytes - sizeof *got);
    CUDA(cudaMemcpy(there, got, bytes, cudaMemcpyHostToDevice));
    OK(stencil_random_gpu_make(gpu, first, count, there));
    CUDA(cudaMemcpy(got, there, bytes, cudaMemcpyDeviceToHost));
    assert_memory_equal(got, wanted, bytes);
    stencil_random_gpu_close(gpu);
    CUDA(cudaFree(there));
    free(got);
    free(wanted);
}

/* A cell, a few, and less and more than one chunk and two; from ends of a turn of both precisions on. */
static void cells_of_a_gpu_are_the_same(void **state) {
    static const int64_t counts[] = {1, 2, 3, 1031, 262147, (2 << 20) - 1, (2 << 20) + 1, (6 << 20) - 5};
    static const uint64_t firsts[] = {
        0, 1, 131071, 262143, (UINT64_C(65536) << 17) - 700, UINT64_C(0xfffffffffff)};
    static const double factors[] = {1, 0.1, -3e300, 1e-320};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
            for (int p = 0; p < STENCIL_PRECISION_COUNT; p++) {
                const stencil_random_cells cells = {seeds[(c + f) % SEEDS], (stencil_precision)p,
                                                    factors[(c + f + (size_t)p) % 4]};
                compare_cells(&cells, firsts[f], counts[c]);
            }
}

static void a_gpu_that_is_not_there_is_refused(void **state) {
    const stencil_random_cells cells = {1, STENCIL_FLOAT64, 1};
    stencil_random_gpu *gpu;
    (void)state;
    assert_int_equal(stencil_random_gpu_open(&gpu, 1000, &cells), STENCIL_UNAVAILABLE);
    assert_null(gpu);
    stencil_random_gpu_close(gpu);
}

static int test_gpu(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_beginning_is_the_same),          cmocka_unit_test(any_piece_is_the_same),
        cmocka_unit_test(long_pieces_are_the_same),           cmocka_unit_test(cells_of_a_gpu_are_the_same),
        cmocka_unit_test(a_gpu_that_is_not_there_is_refused),
    };
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("skipped: no GPU\n");
        return SKIPPED;
    }
    if (cudaMalloc((void **)&on_gpu, WORDS * sizeof *on_gpu) != cudaSuccess) {
        printf("no memory on GPU 0\n");
        return EXIT_FAILURE;
    }
    const int failed = cmocka_run_group_tests_name("cuRAND on a GPU", tests, NULL, NULL);
    cudaFree(on_gpu);
    return failed;
}
#else
static int test_gpu(void) {
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}
#endif

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_beginning_is_the_same),
        cmocka_unit_test(any_piece_is_the_same),
        cmocka_unit_test(long_pieces_are_the_same),
    };
    char why[96] = "";
    if (!load(why)) {
        printf("skipped: %s\n", why);
        return SKIPPED;
    }
    if (argc > 1 && strcmp(argv[1], "gpu") == 0)
        return test_gpu();
    return cmocka_run_group_tests_name("cuRAND", tests, NULL, NULL);
}
