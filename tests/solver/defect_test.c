/* The outlook before the first step, what a precision resolves, when an accelerated problem turns to plain
 * steps, and changes that are rounded away. */
#include "specs.h"

#include <stdlib.h>

#include "solver/problem/cycle.h"
#include "solver/problem/stop.h"

static const double pi = 3.14159265358979323846;

/* A reader of formulas. */
typedef struct formula {
    const stencil_problem *problem;
    double (*u)(int64_t y, int64_t x);
    double (*b)(int64_t y, int64_t x);
} formula;

static stencil_status read_formula(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const formula *f = context;
    for (int64_t y = 0; y < box->n[STENCIL_Y]; y++)
        for (int64_t x = 0; x < box->n[STENCIL_X]; x++) {
            const double value = (array == STENCIL_ARRAY_U ? f->u : f->b)(box->first[STENCIL_Y] + y,
                                                                          box->first[STENCIL_X] + x);
            if (to->precision == STENCIL_FLOAT64)
                ((double *)to->at)[y * to->row + x] = value;
            else
                ((float *)to->at)[y * to->row + x] = (float)value;
        }
    return STENCIL_OK;
}

enum { N = 31 };
static double zero(int64_t y, int64_t x) {
    return (void)y, (void)x, 0.0;
}
static double five(int64_t y, int64_t x) {
    return (void)y, (void)x, 5.0;
}
static double small(int64_t y, int64_t x) {
    return (void)y, (void)x, 1e-6;
}
static double many(int64_t y, int64_t x) {
    return (void)y, (void)x, 300.0;
}
/* The slowest mode of N x N fixed updated cells. */
static double mode(int64_t y, int64_t x) {
    return sin(pi * (double)(y + 1) / (N + 1)) * sin(pi * (double)(x + 1) / (N + 1));
}
/* b = lambda_min * 7 * mode, whose solution is 7 times the mode. */
static double source(int64_t y, int64_t x) {
    return 7.0 * (1.0 - cos(pi / (N + 1))) * mode(y, x);
}

static stencil_spec square(stencil_kind kind, stencil_source s) {
    stencil_spec spec = equation(kind, 2);
    spec.extent[0] = spec.extent[1] = N + 2;
    spec.source = s;
    spec.rtol = 1e-3;
    return spec;
}

static void outlook_knows_the_size_of_the_solution(void **state) {
    (void)state;
    const stencil_problem poisson = resolved(square(STENCIL_KIND_POISSON, STENCIL_SOURCE_B));
    const stencil_reader reader = {read_formula, &(formula){&poisson, zero, source}};
    stencil_outlook outlook;
    assert_int_equal(stencil_outlook_of(&poisson, &reader, &outlook), STENCIL_OK);
    const double size =
        7.0 * 0.5 * (N + 1) / N; /* root mean square of the mode over N cells is that over the interval */
    assert_float_equal(outlook.size / size, 1, 1e-10);
    assert_float_equal(outlook.first / (size * (1.0 - cos(pi / (N + 1)))), 1, 1e-10);
    assert_false(outlook.unsolvable);
    /* The solution of laplace between walls of 5 is 5, from any field, and its part in the slowest mode not
     * more. */
    const stencil_problem laplace = resolved(square(STENCIL_KIND_LAPLACE, STENCIL_SOURCE_NONE));
    const stencil_reader walls = {read_formula, &(formula){&laplace, five, zero}};
    assert_int_equal(stencil_outlook_of(&laplace, &walls, &outlook), STENCIL_OK);
    assert_true(outlook.size > 3.5 && outlook.size <= 5 && outlook.first < 1e-14);
}

static void source_without_a_solution_is_known(void **state) {
    (void)state;
    stencil_spec spec = square(STENCIL_KIND_POISSON, STENCIL_SOURCE_B);
    for (int boundary = 0; boundary < STENCIL_BOUNDARY_COUNT; boundary++) {
        spec.boundary_count = 1;
        spec.boundary[0] = (stencil_boundary)boundary;
        const stencil_problem problem = resolved(spec);
        const stencil_reader reader = {read_formula, &(formula){&problem, zero, five}};
        stencil_outlook outlook;
        assert_int_equal(stencil_outlook_of(&problem, &reader, &outlook), STENCIL_OK);
        assert_int_equal(outlook.unsolvable, boundary != STENCIL_FIXED);
        assert_float_equal(outlook.source_mean, 5, 1e-12);
    }
}

