/* Barrier neighbor with lists that are longer than a block has threads to watch them: nobody passes before
 * those at the end of its list have arrived. No field that a run cuts into tiles makes such lists on GPUs of
 * one kind, so they are made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "long_lists.h"
#include "sync/host.h"

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

#define OK(call) assert_int_equal(call, STENCIL_OK)

/* How often block 1 went on before block 0 had arrived. `bound`: of the lists, as the barrier is told; 0: the
 * right one. */
static uint32_t missing(unsigned threads, bool with_late, uint32_t bound) {
    static uint32_t first[BLOCKS + 1], list[BLOCKS * BLOCKS];
    const stencil_barrier_shape shape = {.info = &stencil_barriers[STENCIL_BARRIER_neighbor],
                                         .parts = 1,
                                         .first = {0, BLOCKS},
                                         .timeout_s = 2};
    const stencil_grid grid = {.blocks = BLOCKS, .block_x = threads, .block_y = 1};
    stencil_barrier barrier;
    uint32_t result;
    const uint32_t most = fill(first, list, with_late);
    assert_true(most > threads); /* so the last ones are not watched by threads that watch nothing else */
    OK(stencil_barrier_create(&barrier, &shape));
    OK(stencil_barrier_set_neighbors(&barrier, first, list, false));
    assert_int_equal(barrier.state[0].neighbor_most, most);
    if (bound > 0)
        barrier.state[0].neighbor_most = bound;
    uint32_t *const spare = stencil_barrier_spare(&barrier, 0);
    long_lists_passes p = {.state = barrier.state[0], .passes = PASSES, .done = spare, .missing = spare + 1};
    OK(stencil_grid_launch(long_lists_kernel(), &grid, &p, NULL));
    CUDA(cudaDeviceSynchronize());
    OK(stencil_barrier_check(&barrier));
    CUDA(cudaMemcpy(&result, p.missing, sizeof result, cudaMemcpyDeviceToHost));
    stencil_barrier_destroy(&barrier);
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
    const stencil_grid grid = {.blocks = BLOCKS, .block_x = 96, .block_y = 1};
    int64_t resident;
    if (cudaSetDevice(0) != cudaSuccess) {
        printf("no GPU\n");
        return 77;
    }
    if (stencil_grid_resident(long_lists_kernel(), &grid, &resident) != STENCIL_OK || resident < BLOCKS) {
        printf("%d blocks are not resident at once\n", BLOCKS);
        return 77;
    }
    return cmocka_run_group_tests_name("long lists", tests, NULL, NULL);
}
