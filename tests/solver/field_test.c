#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/reference.h"
#include "solver/run/run.h"

static int64_t element(const stencil_layout *l, int64_t z, int64_t y, int64_t x) {
    return l->origin + z * l->plane + y * l->row + x;
}

/* Loops over every cell of the layout, ghost cells included. */
#define EACH_CELL(l, z, y, x)                                                                                \
    for (int64_t z = -(l)->ghost[0]; z < (l)->n[0] + (l)->ghost[0]; z++)                                     \
        for (int64_t y = -(l)->ghost[1]; y < (l)->n[1] + (l)->ghost[1]; y++)                                 \
            for (int64_t x = -(l)->ghost[2]; x < (l)->n[2] + (l)->ghost[2]; x++)

static void rows_are_aligned_and_cells_are_apart(void **state) {
    (void)state;
    static const int64_t n[][3] = {{1, 1, 1}, {1, 37, 61}, {19, 23, 31}, {3, 4, 128}, {2, 5, 26}};
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
        for (size_t i = 0; i < sizeof n / sizeof *n; i++)
            for (int64_t r = 0; r <= STENCIL_RADIUS_MAX; r++) {
                const int64_t ghost[3] = {n[i][0] == 1 ? 0 : r, r, r};
                stencil_field field;
                stencil_layout l;
                assert_int_equal(stencil_layout_init(&l, (stencil_precision)precision, n[i], ghost),
                                 STENCIL_OK);
                const int64_t bytes = (int64_t)stencil_precision_bytes((stencil_precision)precision);
                assert_int_equal(stencil_layout_bytes(&l), l.element_count * bytes);
                assert_int_equal(stencil_field_create(&field, &l, "test"), STENCIL_OK);
                char *seen = calloc((size_t)l.element_count, 1);
                EACH_CELL(&l, z, y, x) {
                    const int64_t at = element(&l, z, y, x);
                    assert_true(at >= 0 && at < l.element_count);
                    assert_int_equal(seen[at]++, 0);
                    if (x == 0)
                        assert_int_equal((uintptr_t)((char *)field.data + at * bytes) % 128, 0);
                }
                free(seen);
                stencil_field_destroy(&field);
                assert_null(field.data);
            }
    stencil_field_destroy(NULL);
}

/* Half a page from each other, also from one that is apart already, as after an odd number of steps; whole.
 */
static void buffers_stand_apart(void **state) {
    (void)state;
    const int64_t n[3] = {1, 37, 61}, ghost[3] = {0, 1, 1};
    stencil_layout l;
    stencil_field field[4];
    assert_int_equal(stencil_layout_init(&l, STENCIL_FLOAT64, n, ghost), STENCIL_OK);
    assert_int_equal(stencil_field_create(&field[0], &l, "first"), STENCIL_OK);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(stencil_field_create_apart(&field[i], &field[i - 1], "next"), STENCIL_OK);
        const uintptr_t distance = ((uintptr_t)field[i].data - (uintptr_t)field[i - 1].data) % 4096;
        assert_true(distance > 1024 && distance < 3072 && distance % 128 == 0);
        memset(field[i].data, i, (size_t)stencil_layout_bytes(&l));
    }
    for (int i = 0; i < 4; i++) {
        stencil_field_destroy(&field[i]);
        assert_null(field[i].data);
    }
}

static void layouts_that_overflow_are_refused(void **state) {
    (void)state;
    static const int64_t ghost[3] = {1, 1, 1};
    static const int64_t n[][3] = {{1, INT64_MAX, 1},
                                   {1, 1, INT64_MAX},
                                   {INT64_MAX, 1, 1},
                                   {INT64_C(1) << 21, INT64_C(1) << 21, INT64_C(1) << 21},
                                   {1, INT64_C(1) << 32, INT64_C(1) << 32}};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        stencil_layout l;
        assert_int_equal(stencil_layout_init(&l, STENCIL_FLOAT64, n[i], ghost), STENCIL_BAD_DATA);
    }
}

static void too_large_fields_are_refused(void **state) {
    (void)state;
    static const int64_t n[3] = {1, INT64_C(1) << 28, INT64_C(1) << 28}, ghost[3] = {0, 1, 1};
    stencil_layout l;
    stencil_field field;
    assert_int_equal(stencil_layout_init(&l, STENCIL_FLOAT32, n, ghost), STENCIL_OK);
    assert_int_equal(stencil_field_create(&field, &l, "the field u"), STENCIL_NO_MEMORY);
    assert_null(field.data);
    assert_non_null(strstr(stencil_error_last()->message, "the field u"));
    stencil_field_destroy(&field);
}

