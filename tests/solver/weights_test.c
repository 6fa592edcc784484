#include <stdlib.h>

#include "specs.h"

static void named_sets_have_equal_weights(void **state) {
    (void)state;
    for (int s = 0; s < STENCIL_SHAPE_COUNT; s++) {
        const stencil_shape *shape = &stencil_shapes[s];
        stencil_problem p = resolved(named(shape->name));
        assert_ptr_equal(p.shape, shape);
        for (int k = 0; k < shape->point_count; k++)
            assert_true(p.weight[k] == 1.0 / shape->point_count);
        for (int axis = 3 - shape->rank; axis < 3; axis++) {
            assert_int_equal(p.radius[axis], shape->radius);
            assert_int_equal(p.n[axis], p.extent[axis] - 2 * shape->radius);
            assert_int_equal(p.first[axis], -shape->radius);
        }
        if (shape->rank == 2) {
            assert_int_equal(p.extent[STENCIL_Z], 1);
            assert_int_equal(p.n[STENCIL_Z], 1);
            assert_int_equal(p.radius[STENCIL_Z], 0);
            assert_int_equal(p.first[STENCIL_Z], 0);
        }
        assert_int_equal(stencil_problem_updated_cells(&p), p.n[0] * p.n[1] * p.n[2]);
    }
}

static void given_weights_replace_the_default_ones(void **state) {
    (void)state;
    stencil_spec spec = named("j2d5pt");
    const double weight[] = {0.1, 0.2, 0.3, 0.25, 0.15};
    spec.weight_count = 5;
    memcpy(spec.weight, weight, sizeof weight);
    const stencil_problem p = resolved(spec);
    assert_memory_equal(p.weight, weight, sizeof weight);
}

static void laplace_is_the_mean_of_the_neighbours(void **state) {
    (void)state;
    const stencil_problem p2 = resolved(equation(STENCIL_KIND_LAPLACE, 2));
    static const double expected2[] = {0.25, 0.25, 0.0, 0.25, 0.25};
    assert_string_equal(p2.shape->name, "j2d5pt");
    assert_memory_equal(p2.weight, expected2, sizeof expected2);
    const stencil_problem p3 = resolved(equation(STENCIL_KIND_LAPLACE, 3));
    assert_string_equal(p3.shape->name, "j3d7pt");
    for (int k = 0; k < 7; k++)
        assert_true(k == 3 ? p3.weight[k] == 0.0 : fabs(p3.weight[k] - 1.0 / 6) < 1e-16);
}

/* h = (1/2, 1/4) along (y, x): 2/h^2 = 8 + 32 = 40, so the neighbours get 4/40 and 16/40. */
static void poisson_weighs_axes_by_their_spacing(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_POISSON, 2);
    spec.spacing_count = 2;
    spec.spacing[0] = 0.5;
    spec.spacing[1] = 0.25;
    spec.source = STENCIL_SOURCE_F;
    stencil_problem p = resolved(spec);
    static const double expected[] = {0.1, 0.4, 0.0, 0.4, 0.1};
    for (int k = 0; k < 5; k++)
        assert_true(fabs(p.weight[k] - expected[k]) < 1e-16);
    assert_true(fabs(p.source_scale - 1.0 / 40) < 1e-17);
    assert_true(p.spec.omega == 1.0);
    spec.omega = 0.5;
    p = resolved(spec);
    for (int k = 0; k < 5; k++)
        assert_true(fabs(p.weight[k] - (k == 2 ? 0.5 : expected[k] / 2)) < 1e-16);
    assert_true(fabs(p.source_scale - 0.5 / 40) < 1e-17);
    spec.source = STENCIL_SOURCE_B;
    assert_true(resolved(spec).source_scale == 1.0);
}

