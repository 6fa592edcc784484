/* Who waits for whom and who sends what to whom, found again cell by cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/parts/workers.h"
#include "solver/problem/problem.h"

/* Who makes a cell: tiles numbered within their part, and their owner, by plain counting. */
static uint32_t owner_of(const stencil_cut *cut, const stencil_workers *w, const int64_t cell[3]) {
    uint32_t before = 0, all = 0, tile = 0;
    int part = -1;
    uint32_t tiles_of[STENCIL_PARTS_MAX];
    for (int p = 0; p < cut->parts; p++) {
        int64_t count[3], at[3];
        bool inside = true;
        const stencil_box box = stencil_cut_box(cut, p);
        const int64_t *first = box.first, *n = box.n;
        for (int axis = 0; axis < 3; axis++) {
            count[axis] = (n[axis] + w->tile[axis] - 1) / w->tile[axis];
            at[axis] = (cell[axis] - first[axis]) / w->tile[axis];
            inside = inside && cell[axis] >= first[axis] && cell[axis] < first[axis] + n[axis];
        }
        tiles_of[p] = (uint32_t)(count[0] * count[1] * count[2]);
        if (inside) {
            part = p;
            before = all;
            tile = (uint32_t)((at[0] * count[1] + at[1]) * count[2] + at[2]);
        }
        all += tiles_of[p];
    }
    assert_true(part >= 0);
    uint32_t owner = 0;
    if (!w->together) {
        for (uint32_t t = 0; t < tile; t++) /* round-robin */
            owner = w->first[part] + owner + 1 == w->first[part + 1] ? 0 : owner + 1;
        return w->first[part] + owner;
    }
    while (before + tile >= stencil_share(all, w->first[cut->parts], owner + 1))
        owner++;
    return owner;
}

/* What a cell reads: the points of the shape; in several steps whatever is that far. */
static int offsets_of(const stencil_problem *p, const stencil_cut *cut, int32_t offset[][3]) {
    const int reach = (int)cut->mesh.ghosts[STENCIL_X];
    int count = 0;
    if (reach == p->shape->radius)
        return stencil_shape_offsets(p->shape, offset);
    for (int y = -reach; y <= reach; y++)
        for (int x = -reach; x <= reach; x++)
            memcpy(offset[count++], (const int32_t[]){0, y, x}, 3 * sizeof(int32_t));
    return count;
}

/* Who reads whom, found cell by cell: table[a * participants + b]. */
static void find_reads(const stencil_problem *p, const stencil_cut *cut, const stencil_workers *w,
                       bool *table) {
    static int32_t offset[1024][3];
    const int points = offsets_of(p, cut, offset);
    const uint32_t participants = w->first[cut->parts];
    for (int64_t i = 0; i < p->n[0] * p->n[1] * p->n[2]; i++) {
        const int64_t cell[3] = {i / p->n[2] / p->n[1], i / p->n[2] % p->n[1], i % p->n[2]};
        const uint32_t reader = owner_of(cut, w, cell);
        for (int k = 0; k < points; k++) {
            int64_t other[3];
            bool exists = true;
            for (int axis = 0; axis < 3; axis++) {
                const int64_t n = p->n[axis];
                int64_t at = cell[axis] + offset[k][axis];
                if (at < 0 || at >= n) {
                    exists = exists && p->boundary[axis] != STENCIL_FIXED;
                    at = p->boundary[axis] == STENCIL_PERIODIC ? (at + n) % n
                         : at < 0                              ? -1 - at
                                                               : 2 * n - 1 - at;
                }
                other[axis] = at;
            }
            if (exists)
                table[reader * participants + owner_of(cut, w, other)] = true;
        }
    }
}

static bool listed(const stencil_neighbors *n, uint32_t a, uint32_t b) {
    for (uint32_t i = n->first[a]; i < n->first[a + 1]; i++)
        if (n->list[i] == b)
            return true;
    return false;
}

