#include "specs.h"

#include "base/words.h"

static void points_run_on_the_smallest_set_that_holds_them(void **state) {
    (void)state;
    static const struct {
        int rank, count;
        int32_t offset[3][3]; /* array order, rank entries */
        const char *shape;
        int64_t radius[3]; /* (z, y, x) */
    } expected[] = {
        {2, 1, {{0, 0}}, "j2d5pt", {0, 0, 0}},
        {2, 2, {{0, 1}, {0, -1}}, "j2d5pt", {0, 0, 1}},
        {2, 2, {{1, 1}, {0, 0}}, "j2d9pt", {0, 1, 1}},
        {2, 2, {{-2, 0}, {0, 1}}, "j2ds9pt", {0, 2, 1}},
        {2, 2, {{-2, 1}, {0, 0}}, "j2d25pt", {0, 2, 1}},
        {2, 1, {{0, 3}}, "j2d49pt", {0, 0, 3}},
        {3, 1, {{1, 0, 0}}, "j3d7pt", {1, 0, 0}},
        {3, 1, {{0, 0, -2}}, "j3d13pt", {0, 0, 2}},
        {3, 2, {{1, 1, 1}, {0, 1, 1}}, "j3d17pt", {1, 1, 1}},
        {3, 2, {{1, 1, 0}, {0, 0, 0}}, "j3d19pt", {1, 1, 0}},
        {3, 2, {{1, 1, 0}, {1, 1, 1}}, "j3d27pt", {1, 1, 1}},
    };
    static const double weight[] = {2.0, 3.0, 5.0};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const int rank = expected[i].rank;
        const stencil_problem p = resolved(pointed(rank, expected[i].count, expected[i].offset, weight));
        assert_string_equal(p.shape->name, expected[i].shape);
        assert_memory_equal(p.radius, expected[i].radius, sizeof p.radius);
        int32_t offset[STENCIL_POINTS_MAX][3];
        const int count = stencil_shape_offsets(p.shape, offset);
        for (int k = 0; k < count; k++) {
            double should = 0.0;
            for (int j = 0; j < expected[i].count; j++)
                if (memcmp(offset[k] + 3 - rank, expected[i].offset[j], (size_t)rank * sizeof(int32_t)) == 0)
                    should = weight[j];
            assert_true(p.weight[k] == should);
        }
        for (int axis = 3 - rank; axis < 3; axis++) {
            assert_int_equal(p.n[axis], p.extent[axis] - 2 * p.radius[axis]);
            assert_int_equal(p.first[axis], -p.radius[axis]);
            assert_true(p.layout.ghost[axis] >= p.shape->radius);
        }
    }
}

static void points_that_make_no_sense_are_refused(void **state) {
    (void)state;
    static const double weight[] = {1.0, 1.0, 1.0};
    static const int32_t far[][3] = {{0, 4, 0}}, twice[][3] = {{0, 1, 0}, {0, 1, 0}},
                         huge[][3] = {{INT32_MIN, 0, 0}};
    static const int32_t two[][3] = {{2, 1, 0}}, good[][3] = {{0, 0, 0}, {0, 1, 0}};
    refused(pointed(2, 1, far, weight), "offsets");
    refused(pointed(2, 1, huge, weight), "offsets");
    refused(pointed(2, 2, twice, weight), "twice");
    refused(pointed(3, 1, two, weight), "offsets");
    stencil_spec spec = pointed(2, 2, good, weight);
    spec.weight_count = 3;
    refused(spec, "weights");
    spec.weight_count = 0;
    refused(spec, "weights");
    static const double infinite[] = {1.0, INFINITY}, large[] = {1.0, 1e39};
    refused(pointed(2, 2, good, infinite), "weight");
    spec = pointed(2, 2, good, large);
    assert_true(resolved(spec).weight[3] == 1e39);
    spec.precision = STENCIL_FLOAT32;
    refused(spec, "float32");
}

