/* Digests: of a whole array, of its boxes in any cut and order, and of arrays that differ by very little. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "solver/problem/digest.h"

static uint64_t chance = 5;
static int64_t below(int64_t end) {
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((chance >> 33) % (uint64_t)end);
}

/* An array with gaps between its rows, whose first cell has the index `first`. */
typedef struct array {
    stencil_box box;
    stencil_field field;
} array;

static array make(stencil_precision precision, const int64_t n[3], int64_t first) {
    array a = {.box = {{n[0] > 1 ? first : 0, first, first}, {n[0], n[1], n[2]}}};
    stencil_layout layout;
    assert_int_equal(stencil_layout_init(&layout, precision, n, (const int64_t[]){n[0] > 1, 1, 1}),
                     STENCIL_OK);
    assert_int_equal(stencil_field_create(&a.field, &layout, "test"), STENCIL_OK);
    return a;
}

static stencil_cells cells_of(const array *a) {
    stencil_cells cells = stencil_field_cells(&a->field);
    memcpy(cells.first, a->box.first, sizeof cells.first);
    return cells;
}

/* Where the value of a cell stands, by its number in the array. */
static void *value_at(const array *a, int64_t number) {
    const int64_t *n = a->box.n, x = number % n[2], y = number / n[2] % n[1], z = number / n[2] / n[1];
    const stencil_cells cells = stencil_field_cells(&a->field);
    return (char *)cells.at +
           (z * cells.plane + y * cells.row + x) * (int64_t)stencil_precision_bytes(cells.precision);
}

static void set(const array *a, int64_t number, double value) {
    if (a->field.layout.precision == STENCIL_FLOAT64)
        *(double *)value_at(a, number) = value;
    else
        *(float *)value_at(a, number) = (float)value;
}

static array make_random(stencil_precision precision, const int64_t n[3], int64_t first) {
    const array a = make(precision, n, first);
    for (int64_t i = 0; i < stencil_box_cells(&a.box); i++)
        set(&a, i, (double)below(1 << 20) / 3.0 - 1e5);
    return a;
}

static void add(stencil_digest *digest, const array *a, const stencil_box *box) {
    const stencil_cells all = cells_of(a), cells = stencil_cells_from(&all, box->first);
    stencil_digest_add(digest, &a->box, box, &cells);
}

static stencil_digest whole(const array *a) {
    stencil_digest digest = {{0, 0}};
    add(&digest, a, &a->box);
    return digest;
}

#define EXPECT_EQUAL(a, b) assert_memory_equal(&(a), &(b), sizeof(stencil_digest))
static void expect_other(const stencil_digest *a, const stencil_digest *b) {
    assert_true(a->lane[0] != b->lane[0]);
    assert_true(a->lane[1] != b->lane[1]);
}

/* Zeros leave the numbers of SplitMix64 with the seed 0, whose first ones are published with its sources. */
static void zeros_sum_up_splitmix(void **state) {
    (void)state;
    static const uint64_t number[] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4),
                                      UINT64_C(0x06c45d188009454f)};
    char text[STENCIL_DIGEST_CHARS], wanted[STENCIL_DIGEST_CHARS];
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++) {
        uint64_t sum = 0;
        for (int64_t count = 1; count <= 3; count++) {
            const array a = make((stencil_precision)precision, (const int64_t[]){1, 1, count}, 0);
            const stencil_digest digest = whole(&a);
            sum += number[count - 1];
            assert_true(digest.lane[0] == sum);
            stencil_digest_text(&digest, text);
            snprintf(wanted, sizeof wanted, "%016llx%016llx", (unsigned long long)sum,
                     (unsigned long long)digest.lane[1]);
            assert_string_equal(text, wanted);
            stencil_field_destroy((stencil_field *)&a.field);
        }
    }
}

/* Halves a box at random places until nobody can, and adds what is left, the second half first now and then.
 */