static void expect_neighbors(const stencil_problem *p, const stencil_cut *cut, const stencil_workers *w,
                             int variant) {
    static bool table[64 * 64];
    const uint32_t participants = w->first[cut->parts];
    stencil_neighbors n;
    assert_true(participants <= 64);
    memset(table, 0, sizeof table);
    find_reads(p, cut, w, table);
    assert_int_equal(stencil_neighbors_find(&n, cut, w), STENCIL_OK);
    for (uint32_t a = 0; a < participants; a++)
        for (uint32_t b = 0; b < participants; b++) {
            const bool expected = a != b && table[a * participants + b];
            if (listed(&n, a, b) != expected)
                fail_msg("%s variant %d, %d parts: %u %s %u", p->shape->name, variant, cut->parts, a,
                         expected ? "misses" : "waits in vain for", b);
            assert_int_equal(listed(&n, a, b), listed(&n, b, a));
        }
    stencil_neighbors_destroy(&n);
}

typedef void (*expectation)(const stencil_problem *p, const stencil_cut *cut, const stencil_workers *w,
                            int variant);

/* All shapes, boundaries, odd tilings and cuts; for passes of `depth` steps those in 2D that have room. */
static void with_all(expectation expect, bool together, int depth) {
    static const int cuts[][3] = {{1, 1, 1}, {1, 3, 1}, {2, 1, 1}, {2, 2, 1}, {1, 1, 3}, {1, 2, 2}};
    for (int s = 0; s < STENCIL_SHAPE_COUNT; s++)
        for (int variant = 0; variant < 18; variant++) {
            const stencil_shape *shape = &stencil_shapes[s];
            const int *count = cuts[variant % 6];
            const bool flat = shape->rank == 2, wide = count[2] > 1;
            if ((flat && count[0] > 1) || (depth > 1 && !flat))
                continue;
            stencil_problem p = {.rank = shape->rank,
                                 .shape = shape,
                                 .precision = STENCIL_FLOAT64,
                                 .n = {flat ? 1 : 7, 9, wide ? 140 : 13}};
            for (int axis = 0; axis < 3; axis++) {
                p.boundary[axis] =
                    flat && axis == 0 ? STENCIL_FIXED : (stencil_boundary)((variant / 6 + axis) % 3);
                p.radius[axis] = flat && axis == 0 ? 0 : shape->radius;
                p.layout.ghost[axis] = p.radius[axis];
            }
            const stencil_mesh mesh = stencil_problem_mesh(&p, depth);
            stencil_cut cut;
            stencil_workers w = {
                .tile = {flat ? 1 : 1 + variant % 3, 2 + variant % 2, wide ? 33 : 5 - variant % 4},
                .together = together && variant % 4 == 3};
            const stencil_status status =
                stencil_cut_make(&cut, &mesh, count[0] * count[1] * count[2], count);
            if (depth > 1 && (status != STENCIL_OK || !stencil_mesh_has_room(&mesh)))
                continue;
            assert_int_equal(status, STENCIL_OK);
            for (int part = 0; part < cut.parts; part++)
                w.first[part + 1] = w.first[part] + (uint32_t)(1 + (part + variant) % 7);
            expect(&p, &cut, &w, variant);
        }
}

/* Exactly those that are read, and symmetric. */
static void neighbors(void **state) {
    (void)state;
    with_all(expect_neighbors, true, 1);
    with_all(expect_neighbors, true, 2);
    with_all(expect_neighbors, true, 3);
}

/* The cell of the whole problem whose number stands at (z, y, x), as the boundaries continue it; -1: fixed
 * ghost cells. Numbers of all cells in turn. */
static int64_t number_at(const stencil_problem *p, const int64_t cell[3]) {
    int64_t number = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t n = p->n[axis];
        int64_t at = cell[axis];
        if ((at < 0 || at >= n) && p->boundary[axis] == STENCIL_FIXED)
            return -1;
        if (p->boundary[axis] == STENCIL_PERIODIC)
            at = (at + n) % n;
        else
            at = at < 0 ? -1 - at : at >= n ? 2 * n - 1 - at : at;
        number = number * n + at;
    }
    return number;
}

/* Each part's buffer, its own cells filled with their numbers. */
static void fill_parts(const stencil_problem *p, const stencil_cut *cut, const stencil_layout *layout,
                       int64_t **buffer) {
    for (int part = 0; part < cut->parts; part++) {
        int64_t c[3];
        const stencil_box box = stencil_cut_box(cut, part);
        const int64_t *first = box.first, *n = box.n;
        const size_t elements = (size_t)stencil_layout_bytes(layout) / sizeof(double);
        buffer[part] = malloc(elements * sizeof(int64_t));
        for (size_t i = 0; i < elements; i++)
            buffer[part][i] = -2;
        for (c[0] = 0; c[0] < n[0]; c[0]++)
            for (c[1] = 0; c[1] < n[1]; c[1]++)
                for (c[2] = 0; c[2] < n[2]; c[2]++)
                    buffer[part][layout->origin + c[0] * layout->plane + c[1] * layout->row + c[2]] =
                        number_at(p, (const int64_t[]){first[0] + c[0], first[1] + c[1], first[2] + c[2]});
    }
}

