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

/* Who reads whom, found cell by cell. */
static bool reads(const stencil_domain *d, const stencil_shape *shape, const int64_t tile[3],
                  uint32_t participants, uint32_t a, uint32_t b) {
    int32_t offset[STENCIL_POINTS_MAX][3];
    const int points = stencil_shape_offsets(shape, offset);
    const int64_t ty = (d->n[1] + tile[1] - 1) / tile[1], tx = (d->n[2] + tile[2] - 1) / tile[2];
    const int64_t tz = (d->n[0] + tile[0] - 1) / tile[0], tiles = tx * ty * tz;
    for (int64_t i = 0; i < d->n[0] * d->n[1] * d->n[2]; i++) {
        const int64_t cell[3] = {i / d->n[2] / d->n[1], i / d->n[2] % d->n[1], i % d->n[2]};
        for (int k = -1; k < points; k++) {
            int64_t t[3];
            bool inside = true;
            for (int axis = 0; axis < 3; axis++) {
                int64_t at = cell[axis] + (k < 0 ? 0 : offset[k][axis]);
                const int64_t n = d->n[axis];
                if (at < 0 || at >= n) {
                    inside = inside && d->rim[axis] != STENCIL_RIM_NONE;
                    at = d->rim[axis] == STENCIL_RIM_PERIODIC ? (at + n) % n
                         : at < 0                             ? -1 - at
                                                              : 2 * n - 1 - at;
                }
                t[axis] = at / tile[axis];
            }
            const int64_t index = (t[0] * ty + t[1]) * tx + t[2];
            const uint32_t mine = k < 0 && index >= stencil_tile_share((uint32_t)tiles, participants, a) &&
                                  index < stencil_tile_share((uint32_t)tiles, participants, a + 1);
            if (k < 0 && !mine)
                break;
            if (k >= 0 && inside && index >= stencil_tile_share((uint32_t)tiles, participants, b) &&
                index < stencil_tile_share((uint32_t)tiles, participants, b + 1))
                return true;
        }
    }
    return false;
}

static bool listed(const stencil_neighbors *n, uint32_t a, uint32_t b) {
    for (uint32_t i = n->first[a]; i < n->first[a + 1]; i++)
        if (n->list[i] == b)
            return true;
    return false;
}

/* Exactly those that are read, and symmetric, on all shapes, boundaries and odd tilings. */
static void neighbors(void **state) {
    (void)state;
    for (int s = 0; s < STENCIL_SHAPE_COUNT; s++)
        for (int variant = 0; variant < 9; variant++) {
            const stencil_shape *shape = &stencil_shapes[s];
            const bool flat = shape->rank == 2;
            const int64_t tile[3] = {flat ? 1 : 1 + variant % 3, 2 + variant % 2, 5 - variant % 4};
            const uint32_t participants = (uint32_t)(1 + variant * 3);
            stencil_domain d = {.n = {flat ? 1 : 7, 9, 13}};
            for (int axis = flat ? 1 : 0; axis < 3; axis++) {
                d.rim[axis] = (stencil_rim)((variant + axis) % 3);
                d.reach[axis] = d.rim[axis] == STENCIL_RIM_NONE ? 0 : shape->radius;
            }
            stencil_neighbors n;
            assert_int_equal(stencil_neighbors_find(&n, &d, shape, tile, participants), STENCIL_OK);
            for (uint32_t a = 0; a < participants; a++)
                for (uint32_t b = 0; b < participants; b++) {
                    const bool expected = a != b && reads(&d, shape, tile, participants, a, b);
                    if (listed(&n, a, b) != expected)
                        fail_msg("%s variant %d: %u %s %u", shape->name, variant, a,
                                 expected ? "misses" : "waits in vain for", b);
                    assert_int_equal(listed(&n, a, b), listed(&n, b, a));
                }
            stencil_neighbors_destroy(&n);
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