static void add_in_pieces(stencil_digest *digest, const array *a, const stencil_box *box) {
    const int axis = (int)below(3);
    if (stencil_box_cells(box) == 0)
        return;
    if (below(8) == 0 || stencil_box_cells(box) == 1) {
        add(digest, a, box);
        return;
    }
    stencil_box half[2] = {*box, *box};
    half[0].n[axis] = below(box->n[axis] + 1);
    half[1].first[axis] += half[0].n[axis];
    half[1].n[axis] -= half[0].n[axis];
    const int64_t second = below(2);
    add_in_pieces(digest, a, &half[second]);
    add_in_pieces(digest, a, &half[1 - second]);
}

static void boxes_of_any_cut_add_up(void **state) {
    (void)state;
    static const int64_t n[][3] = {{1, 1, 1}, {1, 37, 61}, {19, 23, 31}, {1, 3, 20000}, {40, 50, 60}};
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
        for (size_t i = 0; i < sizeof n / sizeof *n; i++)
            for (int64_t first = -2; first <= 0; first++) {
                array a = make_random((stencil_precision)precision, n[i], first);
                const stencil_digest all = whole(&a);
                for (int k = 0; k < 5; k++) {
                    stencil_digest pieces = {{0, 0}};
                    add_in_pieces(&pieces, &a, &a.box);
                    EXPECT_EQUAL(pieces, all);
                }
                stencil_field_destroy(&a.field);
            }
}

static void threads_change_nothing(void **state) {
    (void)state;
    array a = make_random(STENCIL_FLOAT32, (const int64_t[]){1, 301, 203}, 0);
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const stencil_digest one = whole(&a);
    for (int threads = 2; threads <= 5; threads++) {
        stencil_digest shared = {{0, 0}};
        omp_set_num_threads(threads);
        const stencil_digest many = whole(&a);
        EXPECT_EQUAL(many, one);
        /* Called by the threads of a region, each for boxes of its own. */
#pragma omp parallel
        {
            stencil_digest own = {{0, 0}};
#pragma omp for
            for (int64_t y = 0; y < a.box.n[1]; y++)
                add(&own, &a, &(stencil_box){{0, y, 0}, {1, 1, a.box.n[2]}});
#pragma omp critical
            for (int lane = 0; lane < 2; lane++)
                shared.lane[lane] += own.lane[lane];
        }
        EXPECT_EQUAL(shared, one);
    }
    omp_set_num_threads(before);
    stencil_field_destroy(&a.field);
}

/* A bit of any cell, two cells that change places, the sign of a zero, a value that moves on by a row. */
static void any_change_shows(void **state) {
    (void)state;
    static const int64_t n[3] = {3, 11, 13};
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++) {
        array a = make_random((stencil_precision)precision, n, -1);
        const int64_t count = stencil_box_cells(&a.box);
        const size_t bytes = stencil_precision_bytes((stencil_precision)precision);
        const stencil_digest before = whole(&a);
        for (int64_t i = 0; i < count; i++)
            for (size_t bit = 0; bit < 8 * bytes; bit += 7) {
                unsigned char *byte = (unsigned char *)value_at(&a, i) + bit / 8;
                *byte ^= (unsigned char)(1 << bit % 8);
                const stencil_digest changed = whole(&a);
                expect_other(&changed, &before);
                *byte ^= (unsigned char)(1 << bit % 8);
            }
        for (int64_t i = 0; i < count; i++) {
            const int64_t other = (i + 1 + below(count - 1)) % count;
            char kept[8];
            if (memcmp(value_at(&a, i), value_at(&a, other), bytes) == 0)
                continue;
            memcpy(kept, value_at(&a, i), bytes);
            memcpy(value_at(&a, i), value_at(&a, other), bytes);
            memcpy(value_at(&a, other), kept, bytes);
            const stencil_digest swapped = whole(&a);
            expect_other(&swapped, &before);
            memcpy(value_at(&a, other), value_at(&a, i), bytes);
            memcpy(value_at(&a, i), kept, bytes);
        }
        const stencil_digest after = whole(&a);
        EXPECT_EQUAL(after, before);
        set(&a, 20, 0.0);
        const stencil_digest plus = whole(&a);
        set(&a, 20, -0.0);
        const stencil_digest minus = whole(&a);
        expect_other(&plus, &minus);
        stencil_field_destroy(&a.field);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_sum_up_splitmix),
        cmocka_unit_test(boxes_of_any_cut_add_up),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(any_change_shows),
    };
    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