static int part_of(const stencil_workers *w, int parts, uint32_t participant) {
    int part = 0;
    while (part + 1 < parts && participant >= w->first[part + 1])
        part++;
    return part;
}

/* Beside a cell of a part (its box, its cells u) stands in others' cells what all points of the shape read.
 * The part's own ghost cells are kept by its sweep. */
static void expect_seen(const stencil_problem *p, const stencil_cut *cut, const stencil_box *box,
                        const int64_t cell[3], const int64_t *u, int variant) {
    int32_t offset[STENCIL_POINTS_MAX][3];
    const int points = stencil_shape_offsets(p->shape, offset);
    for (int k = 0; k < points; k++) {
        int64_t at[3], from[3];
        for (int axis = 0; axis < 3; axis++) {
            at[axis] = cell[axis] + offset[k][axis];
            from[axis] = at[axis] - box->first[axis];
        }
        const int64_t seen = u[stencil_layout_offset(&cut->layout, from)], number = number_at(p, at);
        int64_t owner = number;
        bool own = true;
        for (int axis = 2; axis >= 0; owner /= p->n[axis--]) {
            const int64_t of_axis = owner % p->n[axis] - box->first[axis];
            own = own && of_axis >= 0 && of_axis < box->n[axis];
        }
        if (number >= 0 && !own && seen != number)
            fail_msg("%s variant %d: a point of cell (%lld, %lld, %lld) reads %lld for %lld", p->shape->name,
                     variant, (long long)cell[0], (long long)cell[1], (long long)cell[2], (long long)seen,
                     (long long)number);
    }
}

/* Every participant sends its cells; then one alone receives its own, and must find beside each of its cells
 * what all its points read; it leaves the ghost cells as they were. */
static void expect_ll(const stencil_problem *p, const stencil_cut *cut, const stencil_workers *w,
                      int variant) {
    int64_t *buffer[STENCIL_PARTS_MAX];
    uint64_t *words[STENCIL_PARTS_MAX];
    const stencil_layout layout = cut->layout;
    const int64_t each = stencil_ll_words(p->precision), most = each * stencil_ll_slots_most(cut);
    uint64_t *const all = malloc((size_t)(cut->parts * most + 1) * sizeof *all);
    stencil_ll_lists found;
    for (int64_t i = 0; i < cut->parts * most; i++)
        all[i] = (uint64_t)-3;
    for (int part = 0; part < cut->parts; part++)
        words[part] = all + part * most;
    assert_int_equal(stencil_ll_find(&found, cut, w, words), STENCIL_OK);
    fill_parts(p, cut, &layout, buffer);
    for (int part = 0; part < cut->parts; part++)
        assert_true(each * found.slots[part] <= most);
    const uint32_t participants = w->first[cut->parts];
    for (uint32_t q = 0; q < participants; q++)
        for (uint32_t i = found.send.first[q]; i < found.send.first[q + 1]; i++) {
            const stencil_ll_entry *l = &found.send.item[i];
            assert_true(l->word >= all && l->word < all + cut->parts * most);
            assert_true((l->word - all) % most < each * found.slots[(l->word - all) / most]);
            assert_int_equal((l->word - all) % most % each, 0);
            assert_int_equal((int64_t)*l->word, -3); /* nobody else sends it */
            *l->word = (uint64_t)buffer[part_of(w, cut->parts, q)][layout.origin + l->cell];
        }
    for (uint32_t q = 0; q < participants; q++) {
        const int part = part_of(w, cut->parts, q);
        const stencil_box box = stencil_cut_box(cut, part);
        const int64_t *first = box.first, *n = box.n;
        int64_t *u = buffer[part] + layout.origin, c[3];
        for (uint32_t i = found.receive.first[q]; i < found.receive.first[q + 1]; i++) {
            const stencil_ll_entry *l = &found.receive.item[i];
            assert_int_equal((l->word - all) / most, part);
            assert_int_equal(u[l->cell], -2);
            u[l->cell] = (int64_t)*l->word;
        }
        for (c[0] = 0; c[0] < n[0]; c[0]++)
            for (c[1] = 0; c[1] < n[1]; c[1]++)
                for (c[2] = 0; c[2] < n[2]; c[2]++) {
                    const int64_t cell[3] = {first[0] + c[0], first[1] + c[1], first[2] + c[2]};
                    if (owner_of(cut, w, cell) == q)
                        expect_seen(p, cut, &box, cell, u, variant);
                }
        for (uint32_t i = found.receive.first[q]; i < found.receive.first[q + 1]; i++)
            u[found.receive.item[i].cell] = -2;
    }
    for (int part = 0; part < cut->parts; part++)
        free(buffer[part]);
    free(all);
    stencil_ll_destroy(&found);
}

