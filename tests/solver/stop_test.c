/* In which passes steps are made; and what the end of a relaxation is said to mean, held against the solution
 * itself: small problems are solved by elimination in long double, from equations that are written down here
 * again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/reference.h"
#include "solver/run/run.h"
#include "solver/problem/spectrum.h"
#include "solver/problem/stop.h"

enum { NX = 13, NY = 11, CELLS = NX * NY };

/* How the fields begin. */
typedef enum start { START_ZERO, START_RANDOM, START_HOT_EDGE, START_HUGE, START_TINY, START_COUNT } start;

typedef struct setting {
    stencil_precision precision;
    stencil_boundary boundary[2]; /* y, x */
    stencil_kind kind;
    start start;
    double omega;
    stencil_norm norm;
} setting;

static uint64_t state_of_random;
static double number(void) {
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state_of_random >> 11) * 0x1p-53;
}

static void store(stencil_field *field, int64_t at, double value) {
    if (field->layout.precision == STENCIL_FLOAT64)
        ((double *)field->data)[at] = value;
    else
        ((float *)field->data)[at] = (float)value;
}
static double load(const stencil_field *field, int64_t at) {
    return field->layout.precision == STENCIL_FLOAT64 ? ((const double *)field->data)[at]
                                                      : (double)((const float *)field->data)[at];
}

static int64_t element(const stencil_problem *p, int64_t y, int64_t x) {
    return p->layout.origin + (y + p->first[1]) * p->layout.row + x + p->first[2];
}

static stencil_problem make(const setting *s, double f[CELLS], stencil_field *u, stencil_field *b) {
    stencil_spec spec;
    stencil_problem p;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = NY;
    spec.extent[1] = NX;
    spec.precision = s->precision;
    spec.kind = s->kind;
    spec.boundary_count = spec.spacing_count = 2;
    memcpy(spec.boundary, s->boundary, sizeof s->boundary);
    spec.spacing[0] = 0.5;
    spec.spacing[1] = 0.3;
    spec.omega = s->omega;
    spec.norm = s->norm;
    spec.rtol = 0.0;
    spec.source = s->kind == STENCIL_KIND_POISSON ? STENCIL_SOURCE_F : STENCIL_SOURCE_NONE;
    assert_int_equal(stencil_problem_resolve(&p, &spec), STENCIL_OK);
    assert_int_equal(stencil_field_create(u, &p.layout, "u"), STENCIL_OK);
    assert_int_equal(stencil_field_create(b, &p.layout, "b"), STENCIL_OK);
    const double scale = s->start == START_HUGE ? 1e30 : s->start == START_TINY ? 1e-30 : 1.0;
    double mean = 0;
    for (int i = 0; i < CELLS; i++)
        mean += (f[i] = scale * (number() - 0.5)) / CELLS;
    for (int64_t y = 0; y < NY; y++)
        for (int64_t x = 0; x < NX; x++) {
            const bool free_constant = s->boundary[0] != STENCIL_FIXED && s->boundary[1] != STENCIL_FIXED;
            f[y * NX + x] -= free_constant ? mean : 0;
            store(u, element(&p, y, x),
                  s->start == START_ZERO       ? 0.0
                  : s->start == START_HOT_EDGE ? (y == 0 ? 1.0 : 0.0)
                                               : scale * number());
            const int64_t v = y + p.first[1], w = x + p.first[2];
            if (s->kind == STENCIL_KIND_POISSON && v >= 0 && v < p.n[1] && w >= 0 && w < p.n[2])
                store(b, element(&p, y, x), p.source_scale * f[y * NX + x]);
        }
    return p;
}

/* The solution of the discrete equations, interior cells in array order; up to a constant where no axis is
 * fixed: that of cell 0 is 0 then. */
