/* Plans without memory behind them: what is refused before anything is allocated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "solver/neighbors.h"
#include "solver/run.h"

static void problem_of(stencil_problem *problem, const char *stencil, int64_t ny, int64_t nx) {
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = ny;
    spec.extent[1] = nx;
    spec.precision = STENCIL_FLOAT32;
    snprintf(spec.stencil, sizeof spec.stencil, "%s", stencil);
    assert_int_equal(stencil_problem_resolve(problem, &spec), STENCIL_OK);
}

static void unknown_strategy(void **state) {
    (void)state;
    stencil_machine machine = {.cpu_threads = 2};
    stencil_problem problem;
    stencil_plan plan;
    problem_of(&problem, "j2d5pt", 9, 9);
    const stencil_run_options options = {.sync = "nonsense", .backend = STENCIL_BACKEND_CPU};
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_USAGE);
    assert_non_null(strstr(stencil_error_last()->message, "nonsense"));
}

static void too_large_for_the_host(void **state) {
    (void)state;
    stencil_machine machine = {.cpu_threads = 2};
    stencil_problem problem;
    stencil_plan plan;
    problem_of(&problem, "j2d5pt", 1 << 22, 1 << 22);
    const stencil_run_options options = {.backend = STENCIL_BACKEND_CPU};
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_NO_MEMORY);
    assert_non_null(strstr(stencil_error_last()->message, "TiB of host memory"));
}

/* Who makes a cell: tiles numbered within their part, and their owner, by plain counting. */
static uint32_t owner_of(const stencil_cut *cut, const stencil_workers *w, const int64_t cell[3]) {
    uint32_t before = 0, all = 0, tile = 0;
    int part = -1;
    uint32_t tiles_of[STENCIL_PARTS_MAX];
    for (int p = 0; p < cut->parts; p++) {
        int64_t first[3], n[3], count[3], at[3];
        bool inside = true;
        stencil_cut_box(cut, p, first, n);
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
    const uint32_t participants = w->together ? w->first[cut->parts] : w->first[part + 1] - w->first[part];
    const uint32_t items = w->together ? all : tiles_of[part], item = w->together ? before + tile : tile;
    uint32_t owner = 0;
    while (item >= stencil_share(items, participants, owner + 1))
        owner++;
    return w->together ? owner : w->first[part] + owner;
}

/* Who reads whom, found cell by cell: table[a * participants + b]. */
static void find_reads(const stencil_problem *p, const stencil_cut *cut, const stencil_workers *w,
                       bool *table) {
    int32_t offset[STENCIL_POINTS_MAX][3];
    const int points = stencil_shape_offsets(p->shape, offset);
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
    assert_int_equal(stencil_neighbors_find(&n, p, cut, w), STENCIL_OK);
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

/* Exactly those that are read, and symmetric, on all shapes, boundaries, odd tilings and cuts. */
static void neighbors(void **state) {
    static const int cuts[][3] = {{1, 1, 1}, {1, 3, 1}, {2, 1, 1}, {2, 2, 1}, {1, 1, 3}, {1, 2, 2}};
    (void)state;
    for (int s = 0; s < STENCIL_SHAPE_COUNT; s++)
        for (int variant = 0; variant < 18; variant++) {
            const stencil_shape *shape = &stencil_shapes[s];
            const int *count = cuts[variant % 6];
            const bool flat = shape->rank == 2, wide = count[2] > 1;
            if (flat && count[0] > 1)
                continue;
            stencil_problem p = {
                .rank = shape->rank, .shape = shape, .n = {flat ? 1 : 7, 9, wide ? 140 : 13}};
            for (int axis = 0; axis < 3; axis++) {
                p.boundary[axis] =
                    flat && axis == 0 ? STENCIL_FIXED : (stencil_boundary)((variant / 6 + axis) % 3);
                p.radius[axis] = flat && axis == 0 ? 0 : shape->radius;
            }
            stencil_cut cut;
            stencil_workers w = {
                .tile = {flat ? 1 : 1 + variant % 3, 2 + variant % 2, wide ? 33 : 5 - variant % 4},
                .together = variant % 4 == 3};
            assert_int_equal(stencil_cut_make(&cut, &p, count[0] * count[1] * count[2], count), STENCIL_OK);
            for (int part = 0; part < cut.parts; part++)
                w.first[part + 1] = w.first[part] + (uint32_t)(1 + (part + variant) % 7);
            expect_neighbors(&p, &cut, &w, variant);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_strategy),
        cmocka_unit_test(too_large_for_the_host),
        cmocka_unit_test(neighbors),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
