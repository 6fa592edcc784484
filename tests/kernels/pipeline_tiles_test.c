/* Tiles of the pipeline sweep in 3D, and how blocks share them out, held against what they have to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/sweeps/pipeline.h"

/* A tile stores cells that it has right, each is stored by one tile, whole sectors between them. */
static void check_tiles(int64_t n, const int beside[2], int64_t reach, int64_t extent, int64_t vector,
                        int64_t sector) {
    const stencil_pipeline_tiles t = stencil_pipeline_tiles_of(n, beside, reach, extent, vector, sector);
    int64_t stored = 0;
    assert_true(t.count >= 1);
    assert_true(t.first <= -beside[0]);
    for (int64_t k = 0; k < t.count; k++) {
        const int64_t from = t.first + k * t.step,
                      right = k == t.count - 1 ? n + beside[1] : from + extent - reach,
                      end = k == t.count - 1 ? n : from + t.step + t.margin;
        assert_int_equal(from % vector, 0);
        assert_true(k == 0 || stored >= from + reach);
        assert_true(stored < end);
        assert_true(end <= right && right <= from + extent);
        assert_true(k == t.count - 1 || end % sector == 0);
        stored = end;
    }
    assert_int_equal(stored, n);
}

static void tiles_store_each_cell_once_in_whole_sectors(void **state) {
    (void)state;
    for (int f64 = 0; f64 < 2; f64++)
        for (int radius = 1; radius <= 2; radius++)
            for (int depth = 1; depth <= 4; depth++)
                for (int open = 0; open < 4; open++)
                    for (int64_t n = 1; n < 700; n++) {
                        const int cell = f64 ? 8 : 4, reach = radius * depth;
                        const int beside[2] = {open & 1 ? reach : radius, open & 2 ? reach : radius};
                        check_tiles(n, beside, reach, f64 ? 64 : 128, STENCIL_PIPELINE_VECTOR_BYTES / cell,
                                    STENCIL_PIPELINE_SECTOR_BYTES / cell);
                        check_tiles(n, beside, reach, 32, 1, 1);
                    }
}

/* Each plane of each tile is in one piece of one block. */
static void check_shares(int tiles, int64_t planes, int more, int blocks) {
    const stencil_pipeline_shares shares = stencil_pipeline_share(tiles, planes, more, blocks);
    int *made = calloc((size_t)(tiles * planes), sizeof *made);
    assert_non_null(made);
    for (int block = 0; block < blocks; block++) {
        stencil_pipeline_piece piece;
        for (int k = 0; stencil_pipeline_piece_of(&shares, block, k, &piece); k++)
            for (int64_t z = piece.planes[0]; z < piece.planes[1]; z++) {
                assert_true(piece.tile >= 0 && piece.tile <= tiles - 1);
                assert_true(z >= 0 && z <= planes - 1);
                made[piece.tile * planes + z]++;
            }
    }
    for (int64_t i = 0; i < tiles * planes; i++)
        assert_int_equal(made[i], 1);
    free(made);
}

static void blocks_share_out_every_plane(void **state) {
    (void)state;
    for (int tiles = 1; tiles < 60; tiles++)
        for (int blocks = 1; blocks < 30; blocks++)
            for (int64_t planes = 1; planes < 40; planes += 13)
                check_shares(tiles, planes, 3 * (tiles % 4), blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_store_each_cell_once_in_whole_sectors),
        cmocka_unit_test(blocks_share_out_every_plane),
    };
    return cmocka_run_group_tests_name("pipeline_tiles", tests, NULL, NULL);
}