static void contradictions_are_refused(void **state) {
    (void)state;
    static const int32_t offset[][3] = {{0, 0, 0}};
    static const double weight[] = {1.0};
    refused(blank(2), "stencil");
    refused(named("j2d6pt"), "j2d6pt");
    stencil_spec spec = named("j2d5pt");
    spec.rank = 3;
    spec.extent[2] = 10;
    refused(spec, "j2d5pt");
    spec = named("j2d5pt");
    spec.weight_count = 4;
    refused(spec, "4 weights");
    spec = pointed(2, 1, offset, weight);
    snprintf(spec.stencil, sizeof spec.stencil, "j2d5pt");
    refused(spec, "j2d5pt");
    spec = named("j2d9pt");
    spec.kind = STENCIL_KIND_LAPLACE;
    refused(spec, "j2d9pt");
    spec = pointed(2, 1, offset, weight);
    spec.kind = STENCIL_KIND_HEAT;
    refused(spec, "heat");
    spec = named("j2d5pt");
    spec.source = STENCIL_SOURCE_F;
    refused(spec, "/f");
    spec = equation(STENCIL_KIND_LAPLACE, 2);
    spec.source = STENCIL_SOURCE_F;
    refused(spec, "/f");
    spec = equation(STENCIL_KIND_HEAT, 2);
    spec.source = STENCIL_SOURCE_F;
    refused(spec, "as /q");
    spec.source = STENCIL_SOURCE_Q;
    spec.kind = STENCIL_KIND_POISSON;
    refused(spec, "as /f");
    spec.kind = STENCIL_KIND_LAPLACE;
    refused(spec, "as /f");
    spec = named("j2d5pt");
    spec.source = STENCIL_SOURCE_Q;
    refused(spec, "as /b");
    spec = named("j2d5pt");
    spec.rank = 1;
    refused(spec, "rank 1");
    spec.rank = 4;
    refused(spec, "rank 4");
}

static void numbers_out_of_range_are_refused(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_POISSON, 2);
    static const double bad[] = {0.0, -1.0, NAN, INFINITY, 1e-200};
    spec.spacing_count = 2;
    spec.spacing[0] = 1.0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spec.spacing[1] = bad[i];
        refused(spec, "spacing");
    }
    spec.spacing_count = 3;
    refused(spec, "spacing has 3 entries");
    spec.spacing_count = 0;
    spec.omega = 0.0;
    refused(spec, "omega");
    spec.omega = INFINITY;
    refused(spec, "omega");
    spec = named("j3d7pt");
    spec.boundary_count = 2;
    refused(spec, "boundary has 2 entries");
    spec = named("j2d5pt");
    spec.atol = -1.0;
    refused(spec, "atol");
    spec.atol = INFINITY;
    refused(spec, "atol");
    spec.atol = NAN;
    spec.rtol = -1.0;
    refused(spec, "rtol");
    spec.rtol = 1.0;
    refused(spec, "rtol");
    spec = named("j2d5pt");
    spec.check_every = -1;
    refused(spec, "check_every");
}

static void boundaries_are_set_per_axis(void **state) {
    (void)state;
    stencil_spec spec = named("j3d13pt");
    spec.boundary_count = 3;
    spec.boundary[0] = STENCIL_PERIODIC;
    spec.boundary[1] = STENCIL_FIXED;
    spec.boundary[2] = STENCIL_MIRROR;
    stencil_problem p = resolved(spec);
    assert_memory_equal(p.n, ((int64_t[]){10, 16, 30}), sizeof p.n);
    assert_memory_equal(p.first, ((int64_t[]){0, -2, 0}), sizeof p.first);
    assert_memory_equal(p.extent, ((int64_t[]){10, 20, 30}), sizeof p.extent);
    spec.boundary_count = 1;
    p = resolved(spec);
    assert_memory_equal(p.n, p.extent, sizeof p.n);
    spec = named("j2d5pt");
    spec.boundary_count = 2;
    spec.boundary[0] = STENCIL_MIRROR;
    spec.boundary[1] = STENCIL_FIXED;
    p = resolved(spec);
    assert_memory_equal(p.n, ((int64_t[]){1, 20, 28}), sizeof p.n);
    assert_int_equal(p.boundary[STENCIL_Y], STENCIL_MIRROR);
    assert_int_equal(p.boundary[STENCIL_X], STENCIL_FIXED);
}

static void extents_must_hold_the_stencil(void **state) {
    (void)state;
    for (int boundary = 0; boundary < STENCIL_BOUNDARY_COUNT; boundary++)
        for (int axis = 0; axis < 2; axis++) {
            stencil_spec spec = named("j2d25pt");
            spec.boundary_count = 1;
            spec.boundary[0] = (stencil_boundary)boundary;
            spec.extent[axis] = 5;
            assert_int_equal(resolved(spec).extent[1 + axis], 5);
            spec.extent[axis] = 4;
            refused(spec, axis == 0 ? "along y" : "along x");
            spec.extent[axis] = 0;
            refused(spec, axis == 0 ? "along y" : "along x");
        }
}