/* One spacing for all axes is the same as equal ones. */
static void one_spacing_serves_all_axes(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_POISSON, 3);
    spec.spacing_count = 1;
    spec.spacing[0] = 0.125;
    const stencil_problem one = resolved(spec);
    spec.spacing_count = 3;
    spec.spacing[1] = spec.spacing[2] = 0.125;
    const stencil_problem three = resolved(spec);
    assert_memory_equal(one.weight, three.weight, 7 * sizeof *one.weight);
    assert_true(one.source_scale == 1.0);
    spec.source = STENCIL_SOURCE_F;
    assert_true(fabs(resolved(spec).source_scale - 0.125 * 0.125 / 6) < 1e-17);
}

static void heat_adds_the_differences(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_HEAT, 3);
    static const double spacing[] = {1.0, 0.5, 0.25};
    spec.spacing_count = 3;
    memcpy(spec.spacing, spacing, sizeof spacing);
    spec.diffusivity[0] = 0.5;
    spec.diffusivity_count = 1;
    spec.dt = 0.01;
    const stencil_problem p = resolved(spec);
    /* a dt / h^2 = 0.005, 0.02, 0.08 along z, y, x. */
    static const double expected[] = {0.005, 0.02, 0.08, 0.79, 0.08, 0.02, 0.005};
    for (int k = 0; k < 7; k++)
        assert_true(fabs(p.weight[k] - expected[k]) < 1e-15);
}

/* A rate has the factor dt, given or chosen; what is added in each step has none. */
static void heat_scales_a_rate_by_its_step(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_HEAT, 2);
    spec.source = STENCIL_SOURCE_Q;
    assert_true(resolved(spec).source_scale == 0.25);
    spec.dt = 0.1;
    const stencil_problem p = resolved(spec);
    assert_true(p.source_scale == 0.1);
    spec.source = STENCIL_SOURCE_B;
    const stencil_problem added = resolved(spec);
    assert_true(added.source_scale == 1.0);
    assert_string_not_equal(p.fingerprint, added.fingerprint);
}

/* The largest stable step is 1 / (a sum 2/h^2) = 1 / (0.5 * 40) = 0.05. */
static void heat_refuses_unstable_steps(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_HEAT, 2);
    spec.spacing_count = 2;
    spec.spacing[0] = 0.5;
    spec.spacing[1] = 0.25;
    spec.diffusivity[0] = 0.5;
    spec.diffusivity_count = 1;
    stencil_problem p = resolved(spec);
    assert_true(p.spec.dt == 0.05);
    assert_true(fabs(p.weight[2]) < 1e-15);
    spec.dt = 0.05;
    p = resolved(spec);
    spec.dt = nextafter(0.05, 1.0);
    refused(spec, "0.05");
    refused(spec, "largest stable");
    spec.diffusivity[0] = 0.3;
    spec.diffusivity_count = 1;
    spec.dt = 1.0;
    refused(spec, "dt = 1 is unstable");
    const char *limit = strstr(stencil_error_last()->message, "step is ") + strlen("step is ");
    spec.dt = strtod(limit, NULL);
    resolved(spec);
    spec.diffusivity[0] = 0.5;
    spec.diffusivity_count = 1;
    spec.dt = 0.0;
    refused(spec, "dt");
    spec.dt = -0.01;
    refused(spec, "dt");
    spec.dt = 0.01;
    spec.diffusivity[0] = 0.0;
    spec.diffusivity_count = 1;
    refused(spec, "diffusivity");
    spec.diffusivity[0] = INFINITY;
    spec.diffusivity_count = 1;
    refused(spec, "diffusivity");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_sets_have_equal_weights),
        cmocka_unit_test(given_weights_replace_the_default_ones),
        cmocka_unit_test(laplace_is_the_mean_of_the_neighbours),
        cmocka_unit_test(poisson_weighs_axes_by_their_spacing),
        cmocka_unit_test(one_spacing_serves_all_axes),
        cmocka_unit_test(heat_adds_the_differences),
        cmocka_unit_test(heat_scales_a_rate_by_its_step),
        cmocka_unit_test(heat_refuses_unstable_steps),
    };
    return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
