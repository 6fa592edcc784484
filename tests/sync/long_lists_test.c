/* Barrier neighbor with lists that are longer than a block has threads to watch them: nobody passes before
 * those at the end of its list have arrived. No field that a run cuts into tiles makes such lists on GPUs of
 * one kind, so they are made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <cuda_runtime_api.h>

#include "bench/benchmarks/grid_kernels.h"

enum { PASSES = 300 };

static int sm_count;

#define CUDA(call) assert_int_equal(call, cudaSuccess)

/* All other blocks, the two next to it (at whose words the kernel looks after each pass) last or left out. */
static uint32_t fill(uint32_t *first, uint32_t *list, uint32_t blocks, bool with_next) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        first[b] = count;
        for (uint32_t away = 2; away < blocks - 1; away++)
            list[count++] = (b + away) % blocks;
        if (with_next) {
            list[count++] = (b + 1) % blocks;
            list[count++] = (b + blocks - 1) % blocks;
        }
    }
    first[blocks] = count;
    return count / blocks;
}

/* How often a block went on before one next to it had arrived. */
static uint32_t missing(unsigned threads, bool with_next) {
    const uint32_t blocks = (uint32_t)sm_count;
    const size_t words = stencil_barrier_word_count(blocks), lists = blocks + 1 + (size_t)blocks * blocks;
    const size_t zeroed = words + STENCIL_ALARM_WORDS + blocks + 1;
    uint32_t *device, *host = malloc(lists * sizeof *host), found[STENCIL_ALARM_WORDS], result;
    assert_non_null(host);
    const uint32_t most = fill(host, host + blocks + 1, blocks, with_next);
    assert_true(most > threads); /* watched by one thread more than once */
    CUDA(cudaMalloc((void **)&device, (zeroed + lists) * sizeof *device));
    CUDA(cudaMemset(device, 0, zeroed * sizeof *device));
    CUDA(cudaMemcpy(device + zeroed, host, lists * sizeof *host, cudaMemcpyHostToDevice));
    stencil_grid_passes p = {.state = {.words = device,
                                       .participants = blocks,
                                       .parts = 1,
                                       .neighbor_first = device + zeroed,
                                       .neighbor = device + zeroed + blocks + 1,
                                       .neighbor_most = most,
                                       .timeout_ns = 2000000000,
                                       .alarm = device + words},
                             .passes = PASSES,
                             .word = device + words + STENCIL_ALARM_WORDS,
                             .missing = device + zeroed - 1};
    void *arguments[] = {&p};
    const dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
    CUDA(cudaLaunchCooperativeKernel(stencil_grid_kernel(STENCIL_BARRIER_neighbor, true), grid, block,
                                     arguments, 0, NULL));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(found, p.state.alarm, sizeof found, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&result, p.missing, sizeof result, cudaMemcpyDeviceToHost));
    assert_int_equal(found[0], 0);
    CUDA(cudaFree(device));
    free(host);
    return result;
}

static void waits_for_the_end_of_the_list(void **state) {
    (void)state;
    for (unsigned threads = 32; threads <= 96; threads += 32)
        assert_int_equal(missing(threads, true), 0);
}

/* The same without them: who is not waited for is seen to be missing. */
static void sees_who_is_not_in_the_list(void **state) {
    (void)state;
    assert_true(missing(32, false) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_end_of_the_list),
        cmocka_unit_test(sees_who_is_not_in_the_list),
    };
    if (cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess) {
        printf("no GPU\n");
        return 77;
    }
    if (sm_count < 100) {
        printf("%d multiprocessors: lists are not long enough\n", sm_count);
        return 77;
    }
    return cmocka_run_group_tests_name("long lists", tests, NULL, NULL);
}