static void extents_that_overflow_are_refused(void **state) {
    (void)state;
    static const int64_t extent[][3] = {{INT64_C(1) << 32, INT64_C(1) << 32},
                                        {INT64_MAX, 3},
                                        {3, INT64_MAX},
                                        {INT64_MAX - 1, INT64_MAX - 1},
                                        {INT64_C(1) << 31, INT64_C(1) << 31}};
    for (size_t i = 0; i < sizeof extent / sizeof *extent; i++) {
        stencil_spec spec = named("j2d5pt");
        memcpy(spec.extent, extent[i], sizeof spec.extent);
        stencil_problem problem;
        const stencil_status status = stencil_problem_resolve(&problem, &spec);
        /* 2^62 cells can be counted, their bytes cannot. */
        assert_int_equal(status, STENCIL_BAD_DATA);
        stencil_problem_destroy(&problem);
    }
}

static void stop_rules_have_defaults(void **state) {
    (void)state;
    stencil_spec spec = named("j2d5pt");
    stencil_problem p = resolved(spec);
    assert_int_equal(p.stop.steps, STENCIL_STEPS_DEFAULT);
    assert_true(p.stop.steps_default);
    assert_true(isnan(p.stop.rtol) && isnan(p.stop.atol));
    assert_int_equal(p.stop.check_every, STENCIL_CHECK_EVERY_DEFAULT);
    spec.atol = 1e-6;
    assert_int_equal(resolved(spec).stop.steps, STENCIL_STEPS_DEFAULT_CRITERION);
    spec.steps = 0;
    spec.check_every = 7;
    spec.norm = STENCIL_NORM_MAX;
    p = resolved(spec);
    assert_int_equal(p.stop.steps, 0);
    assert_false(p.stop.steps_default);
    assert_true(p.stop.atol == 1e-6);
    assert_int_equal(p.stop.check_every, 7);
    assert_int_equal(p.stop.norm, STENCIL_NORM_MAX);
}

/* The largest stable dt that divides the time, whatever rounding does to their quotient. */
static void dt_divides_the_time(void **state) {
    (void)state;
    stencil_spec spec = named("j2d5pt");
    spec.stencil[0] = '\0';
    spec.kind = STENCIL_KIND_HEAT;
    for (double end = 1e-3; end < 1e3; end *= 1.0173)
        for (double h = 0.01; h < 1; h *= 2.3) {
            spec.spacing_count = 1;
            spec.spacing[0] = h;
            spec.time_end = end;
            spec.dt = NAN;
            stencil_problem p = resolved(spec);
            const double largest = stencil_spec_dt_largest(&p.spec), steps = (double)p.stop.steps;
            assert_true(p.spec.dt <= largest);
            assert_true(fabs(stencil_problem_time(&p, p.stop.steps) - end) <= 4e-16 * end);
            assert_true(steps == 1 || end / (steps - 1) > largest * (1 - 4e-16));
            assert_false(p.stop.steps_default);
            /* As a result states it: the same steps. */
            spec.dt = p.spec.dt;
            assert_int_equal(resolved(spec).stop.steps, p.stop.steps);
        }
    spec.dt = 0.001;
    spec.spacing[0] = 1;
    spec.time_end = 0.0149;
    assert_int_equal(resolved(spec).stop.steps, 14);
    spec.time_end = 0.015;
    assert_int_equal(resolved(spec).stop.steps, 15);
    spec.time = 0.01; /* the problem's start */
    assert_int_equal(resolved(spec).stop.steps, 5);
}

static void names_are_found(void **state) {
    (void)state;
    assert_int_equal(stencil_name_find("heat", stencil_kind_names), STENCIL_KIND_HEAT);
    assert_int_equal(stencil_name_find("mirror", stencil_boundary_names), STENCIL_MIRROR);
    assert_int_equal(stencil_name_find("max", stencil_norm_names), STENCIL_NORM_MAX);
    assert_int_equal(stencil_name_find("Heat", stencil_kind_names), -1);
    stencil_problem_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_run_on_the_smallest_set_that_holds_them),
        cmocka_unit_test(points_that_make_no_sense_are_refused),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(boundaries_are_set_per_axis),
        cmocka_unit_test(extents_must_hold_the_stencil),
        cmocka_unit_test(extents_that_overflow_are_refused),
        cmocka_unit_test(stop_rules_have_defaults),
        cmocka_unit_test(dt_divides_the_time),
        cmocka_unit_test(names_are_found),
    };
    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