static void solve(const stencil_problem *p, const stencil_field *u, const double f[CELLS],
                  long double *solution) {
    static long double a[CELLS][CELLS + 1];
    const int64_t n = p->n[1] * p->n[2];
    const bool free_constant = p->boundary[1] != STENCIL_FIXED && p->boundary[2] != STENCIL_FIXED;
    memset(a, 0, sizeof a);
    for (int64_t r = 0; r < n; r++) {
        const int64_t at[2] = {r / p->n[2], r % p->n[2]};
        for (int axis = 0; axis < 2; axis++)
            for (int side = -1; side <= 1; side += 2) {
                const long double h = p->spec.spacing[axis], weight = 1.0L / (h * h);
                int64_t to[2] = {at[0], at[1]};
                to[axis] += side;
                a[r][r] += weight;
                if (p->boundary[axis + 1] != STENCIL_FIXED)
                    to[axis] = reference_image(to[axis], p->n[axis + 1], p->boundary[axis + 1]);
                if (to[0] < 0 || to[0] >= p->n[1] || to[1] < 0 || to[1] >= p->n[2])
                    a[r][n] += weight * load(u, element(p, to[0] - p->first[1], to[1] - p->first[2]));
                else
                    a[r][to[0] * p->n[2] + to[1]] -= weight;
            }
        if (p->spec.source != STENCIL_SOURCE_NONE)
            a[r][n] += f[(at[0] - p->first[1]) * NX + at[1] - p->first[2]];
    }
    if (free_constant) {
        memset(a[0], 0, sizeof a[0]);
        a[0][0] = 1;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t r = k; r < n; r++)
            pivot = fabsl(a[r][k]) > fabsl(a[pivot][k]) ? r : pivot;
        for (int64_t c = 0; c <= n; c++) {
            const long double kept = a[k][c];
            a[k][c] = a[pivot][c];
            a[pivot][c] = kept;
        }
        for (int64_t r = 0; r < n; r++) {
            const long double factor = r != k ? a[r][k] / a[k][k] : 0;
            for (int64_t c = k; c <= n && factor != 0; c++)
                a[r][c] -= factor * a[k][c];
        }
    }
    for (int64_t k = 0; k < n; k++)
        solution[k] = a[k][n] / a[k][k];
}

/* Root mean square of u - solution over the updated cells, less its mean where the constant is free. */
static double true_error(const stencil_problem *p, const stencil_field *u, const long double *solution) {
    const int64_t n = p->n[1] * p->n[2];
    const bool free_constant = p->boundary[1] != STENCIL_FIXED && p->boundary[2] != STENCIL_FIXED;
    long double mean = 0, squares = 0, scale = 0;
    for (int64_t r = 0; r < n; r++) {
        const long double d =
            load(u, element(p, r / p->n[2] - p->first[1], r % p->n[2] - p->first[2])) - solution[r];
        mean += free_constant ? d / n : 0;
        scale = fabsl(d) > scale ? fabsl(d) : scale;
    }
    for (int64_t r = 0; r < n; r++) {
        const long double d =
            load(u, element(p, r / p->n[2] - p->first[1], r % p->n[2] - p->first[2])) - solution[r] - mean;
        squares += d * d;
    }
    return (double)sqrtl(squares / n);
}

