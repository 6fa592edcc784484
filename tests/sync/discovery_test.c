/* Occupancy discovery and the barrier between the blocks found: of an ordinary launch of more blocks than are
 * resident at once, those that take part have numbers 0 to count - 1, are no more than fit, and wait for each
 * other; the rest ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "discovery.h"
#include "sync/host.h"

enum { PASSES = 40, BLOCKS_MAX = 8192, LAUNCHES = 8 };

#define CUDA(call) assert_int_equal(call, cudaSuccess)
#define OK(call)   assert_int_equal(call, STENCIL_OK)

static int64_t resident_of(unsigned threads) {
    const stencil_grid grid = {.blocks = 1, .block_x = threads, .block_y = 1};
    int64_t resident;
    OK(stencil_grid_resident(discovery_kernel(1), &grid, &resident));
    return resident;
}

/* The results of a launch. */
typedef struct seen {
    stencil_discovery poll;
    uint32_t missing, ended, given; /* numbers given out once, from 0 on without a gap */
} seen;

static uint32_t *words_of(size_t count) {
    void *memory;
    CUDA(cudaMalloc(&memory, count * sizeof(uint32_t)));
    CUDA(cudaMemset(memory, 0, count * sizeof(uint32_t)));
    return memory;
}

static void read_words(void *to, const void *from, size_t bytes) {
    CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

static seen launch(unsigned threads, uint32_t blocks, int waits) {
    static uint32_t taken[BLOCKS_MAX];
    const stencil_barrier_shape shape = {.info = &stencil_barriers[STENCIL_BARRIER_lock_free],
                                         .parts = 1,
                                         .first = {0, blocks},
                                         .timeout_s = 20};
    stencil_barrier barrier;
    OK(stencil_barrier_create(&barrier, &shape));
    uint32_t *const words = words_of(2 * (size_t)blocks + 2);
    discovery_passes p = {.state = barrier.state[0],
                          .poll = (stencil_discovery *)words_of(stencil_discovery_bytes(blocks) / 4),
                          .passes = PASSES,
                          .most = blocks,
                          .taken = words,
                          .word = words + blocks,
                          .missing = words + 2 * (size_t)blocks,
                          .ended = words + 2 * (size_t)blocks + 1};
    seen s = {.given = 0};
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaLaunchKernel(discovery_kernel(waits), (dim3){blocks, 1, 1}, (dim3){threads, 1, 1},
                          (void *[]){&p}, 0, NULL));
    CUDA(cudaDeviceSynchronize());
    OK(stencil_barrier_check(&barrier));
    read_words(&s.poll, p.poll, sizeof s.poll);
    read_words(&s.missing, p.missing, sizeof s.missing);
    read_words(&s.ended, p.ended, sizeof s.ended);
    read_words(taken, p.taken, blocks * sizeof *taken);
    while (s.given < blocks && taken[s.given] == 1)
        s.given++;
    for (uint32_t i = s.given; i < blocks; i++)
        assert_int_equal(taken[i], 0);
    CUDA(cudaFree(p.poll));
    CUDA(cudaFree(words));
    stencil_barrier_destroy(&barrier);
    return s;
}

static void check(unsigned threads, uint32_t blocks) {
    const int64_t resident = resident_of(threads);
    const seen s = launch(threads, blocks, 1);
    assert_int_equal(s.ended, blocks);
    assert_int_equal(s.poll.closed, 1);
    assert_int_equal(s.poll.count, s.given);
    assert_true(s.given >= 1 && s.given <= resident);
    /* Blocks take the lock once, those that take part twice. */
    assert_int_equal(s.poll.ticket, blocks + s.given);
    assert_int_equal(s.poll.serving, s.poll.ticket);
    assert_int_equal(s.missing, 0);
    printf("%u threads: %u of %u blocks found, %lld resident\n", threads, s.given, blocks,
           (long long)resident);
}

static void more_blocks_than_are_resident(void **state) {
    (void)state;
    for (int i = 0; i < LAUNCHES; i++)
        for (unsigned threads = 32; threads <= 1024; threads *= 4) {
            const int64_t blocks = 3 * resident_of(threads) + 1;
            check(threads, (uint32_t)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX));
        }
}

static void one_block_and_few(void **state) {
    (void)state;
    for (uint32_t blocks = 1; blocks <= 4; blocks++)
        check(64, blocks);
}

/* Blocks that do not wait are seen to be missing. */
static void without_the_barrier(void **state) {
    uint32_t missing = 0;
    (void)state;
    for (int i = 0; i < LAUNCHES; i++)
        missing += launch(64, (uint32_t)resident_of(64), 0).missing;
    assert_true(missing > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_blocks_than_are_resident),
        cmocka_unit_test(one_block_and_few),
        cmocka_unit_test(without_the_barrier),
    };
    if (cudaSetDevice(0) != cudaSuccess) {
        printf("no GPU\n");
        return 77;
    }
    return cmocka_run_group_tests_name("occupancy discovery", tests, NULL, NULL);
}
