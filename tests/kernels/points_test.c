#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/points.h"

/* Number of points, and of those with k offsets that are not 0, of every named set. */
static const struct {
    const char *name;
    int rank, count, reach;
    int axes[4];
} known[] = {
    {"j2d5pt", 2, 5, 1, {1, 4, 0, 0}},     {"j2ds9pt", 2, 9, 2, {1, 8, 0, 0}},
    {"j2d9pt", 2, 9, 1, {1, 4, 4, 0}},     {"j2d25pt", 2, 25, 2, {1, 8, 16, 0}},
    {"j2d49pt", 2, 49, 3, {1, 12, 36, 0}}, {"j3d7pt", 3, 7, 1, {1, 6, 0, 0}},
    {"j3d13pt", 3, 13, 2, {1, 12, 0, 0}},  {"j3d17pt", 3, 17, 1, {1, 4, 4, 8}},
    {"j3d19pt", 3, 19, 1, {1, 6, 12, 0}},  {"j3d27pt", 3, 27, 1, {1, 6, 12, 8}},
};

static void the_named_sets_have_their_points(void **state) {
    (void)state;
    assert_int_equal(STENCIL_SHAPE_COUNT, sizeof known / sizeof *known);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const stencil_shape *shape = stencil_shape_find(known[i].name);
        assert_non_null(shape);
        int32_t offset[STENCIL_POINTS_MAX][3];
        int axes[4] = {0}, reach = 0;
        assert_int_equal(stencil_shape_offsets(shape, offset), known[i].count);
        assert_int_equal(shape->point_count, known[i].count);
        assert_int_equal(shape->rank, known[i].rank);
        assert_int_equal(shape->radius, known[i].reach);
        for (int k = 0; k < known[i].count; k++) {
            int used = 0;
            for (int axis = 0; axis < 3; axis++) {
                used += offset[k][axis] != 0;
                reach = abs(offset[k][axis]) > reach ? abs(offset[k][axis]) : reach;
            }
            axes[used]++;
            if (shape->rank == 2)
                assert_int_equal(offset[k][STENCIL_Z], 0);
        }
        assert_int_equal(reach, known[i].reach);
        assert_memory_equal(axes, known[i].axes, sizeof axes);
    }
}

static void offsets_ascend_and_are_symmetric(void **state) {
    (void)state;
    for (int s = 0; s < STENCIL_SHAPE_COUNT; s++) {
        int32_t offset[STENCIL_POINTS_MAX][3];
        const int count = stencil_shape_offsets(&stencil_shapes[s], offset);
        for (int k = 0; k < count; k++) {
            /* 100 is more than any offset, so this number orders like (z, y, x). */
            const int here = (offset[k][0] * 100 + offset[k][1]) * 100 + offset[k][2];
            if (k > 0)
                assert_true((offset[k - 1][0] * 100 + offset[k - 1][1]) * 100 + offset[k - 1][2] < here);
            for (int axis = 0; axis < 3; axis++)
                assert_int_equal(offset[k][axis], -offset[count - 1 - k][axis]);
        }
    }
}

static void the_rows_are_in_order(void **state) {
    (void)state;
    for (int s = 0; s < STENCIL_SHAPE_COUNT; s++) {
        assert_int_equal(stencil_shapes[s].id, s);
        assert_ptr_equal(stencil_shape_find(stencil_shapes[s].name), &stencil_shapes[s]);
        assert_true(stencil_shapes[s].point_count <= STENCIL_POINTS_MAX);
        assert_true(stencil_shapes[s].radius <= STENCIL_RADIUS_MAX);
        assert_true(strlen(stencil_shapes[s].description) > 0);
    }
    assert_null(stencil_shape_find("j2d6pt"));
    assert_null(stencil_shape_find(""));
    assert_null(stencil_shape_find("J2D5PT"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_sets_have_their_points),
        cmocka_unit_test(offsets_ascend_and_are_symmetric),
        cmocka_unit_test(the_rows_are_in_order),
    };
    return cmocka_run_group_tests_name("points", tests, NULL, NULL);
}