static void expect_bound(const setting *s) {
    static const int64_t ends[] = {1, 2, 3, 10, 40, 100, 400, 1600};
    static long double solution[CELLS];
    static double f[CELLS];
    stencil_field u, b;
    stencil_problem p = make(s, f, &u, &b);
    solve(&p, &u, f, solution);
    const stencil_machine machine = {.cpu_threads = 1, .cpu_isa = "baseline"};
    const stencil_run_options options = {.backend = STENCIL_BACKEND_CPU};
    stencil_plan plan;
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        stencil_report report = {0};
        p.stop.steps = ends[k];
        assert_int_equal(stencil_plan_make(&plan, &p, &options, &machine), STENCIL_OK);
        assert_int_equal(stencil_run_fields(&plan, &p, &u, &b, NULL, &report), STENCIL_OK);
        p.origin.steps = report.steps;
        p.origin.residual_first = report.residual_first;
        const double error = true_error(&p, &u, solution);
        assert_true(report.bound.known);
        if (!(report.bound.absolute >= error && report.bound.relative <= 1.0))
            fail_msg("after %lld steps: error %g, said to be at most %g", (long long)report.steps, error,
                     report.bound.absolute);
        /* And it is of use: within the condition of the equations, which is under 200 here, of the error. */
        double largest = s->start == START_HUGE ? 1e30 : s->start == START_TINY ? 1e-30 : 1.0;
        for (int64_t i = 0; i < p.n[1] * p.n[2]; i++)
            largest = fmax(largest, (double)fabsl(solution[i]));
        const double floor = (s->precision == STENCIL_FLOAT64 ? 1e-12 : 1e-4) * largest;
        if (!(report.bound.absolute <= 400.0 * error + floor + 1e-290))
            fail_msg("after %lld steps: error %g, yet %g is allowed", (long long)report.steps, error,
                     report.bound.absolute);
        stencil_report_destroy(&report);
    }
    stencil_problem_destroy(&p);
    stencil_field_destroy(&u);
    stencil_field_destroy(&b);
}

static void the_bound_is_never_below_the_error(void **state) {
    (void)state;
    static const stencil_boundary boundary[][2] = {{STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_PERIODIC, STENCIL_FIXED},
                                                   {STENCIL_FIXED, STENCIL_MIRROR},
                                                   {STENCIL_PERIODIC, STENCIL_MIRROR}};
    for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
        for (size_t b = 0; b < sizeof boundary / sizeof *boundary; b++)
            for (int begin = 0; begin < START_COUNT; begin++)
                for (int k = 0; k < 4; k++) {
                    const setting s = {.precision = (stencil_precision)precision,
                                       .boundary = {boundary[b][0], boundary[b][1]},
                                       .kind = k % 2 == 0 ? STENCIL_KIND_LAPLACE : STENCIL_KIND_POISSON,
                                       .start = (start)begin,
                                       .omega = k < 2 ? 1.0 : 0.7,
                                       .norm = k % 2 == 0 ? STENCIL_NORM_L2 : STENCIL_NORM_MAX};
                    expect_bound(&s);
                }
}

/* The mode whose eigenvalue is said to be the least, and the greatest, under one step of the reference. */
static void the_spectrum_is_that_of_the_step(void **state) {
    (void)state;
    static const stencil_boundary boundary[][2] = {{STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_PERIODIC, STENCIL_FIXED},
                                                   {STENCIL_MIRROR, STENCIL_MIRROR},
                                                   {STENCIL_PERIODIC, STENCIL_MIRROR}};
    for (size_t b = 0; b < sizeof boundary / sizeof *boundary; b++)
        for (int most = 0; most < 2; most++) {
            const setting s = {.precision = STENCIL_FLOAT64,
                               .boundary = {boundary[b][0], boundary[b][1]},
                               .kind = STENCIL_KIND_LAPLACE,
                               .omega = 1.0};
            static double f[CELLS], vector[CELLS], next[CELLS];
            stencil_field u, source;
            stencil_problem p = make(&s, f, &u, &source);
            const stencil_spectrum spectrum = stencil_spectrum_of(&p);
            /* Power iteration on J shifted so that the wanted end is the largest. */
            reference step;
            reference_init(&step, &p.spec, p.shape);
            double value = 0;
            for (int i = 0; i < CELLS; i++)
                vector[i] = number() - 0.5;
            for (int round = 0; round < 5000; round++) {
                double norm = 0, mean = 0;
                int64_t count = 0;
                for (int64_t i = 0; i < CELLS; i++) {
                    const int64_t v = i / NX + p.first[1], w = i % NX + p.first[2];
                    const bool updated = v >= 0 && v < p.n[1] && w >= 0 && w < p.n[2];
                    vector[i] = updated ? vector[i] : 0.0;
                    mean += vector[i];
                    count += updated;
                }
                for (int64_t i = 0; i < CELLS && spectrum.up_to_constant; i++)
                    vector[i] -= mean / (double)count;
                reference_step(&step, vector, NULL, next);
                for (int i = 0; i < CELLS; i++) {
                    next[i] = most ? 2.0 * vector[i] - next[i] : next[i] + vector[i]; /* 2 - J, 1 + J */
                    norm += next[i] * next[i];
                }
                value = sqrt(norm);
                for (int i = 0; i < CELLS; i++)
                    vector[i] = next[i] / value;
            }
            /* Of unit length: the value is 1 + J or 2 - J of the mode, and I - J what is asked for. */
            const double found = most ? value - 1.0 : 2.0 - value;
            const double said = most ? spectrum.most : spectrum.least;
            if (fabs(found - said) > 1e-9)
                fail_msg("boundary %d: %s eigenvalue %.12g, said to be %.12g", (int)b,
                         most ? "greatest" : "least", found, said);
            stencil_problem_destroy(&p);
            stencil_field_destroy(&u);
            stencil_field_destroy(&source);
        }
}