static double load(const stencil_field *field, int64_t at) {
    return field->layout.precision == STENCIL_FLOAT64 ? ((const double *)field->data)[at]
                                                      : (double)((const float *)field->data)[at];
}

static void store(stencil_field *field, int64_t at, double value) {
    if (field->layout.precision == STENCIL_FLOAT64)
        ((double *)field->data)[at] = value;
    else
        ((float *)field->data)[at] = (float)value;
}

/* Every cell holds its own number. Where a box as far around as the radius is filled, a ghost cell in it
 * holds that of the cell that its index stands for, and nothing else has changed. */
static void check_ghosts(stencil_field *field, const stencil_boundary boundary[3], const int64_t radius[3]) {
    const stencil_layout *l = &field->layout;
    int64_t number = 1;
    EACH_CELL(l, z, y, x) store(field, element(l, z, y, x), (double)number++);
    stencil_field before = {.layout = *l};
    assert_int_equal(stencil_field_create(&before, l, "copy"), STENCIL_OK);
    memcpy(before.data, field->data, (size_t)stencil_layout_bytes(l));
    stencil_mesh mesh = {.rank = 3, .precision = l->precision, .n = {l->n[0], l->n[1], l->n[2]}};
    for (int axis = 0; axis < 3; axis++) {
        mesh.boundary[axis] = boundary[axis];
        *(boundary[axis] == STENCIL_FIXED ? &mesh.edges[axis] : &mesh.wraps[axis]) = radius[axis];
    }
    stencil_fields fields = {.u = &before};
    const stencil_reader from = {stencil_fields_read, &fields};
    const stencil_box updated = {.n = {l->n[0], l->n[1], l->n[2]}}, all = stencil_box_grow(&updated, radius);
    const stencil_cells cells = stencil_cells_in(l, field->data, updated.first),
                        to = stencil_cells_from(&cells, all.first);
    assert_int_equal(stencil_boxes_fill(&from, &mesh, STENCIL_ARRAY_U, &all, &to), STENCIL_OK);
    EACH_CELL(l, z, y, x) {
        const int64_t at[3] = {z, y, x};
        int64_t from[3];
        bool within = true;
        for (int axis = 0; axis < 3; axis++) {
            within = within && at[axis] >= -radius[axis] && at[axis] < l->n[axis] + radius[axis];
            from[axis] = boundary[axis] == STENCIL_FIXED
                             ? at[axis]
                             : reference_image(at[axis], l->n[axis], boundary[axis]);
        }
        const int64_t source = within ? element(l, from[0], from[1], from[2]) : element(l, z, y, x);
        if (load(field, element(l, z, y, x)) != load(&before, source))
            fail_msg("cell (%lld, %lld, %lld), boundary %s,%s,%s, radius %lld,%lld,%lld: %g instead of %g",
                     (long long)z, (long long)y, (long long)x, stencil_boundary_names[boundary[0]],
                     stencil_boundary_names[boundary[1]], stencil_boundary_names[boundary[2]],
                     (long long)radius[0], (long long)radius[1], (long long)radius[2],
                     load(field, element(l, z, y, x)), load(&before, source));
    }
    stencil_field_destroy(&before);
}

static void ghosts_show_what_their_indices_stand_for(void **state) {
    (void)state;
    static const struct {
        int64_t n[3], ghost[3], radius[3];
    } size[] = {{{1, 7, 9}, {0, 3, 3}, {0, 3, 3}},
                {{1, 5, 3}, {0, 2, 2}, {0, 2, 1}},
                {{3, 4, 5}, {1, 1, 1}, {1, 1, 1}},
                {{6, 5, 7}, {2, 2, 2}, {0, 1, 2}}};
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
        for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
            stencil_layout l;
            stencil_field field;
            assert_int_equal(stencil_layout_init(&l, (stencil_precision)precision, size[i].n, size[i].ghost),
                             STENCIL_OK);
            assert_int_equal(stencil_field_create(&field, &l, "test"), STENCIL_OK);
            for (int b = 0; b < 27; b++) {
                const stencil_boundary boundary[3] = {
                    (stencil_boundary)(b / 9), (stencil_boundary)(b / 3 % 3), (stencil_boundary)(b % 3)};
                check_ghosts(&field, boundary, size[i].radius);
            }
            stencil_field_destroy(&field);
        }
}

