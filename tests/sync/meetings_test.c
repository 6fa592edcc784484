/* Every barrier, thousands of times in a row: no block goes on before all blocks of all parts have come, and
 * none waits for a meeting that is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "meetings.h"
#include "sync/host.h"

enum { MEETINGS = 1000, PARTS_MOST = 3 };

static int devices;

#define CUDA(call) assert_int_equal(call, cudaSuccess)
#define OK(call)                                                                                             \
    do                                                                                                       \
        if ((call) != STENCIL_OK)                                                                            \
            fail_msg("%s", stencil_error_last()->message);                                                   \
    while (false)

/* Participants that form a ring, across all parts. */
static void ring(stencil_barrier *barrier, uint32_t all) {
    uint32_t first[PARTS_MOST * MEETINGS_BLOCKS_MAX + 1], list[2 * PARTS_MOST * MEETINGS_BLOCKS_MAX];
    for (uint32_t b = 0; b < all; b++) {
        first[b] = 2 * b;
        list[2 * b] = (b + all - 1) % all;
        list[2 * b + 1] = (b + 1) % all;
    }
    first[all] = 2 * all;
    OK(stencil_barrier_set_neighbors(barrier, first, list, false));
}

static void meet(stencil_barrier_id id, int parts, uint32_t blocks, unsigned threads) {
    const stencil_barrier_info *const info = &stencil_barriers[id];
    stencil_barrier_shape shape = {.info = info, .parts = parts, .timeout_s = 0.5};
    const stencil_grid grid = {.blocks = blocks,
                               .block_x = threads,
                               .block_y = 1,
                               .cluster_blocks = info->needs == STENCIL_NEEDS_CLUSTERS ? 2 : 0};
    stencil_barrier barrier;
    meetings of = {.count = MEETINGS, .blocks = blocks};
    for (int p = 0; p < parts; p++) {
        shape.device[p] = p;
        shape.first[p + 1] = (uint32_t)(p + 1) * blocks;
    }
    OK(stencil_barrier_create(&barrier, &shape));
    if (info->needs == STENCIL_NEEDS_NEIGHBORS)
        ring(&barrier, (uint32_t)parts * blocks);
    for (int p = 0; p < parts; p++)
        of.come[p] = stencil_barrier_spare(&barrier, p);
    for (int p = 0; p < parts; p++) {
        int64_t resident;
        CUDA(cudaSetDevice(p));
        OK(stencil_grid_resident(meetings_kernel(id), &grid, &resident));
        assert_true(resident >= blocks);
    }
    for (int p = 0; p < parts; p++) {
        of.state = barrier.state[p];
        of.wrong = of.come[p] + MEETINGS_BLOCKS_MAX;
        CUDA(cudaSetDevice(p));
        OK(stencil_grid_launch(meetings_kernel(id), &grid, &of, NULL));
    }
    for (int p = 0; p < parts; p++) {
        CUDA(cudaSetDevice(p));
        CUDA(cudaDeviceSynchronize());
    }
    if (stencil_barrier_check(&barrier) != STENCIL_OK)
        fail_msg("%s, %d parts of %u blocks of %u threads: %s", info->name, parts, blocks, threads,
                 stencil_error_last()->message);
    for (int p = 0; p < parts; p++) {
        uint32_t seen[MEETINGS_BLOCKS_MAX + 1];
        CUDA(cudaMemcpy(seen, of.come[p], sizeof seen, cudaMemcpyDeviceToHost));
        for (uint32_t b = 0; b < blocks; b++)
            assert_int_equal(seen[b], MEETINGS);
        if (seen[MEETINGS_BLOCKS_MAX] != 0)
            fail_msg("%s, %d parts of %u blocks of %u threads: %u blocks went on too early", info->name,
                     parts, blocks, threads, seen[MEETINGS_BLOCKS_MAX]);
    }
    stencil_barrier_destroy(&barrier);
}

static bool is_here(stencil_barrier_id id) {
    int major;
    CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    return 10 * major >= stencil_barriers[id].capability; /* all of them end in 0 */
}

static void one_part(void **state) {
    (void)state;
    for (int id = 1; id < STENCIL_BARRIER_COUNT; id++)
        for (unsigned threads = 32; threads <= 96 && is_here((stencil_barrier_id)id); threads += 64)
            meet((stencil_barrier_id)id, 1, threads == 32 ? 8 : 4, threads);
}

/* Barriers between the blocks of several GPUs. */
static void several_parts(void **state) {
    static const stencil_barrier_id spans[] = {STENCIL_BARRIER_multi_grid, STENCIL_BARRIER_neighbor};
    (void)state;
    if (devices < 2)
        skip();
    for (int parts = 2; parts <= PARTS_MOST && parts <= devices; parts++)
        for (int k = 0; k < 2; k++) {
            meet(spans[k], parts, 3, 32);
            meet(spans[k], parts, 4, 96);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_part), cmocka_unit_test(several_parts)};
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no GPU\n");
        return 77;
    }
    return cmocka_run_group_tests_name("meetings", tests, NULL, NULL);
}