/* Windows of 1000 steps, with the first `count` residuals known. */
static bool stagnated(stencil_history *history, int64_t count, int64_t step) {
    history->count = count;
    return stencil_stagnated(history, 1000, step);
}

static void stagnation_is_judged_by_windows(void **state) {
    (void)state;
    enum { COUNT = 400 };
    static double residual[COUNT];
    static int64_t step[COUNT];
    for (int i = 0; i < COUNT; i++) {
        step[i] = 10 * (i + 1);
        residual[i] = exp(-1e-7 * i); /* slow is not stagnant */
    }
    stencil_history h = {.step = step, .residual = residual};
    for (int64_t end = 10; end <= 4000; end += 10)
        assert_false(stagnated(&h, end / 10, end));
    for (int i = 0; i < COUNT; i++)
        residual[i] = i < 150 ? exp(-0.1 * i) : exp(-15.0) * (1.0 + 1e-3 * (i % 7));
    assert_false(stagnated(&h, 100, 1000)); /* one window alone says nothing */
    assert_false(stagnated(&h, 200, 2000));
    assert_true(stagnated(&h, 300, 3000));
    assert_true(stagnated(&h, 400, 4000));
    assert_false(stagnated(&h, 0, 2000)); /* no residual, no word */
}

/* Residuals that repeat themselves to the last bit over a whole window of 1000 checks or more. */
static void constant_residuals_are_judged(void **state) {
    (void)state;
    enum { MOST = 2400 };
    static double residual[MOST];
    static int64_t step[MOST];
    stencil_history h = {.step = step, .residual = residual, .count = 2000};
    for (int i = 0; i < MOST; i++) {
        step[i] = (int64_t)100 * (i + 1);
        residual[i] = i < 700 ? exp(-0.01 * i) : exp(-7.0) + 1e-9 * (i % 3);
    }
    assert_true(stencil_is_constant(&h, 100000, 200000));
    assert_true(stencil_is_constant(&h, 130000, 200000));
    assert_false(stencil_is_constant(&h, 140000, 200000)); /* they have fallen in that one */
    assert_false(stencil_is_constant(&h, 99900, 200000));  /* too few checks */
    assert_false(stencil_is_constant(&h, 210000, 200000)); /* before the first step */
    for (int i = 700; i < MOST; i++)
        residual[i] = exp(-7.0) + 1e-9 * (i % 250);
    assert_false(stencil_is_constant(&h, 100000, 200000)); /* seen only 4 times */
    for (int i = 700; i < MOST; i++)
        residual[i] = i == 1990 ? nextafter(exp(-7.0), 0.0) : exp(-7.0);
    assert_false(stencil_is_constant(&h, 100000, 200000));
}