static bool fits(const stencil_problem *p) {
    const stencil_mesh mesh = stencil_problem_mesh(p, 1);
    return stencil_ll_fits(&mesh);
}

/* Points that reach less far than their shape need ghost cells less deep than the shape looks, but where
 * those are fixed. A ring of one cell across is the smallest field with such points. */
static void thin_points(void **state) {
    (void)state;
    stencil_problem p = {.rank = 2,
                         .shape = stencil_shape_find("j2d25pt"),
                         .n = {1, 64, 1},
                         .radius = {0, 2, 0},
                         .boundary = {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_PERIODIC}};
    assert_false(fits(&p));
    p.boundary[STENCIL_X] = STENCIL_FIXED;
    assert_true(fits(&p));
    p.radius[STENCIL_Y] = 1;
    assert_false(fits(&p));
    p.boundary[STENCIL_Y] = STENCIL_FIXED;
    assert_true(fits(&p));
}

static void ll_exchange(void **state) {
    (void)state;
    with_all(expect_ll, false, 1);
}

/* Tiles that touch, also by a corner, also in another part and around periodic axes, are neighbours; blocks
 * without a tile have none. */
static void grids_of_tiles(void **state) {
    (void)state;
    static const struct {
        int parts;
        int64_t tiles[3];
        bool periodic[3];
    } grid[] = {{1, {1, 9, 14}, {false, false, false}}, {2, {1, 3, 4}, {false, true, false}},
                {3, {1, 2, 3}, {false, false, true}},   {1, {3, 4, 5}, {true, false, true}},
                {1, {1, 1, 1}, {false, true, true}},    {2, {1, 1, 2}, {false, true, true}}};
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++) {
        const int64_t *n = grid[i].tiles, of_part = n[0] * n[1] * n[2],
                      extent[3] = {n[0], n[1] * grid[i].parts, n[2]};
        uint32_t first[STENCIL_PARTS_MAX + 1] = {0};
        for (int p = 0; p < grid[i].parts; p++)
            first[p + 1] = first[p] + (uint32_t)of_part + 2; /* two blocks without a tile */
        stencil_neighbors found;
        assert_int_equal(stencil_neighbors_of_grid(&found, grid[i].parts, first, n, grid[i].periodic),
                         STENCIL_OK);
        for (uint32_t a = 0; a < first[grid[i].parts]; a++)
            for (uint32_t b = 0; b < first[grid[i].parts]; b++) {
                bool beside = a != b;
                int64_t place[2][3];
                for (int k = 0; k < 2; k++) {
                    const uint32_t block = k == 0 ? a : b;
                    const int64_t part = block / (of_part + 2), tile = block % (of_part + 2);
                    beside = beside && tile < of_part;
                    place[k][0] = tile / (n[1] * n[2]), place[k][2] = tile % n[2];
                    place[k][1] = tile / n[2] % n[1] + part * n[1];
                }
                for (int axis = 0; axis < 3; axis++) {
                    const int64_t apart = llabs(place[0][axis] - place[1][axis]);
                    beside = beside && (apart <= 1 || (grid[i].periodic[axis] && apart == extent[axis] - 1));
                }
                if (listed(&found, a, b) != beside)
                    fail_msg("grid %zu: %u %s %u", i, a, beside ? "misses" : "waits in vain for", b);
            }
        stencil_neighbors_destroy(&found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_of_tiles),
        cmocka_unit_test(neighbors),
        cmocka_unit_test(ll_exchange),
        cmocka_unit_test(thin_points),
    };
    return cmocka_run_group_tests_name("neighbors", tests, NULL, NULL);
}