static void the_first_cell_that_is_not_finite_is_found(void **state) {
    (void)state;
    static const int64_t n[3] = {5, 6, 70}, ghost[3] = {1, 1, 1}, first[3] = {-1, 0, -1},
                         count[3] = {7, 6, 72};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const int64_t planted[][3] = {{-1, 0, -1}, {0, 0, 0}, {0, 5, 70},
                                         {2, 3, 69},  {4, 5, 7}, {5, 5, 70}};
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++) {
        stencil_layout l;
        stencil_field field;
        int64_t found[3], at[3];
        assert_int_equal(stencil_layout_init(&l, (stencil_precision)precision, n, ghost), STENCIL_OK);
        assert_int_equal(stencil_field_create(&field, &l, "test"), STENCIL_OK);
        /* Outside the window nothing counts. */
        store(&field, element(&l, 0, -1, 3), NAN);
        store(&field, element(&l, 0, 0, 0), precision == STENCIL_FLOAT64 ? 1.7e308 : 3.4e38);
        const stencil_cells all = stencil_cells_in(&l, field.data, (const int64_t[]){0, 0, 0}),
                            cells = stencil_cells_from(&all, first);
        assert_false(stencil_cells_find_nonfinite(&cells, count, found));
        /* From the last to the first, so that the newest is always the first of several. */
        for (size_t i = sizeof planted / sizeof *planted; i-- > 0;) {
            store(&field, element(&l, planted[i][0], planted[i][1], planted[i][2]), bad[i % 3]);
            assert_true(stencil_cells_find_nonfinite(&cells, count, found));
            for (int axis = 0; axis < 3; axis++)
                at[axis] = first[axis] + found[axis];
            assert_memory_equal(at, planted[i], sizeof at);
        }
        stencil_field_destroy(&field);
    }
}

/* Subnormal numbers in every fourth row (2D) or in the upper half of all planes (3D), zeros and a few others
 * beside them. */
static stencil_status read_pattern(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const stencil_mesh *mesh = context;
    assert_int_equal(array, STENCIL_ARRAY_U);
    const int64_t y = box->first[STENCIL_Y];
    const bool small = mesh->rank == 2 ? y % 4 == 0 : 2 * y < mesh->n[STENCIL_Y];
    for (int64_t x = 0; x < box->n[STENCIL_X]; x++)
        if (mesh->precision == STENCIL_FLOAT64)
            ((double *)to->at)[x] = small ? (x % 2 > 0 ? -5e-324 : 2.2e-308) : x % 3 > 0 ? 0.0 : 2.3e-308;
        else
            ((float *)to->at)[x] = small ? (x % 2 > 0 ? -1e-45F : 1.1e-38F) : x % 3 > 0 ? -0.0F : 1.2e-38F;
    return STENCIL_OK;
}

/* In all of a small field, and in rows of a large one that have no period of its own. */
static void subnormal_numbers_are_counted(void **state) {
    (void)state;
    static const struct {
        int rank;
        int64_t n[3];
        double share, within;
    } fields[] = {{2, {1, 16, 33}, 0.25, 0},
                  {3, {3, 6, 5}, 0.5, 0},
                  {2, {1, 4096, 8192}, 0.25, 0.02},
                  {3, {256, 256, 256}, 0.5, 0.02}};
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            stencil_mesh mesh = {.rank = fields[i].rank, .precision = (stencil_precision)precision};
            memcpy(mesh.n, fields[i].n, sizeof mesh.n);
            for (int axis = 0; axis < STENCIL_AXES; axis++)
                mesh.boundary[axis] = STENCIL_MIRROR;
            const stencil_reader from = {read_pattern, &mesh};
            double share = -1;
            assert_int_equal(stencil_boxes_subnormal(&from, &mesh, &share), STENCIL_OK);
            assert_true(fabs(share - fields[i].share) <= fields[i].within);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_aligned_and_cells_are_apart),
        cmocka_unit_test(buffers_stand_apart),
        cmocka_unit_test(layouts_that_overflow_are_refused),
        cmocka_unit_test(too_large_fields_are_refused),
        cmocka_unit_test(ghosts_show_what_their_indices_stand_for),
        cmocka_unit_test(the_first_cell_that_is_not_finite_is_found),
        cmocka_unit_test(subnormal_numbers_are_counted),
    };
    return cmocka_run_group_tests_name("field", tests, NULL, NULL);
}