static int64_t window_of(stencil_spec *spec) {
    stencil_problem p;
    assert_int_equal(stencil_problem_resolve(&p, spec), STENCIL_OK);
    return stencil_stagnation_window(&p);
}

/* Judged only where it is known that residuals that stand still will not fall any more. */
static void windows_suit_weights_and_norm(void **state) {
    (void)state;
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = spec.extent[1] = 2000;
    snprintf(spec.stencil, sizeof spec.stencil, "j2d5pt");
    spec.rtol = 1e-3;
    assert_int_equal(window_of(&spec), 10000);
    spec.check_every = 333;
    assert_int_equal(window_of(&spec), 33300);
    spec.norm = STENCIL_NORM_MAX;
    assert_int_equal(window_of(&spec), INT64_MAX);
    spec.norm = STENCIL_NORM_L2;
    spec.weight_count = 5;
    memcpy(spec.weight, (const double[]){0.1, 0.5, 0.2, 0.1, 0.1}, 5 * sizeof *spec.weight);
    assert_int_equal(window_of(&spec), INT64_MAX);
    spec.stencil[0] = '\0';
    spec.weight_count = 0;
    spec.norm = STENCIL_NORM_MAX;
    for (int kind = STENCIL_KIND_LAPLACE; kind <= STENCIL_KIND_HEAT; kind++) {
        spec.kind = (stencil_kind)kind;
        assert_true(window_of(&spec) > 10000000 && window_of(&spec) % 333 == 0);
    }
    spec.check_every = INT64_MAX / 2;
    assert_int_equal(window_of(&spec), INT64_MAX);
}

/* Longer than it takes along the axes, at a cell a step, or to spread where one cell's change is the norm. */
static void windows_of_constants_suit_weights_and_norm(void **state) {
    (void)state;
    stencil_problem p;
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = spec.extent[1] = 20002;
    snprintf(spec.stencil, sizeof spec.stencil, "j2d5pt");
    spec.rtol = 1e-3;
    assert_int_equal(stencil_problem_resolve(&p, &spec), STENCIL_OK);
    assert_int_equal(stencil_constant_window(&p), 400100); /* 10 x 40 001 cells in whole checks */
    spec.check_every = 1000;
    assert_int_equal(stencil_problem_resolve(&p, &spec), STENCIL_OK);
    assert_int_equal(stencil_constant_window(&p), 1000000);
    spec.norm = STENCIL_NORM_MAX;
    assert_int_equal(stencil_problem_resolve(&p, &spec), STENCIL_OK);
    assert_int_equal(stencil_constant_window(&p), INT64_MAX);
    spec.stencil[0] = '\0';
    spec.kind = STENCIL_KIND_LAPLACE;
    assert_int_equal(stencil_problem_resolve(&p, &spec), STENCIL_OK);
    assert_int_equal(stencil_constant_window(&p), 800001000);
}

/* Every pass as deep as the next check and the end allow, or the step before where those are apart, from one
 * buffer to the other; and their number. */
static void expect_passes(const stencil_schedule *schedule, int depth, int64_t first, int64_t end) {
    stencil_pass pass = {first, 0, 1};
    const int64_t most = schedule->checked_most < depth ? schedule->checked_most : depth;
    int64_t step = first, count = 0;
    for (pass = stencil_pass_next(&pass, schedule, depth, end); pass.steps > 0;
         pass = stencil_pass_next(&pass, schedule, depth, end)) {
        assert_int_equal(pass.first, step);
        assert_int_equal(pass.from, count++ % 2);
        const int64_t check = stencil_schedule_next(schedule, step);
        int64_t last = step + 1;
        while (last < step + depth && last < end && !stencil_schedule_checks(schedule, last) &&
               !(most > 0 && check <= end && last == check - most))
            last++;
        assert_int_equal(pass.first + pass.steps, last);
        for (int64_t every = 1; every < 8; every++)
            assert_int_equal(stencil_pass_reaches(&pass, every), last / every != step / every);
        step = last;
        assert_int_equal(stencil_pass_count(schedule, depth, first, step), count);
    }
    assert_int_equal(step, end);
}