static void resolution_counts_roundings(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_LAPLACE, 2);
    const stencil_problem plane = resolved(spec), space = resolved(equation(STENCIL_KIND_LAPLACE, 3));
    assert_float_equal(stencil_resolution(&plane, 2.0) * 0x1p53, 13.0, 1e-12);
    assert_float_equal(stencil_resolution(&space, 2.0) * 0x1p53, 15.0, 1e-12);
    spec.precision = STENCIL_FLOAT32;
    const stencil_problem narrow = resolved(spec);
    assert_float_equal(stencil_resolution(&narrow, 2.0) * 0x1p24, 13.0, 1e-12);
}

/* Residuals at ends of cycles: in exact arithmetic they fall by the contraction at least. */
static void cycles_turn_where_rounding_shows(void **state) {
    (void)state;
    stencil_spec spec = square(STENCIL_KIND_LAPLACE, STENCIL_SOURCE_NONE);
    snprintf(spec.accelerate, sizeof spec.accelerate, "chebyshev:32");
    spec.check_every = 32;
    const stencil_problem problem = resolved(spec);
    const double falls = stencil_cycle_contraction(&problem);
    stencil_history history = {0};
    double exact = 1.0;
    for (int cycle = 1; cycle <= 20; cycle++, exact *= falls) {
        assert_int_equal(stencil_history_add(&history, 32 * cycle, exact), STENCIL_OK);
        assert_false(stencil_turns_plain(&problem, &history, 1.0, 1e-5));
    }
    history.count = 0;
    const double floor[] = {1e-1, 1e-2, 5e-4, 4e-4, 5e-4, 4e-4, 5e-4};
    int turn = 0;
    for (int cycle = 1; cycle <= 7 && turn == 0; cycle++) {
        assert_int_equal(stencil_history_add(&history, 32 * cycle, floor[cycle - 1]), STENCIL_OK);
        turn = stencil_turns_plain(&problem, &history, 1.0, 1e-5) ? cycle : 0;
    }
    assert_int_equal(turn,
                     (int)ceil(log(1e-5) / log(falls))); /* not before the cycles that the limit takes */
    history.count = 4;
    assert_true(stencil_turns_plain(&problem, &history, 1.0, 1e-2));
    assert_false(stencil_turns_plain(&problem, &history, NAN, 1e-2));
    spec.norm = STENCIL_NORM_MAX; /* the largest change need not fall as evenly */
    const stencil_problem largest = resolved(spec);
    assert_false(stencil_turns_plain(&largest, &history, 1.0, 1e-2));
    spec.accelerate[0] = '\0';
    const stencil_problem plain = resolved(spec);
    assert_false(stencil_turns_plain(&plain, &history, 1.0, 1e-2));
    stencil_history_destroy(&history);
}

static void lost_changes_are_found(void **state) {
    (void)state;
    stencil_spec spec = square(STENCIL_KIND_HEAT, STENCIL_SOURCE_B);
    const stencil_problem heat = resolved(spec);
    stencil_lost lost;
    const stencil_reader with = {read_formula, &(formula){&heat, many, small}},
                         without = {read_formula, &(formula){&heat, many, zero}};
    assert_int_equal(stencil_lost_of(&heat, &with, &lost), STENCIL_OK);
    assert_float_equal(lost.change, 1e-6, 1e-11);
    assert_float_equal(lost.value, 300, 0);
    assert_int_equal(stencil_lost_of(&heat, &without, &lost), STENCIL_OK);
    assert_float_equal(lost.change, 0, 0);
}

static void exponents_keep_squares_in_range(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_HEAT, 2);
    const stencil_problem l2 = resolved(spec);
    spec.norm = STENCIL_NORM_MAX;
    const stencil_problem max = resolved(spec);
    static const double plain[] = {0, 1, 1e149, 1e-129, INFINITY, NAN};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_int_equal(stencil_norm_exponent(&l2, plain[i]), 0);
    assert_int_equal(stencil_norm_exponent(&l2, 1e300), -512);
    assert_int_equal(stencil_norm_exponent(&l2, 0x1.8p-600), 600);
    assert_int_equal(stencil_norm_exponent(&l2, 0x1p-1070), 1000);
    assert_int_equal(stencil_norm_exponent(&max, 1e300), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outlook_knows_the_size_of_the_solution),
        cmocka_unit_test(source_without_a_solution_is_known),
        cmocka_unit_test(resolution_counts_roundings),
        cmocka_unit_test(cycles_turn_where_rounding_shows),
        cmocka_unit_test(lost_changes_are_found),
        cmocka_unit_test(exponents_keep_squares_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
