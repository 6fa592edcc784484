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

#include "long_lists.h"

enum { PASSES = 200, BLOCKS = 120 };

#define CUDA(call) assert_int_equal(call, cudaSuccess)

/* All blocks but block 0 wait for each other; block 0 and block 1 do so too, or not. Block 0 stands at the
 * end of the list of block 1. The longest list. */
static uint32_t fill(uint32_t *first, uint32_t *list, bool with_late) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < BLOCKS; b++) {
        first[b] = count;
        for (uint32_t other = 1; other < BLOCKS; other++)
            if (other != b && b != 0)
                list[count++] = other;
        if (with_late && b < 2)
            list[count++] = 1 - b;
    }
    first[BLOCKS] = count;
    return first[2] - first[1];
}

/* How often block 1 went on before block 0 had arrived. `bound`: of the lists, as the barrier is told; 0: the
 * right one. */
static uint32_t missing(unsigned threads, bool with_late, uint32_t bound) {
    const size_t words = stencil_barrier_word_count(BLOCKS), lists = BLOCKS + 1 + BLOCKS * BLOCKS;
    const size_t zeroed = words + STENCIL_ALARM_WORDS + 2;
    uint32_t *device, *host = malloc(lists * sizeof *host), alarm[STENCIL_ALARM_WORDS], result;
    assert_non_null(host);
    const uint32_t most = fill(host, host + BLOCKS + 1, with_late);
    assert_true(most > threads); /* so the last ones are not watched by threads that watch nothing else */
    CUDA(cudaMalloc((void **)&device, (zeroed + lists) * sizeof *device));
    CUDA(cudaMemset(device, 0, zeroed * sizeof *device));
    CUDA(cudaMemcpy(device + zeroed, host, lists * sizeof *host, cudaMemcpyHostToDevice));
    long_lists_passes p = {.state = {.words = device,
                                     .participants = BLOCKS,
                                     .parts = 1,
                                     .neighbor_first = device + zeroed,
                                     .neighbor = device + zeroed + BLOCKS + 1,
                                     .neighbor_most = bound > 0 ? bound : most,
                                     .timeout_ns = 2000000000,
                                     .alarm = device + words},
                           .passes = PASSES,
                           .done = device + zeroed - 2,
                           .missing = device + zeroed - 1};
    void *arguments[] = {&p};
    const dim3 grid = {BLOCKS, 1, 1}, block = {threads, 1, 1};
    CUDA(cudaLaunchCooperativeKernel(long_lists_kernel(), grid, block, arguments, 0, NULL));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(alarm, p.state.alarm, sizeof alarm, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&result, p.missing, sizeof result, cudaMemcpyDeviceToHost));
    assert_int_equal(alarm[0], 0);
    CUDA(cudaFree(device));
    free(host);
    return result;
}

static void waits_for_the_end_of_the_list(void **state) {
    (void)state;
    for (unsigned threads = 32; threads <= 96; threads += 32)
        assert_int_equal(missing(threads, true, 0), 0);
}

/* Who is not waited for is seen to be missing: without it in the list, and where the barrier takes the lists
 * for short ones. */
static void sees_who_is_not_waited_for(void **state) {
    (void)state;
    assert_true(missing(32, false, 0) > 0);
    assert_true(missing(32, true, 1) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_end_of_the_list),
        cmocka_unit_test(sees_who_is_not_waited_for),
    };
    int blocks_per_sm = 0, sm_count = 0;
    if (cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess) {
        printf("no GPU\n");
        return 77;
    }
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, long_lists_kernel(), 96, 0) !=
            cudaSuccess ||
        blocks_per_sm * sm_count < BLOCKS) {
        printf("%d blocks are not resident at once\n", BLOCKS);
        return 77;
    }
    return cmocka_run_group_tests_name("long lists", tests, NULL, NULL);
}