/* Passes that may have a checked step anywhere: at most one in each, idle levels of its stage subtracted. */
static void expect_passes_around(const stencil_schedule *schedule, int depth, int64_t first, int64_t end) {
    const stencil_pass before = {first, 0, 1};
    stencil_pass pass = stencil_pass_next(&before, schedule, depth, end);
    int64_t step = first, count = 0;
    for (; pass.steps > 0; pass = stencil_pass_next(&pass, schedule, depth, end)) {
        int64_t checks = 0, check = 0, most = depth;
        assert_int_equal(pass.first, step);
        assert_int_equal(pass.from, count++ % 2);
        for (int64_t i = pass.steps; i > 0; i--)
            if (stencil_schedule_checks(schedule, step + i)) {
                checks++;
                check = i;
            }
        assert_int_equal(stencil_pass_check(schedule, &pass), check);
        assert_true(checks <= 1);
        if (check > 0) {
            const int64_t levels = schedule->check_levels, before_check = (check + levels - 1) / levels,
                          behind = (pass.steps - check + levels - 1) / levels;
            assert_true((before_check + behind) * levels <= schedule->check_depth);
            most = stencil_smaller(depth, schedule->check_depth - (before_check * levels - check));
        }
        /* It is as long as possible, unless a check that is next would leave no room. */
        assert_true(pass.steps == most || step + pass.steps == end ||
                    stencil_schedule_checks(schedule, step + pass.steps + 1) || check == 0);
        const int64_t plain = stencil_passes_plain(schedule, depth, step, end);
        assert_true(check > 0 ? plain == step || end < stencil_schedule_next(schedule, step)
                              : plain >= step + pass.steps || plain == step);
        step += pass.steps;
        assert_int_equal(stencil_pass_count(schedule, depth, first, step), count);
    }
    assert_int_equal(step, end);
}

static void passes_go_on_over_checked_steps(void **state) {
    static const int64_t every[] = {1, 2, 3, 7, 12, 100, INT64_MAX};
    (void)state;
    for (size_t e = 0; e < sizeof every / sizeof *every; e++)
        for (int levels = 1; levels <= 4; levels *= 2)
            for (int depth = 2; depth <= 8; depth++)
                for (int64_t first = 0; first < 30; first += 1 + first / 7)
                    for (int64_t end = first; end < first + 40; end += 3) {
                        stencil_schedule schedule = {
                            .check_every = every[e], .check_levels = levels, .check_depth = 8};
                        expect_passes_around(&schedule, depth, first, end);
                        schedule.check_step = end;
                        expect_passes_around(&schedule, depth, first, end);
                    }
}

static void passes_end_where_steps_are_checked(void **state) {
    static const int64_t every[] = {1, 2, 3, 7, 12, 100, INT64_MAX};
    (void)state;
    for (size_t e = 0; e < sizeof every / sizeof *every; e++)
        for (int depth = 1; depth <= 9; depth++)
            for (int64_t first = 0; first < 30; first += 1 + first / 7)
                for (int64_t end = first; end < first + 40; end += 3)
                    for (int most = 0; most <= 5; most++) {
                        stencil_schedule schedule = {.check_every = every[e], .checked_most = most};
                        expect_passes(&schedule, depth, first, end);
                        schedule.check_step = end;
                        expect_passes(&schedule, depth, first, end);
                    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_never_below_the_error),
        cmocka_unit_test(the_spectrum_is_that_of_the_step),
        cmocka_unit_test(stagnation_is_judged_by_windows),
        cmocka_unit_test(constant_residuals_are_judged),
        cmocka_unit_test(windows_of_constants_suit_weights_and_norm),
        cmocka_unit_test(windows_suit_weights_and_norm),
        cmocka_unit_test(passes_end_where_steps_are_checked),
        cmocka_unit_test(passes_go_on_over_checked_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
