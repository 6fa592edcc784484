#include "solver/problem/factors.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/sweep.h"

stencil_status stencil_table_check(const char *path, const char *name, const double *table, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const double time = table[2 * i], factor = table[2 * i + 1];
        CHECK(isfinite(time) && isfinite(factor), BAD_DATA,
              "'%s': %s[%" PRId64 "] is (%g, %g): give a time and a factor, both finite numbers", path, name,
              i, time, factor);
        CHECK(i == 0 || table[2 * i - 2] <= time, BAD_DATA,
              "'%s': %s[%" PRId64 "] has the time %g, after a row of the time %g: give rows in the order of "
              "their times",
              path, name, i, time, table[2 * i - 2]);
        CHECK(i < 2 || table[2 * i - 4] < time, BAD_DATA,
              "'%s': %s has the time %g three times: two rows of a time are a jump, from the first factor to "
              "the second",
              path, name, time);
    }
    return STENCIL_OK;
}

const double *stencil_problem_table(const stencil_problem *problem, int k) {
    return problem->tables != NULL && problem->spec.table[k].count > 0 ? problem->tables->factor[k] : NULL;
}

uint64_t stencil_table_hash(const double *table, int64_t count) {
    return stencil_palette_hash(table, 2 * count);
}

double stencil_table_at(const double *table, int64_t count, double time, double slack, int64_t *row) {
    const double reached = time + slack;
    int64_t i = *row >= 0 && *row < count && table[2 * *row] <= reached ? *row : 0;
    while (i + 1 < count && table[2 * i + 2] <= reached)
        i++;
    *row = i;
    const double t = table[2 * i], f = table[2 * i + 1];
    if (i + 1 == count || time <= t)
        return f;
    const double s = table[2 * i + 2], g = table[2 * i + 3];
    return f + (g - f) * ((time - t) / (s - t));
}

bool stencil_problem_in_time(const stencil_problem *problem) {
    bool any = problem->spec.source_count > 1 || problem->spec.driven_count > 0;
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        any = any || problem->spec.table[k].count > 0;
    return any;
}

/* Steps of a window: behind those of a batch, others for passes that look at steps which they do not make. */
enum { WINDOW_STEPS = STENCIL_FACTOR_STEPS + STENCIL_DEPTH_MAX };

int64_t stencil_factors_bytes(const stencil_problem *problem) {
    return stencil_problem_in_time(problem) ? WINDOW_STEPS * STENCIL_STEP_FACTORS * (int64_t)sizeof(double)
                                            : 0;
}

stencil_status stencil_factors_create(stencil_factors *factors, const stencil_problem *problem) {
    void *memory = NULL;
    *factors = (stencil_factors){0};
    if (!stencil_problem_in_time(problem))
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, stencil_factors_bytes(problem), "the factors of the steps"));
    factors->factor = memory;
    return STENCIL_OK;
}

void stencil_factors_destroy(stencil_factors *factors) {
    free(factors->factor);
    *factors = (stencil_factors){0};
}

/* Returns factor k of the step after `step` steps; *row as in stencil_table_at(). */
static double factor_of(const stencil_problem *problem, int k, int64_t step, int64_t *row) {
    const bool heat = problem->spec.kind == STENCIL_KIND_HEAT;
    const double slack = ldexp(heat ? problem->spec.dt : 1.0, -20);
    const int64_t at = k < STENCIL_SUM_ARRAYS ? step : step + 1; /* driven cells: where the step ends */
    const double *table = stencil_problem_table(problem, k),
                 time = heat ? stencil_problem_time(problem, at) : (double)at;
    return table == NULL ? 1.0 : stencil_table_at(table, problem->spec.table[k].count, time, slack, row);
}

double stencil_problem_factor(const stencil_problem *problem, int k, int64_t step) {
    int64_t row = 0;
    return factor_of(problem, k, step, &row);
}

/* Fills in factor k of all steps of the window. */
static void fill_one(stencil_factors *factors, const stencil_problem *problem, int k) {
    int64_t row = 0;
    for (int64_t i = 0; i < factors->count; i++)
        factors->factor[i * STENCIL_STEP_FACTORS + k] = factor_of(problem, k, factors->first + i, &row);
}

bool stencil_factors_fill(stencil_factors *factors, const stencil_problem *problem, int64_t first,
                          int64_t count) {
    if (factors->factor == NULL ||
        (first >= factors->first && first + count + STENCIL_DEPTH_MAX <= factors->first + factors->count))
        return false;
    factors->first = first;
    factors->count = WINDOW_STEPS;
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        fill_one(factors, problem, k);
    return true;
}

double stencil_driven_add(stencil_precision precision, int k, double factor, double value, double sum) {
    if (precision == STENCIL_FLOAT64)
        return k == 0 ? factor * value : fma(factor, value, sum);
    const float f = (float)factor, v = (float)value;
    return k == 0 ? (double)(f * v) : (double)fmaf(f, v, (float)sum);
}

void stencil_factor_put(stencil_weights *weights, stencil_precision precision, double factor) {
    if (precision == STENCIL_FLOAT64)
        weights->f64[STENCIL_SOURCE_WEIGHT] = factor;
    else
        weights->f32[STENCIL_SOURCE_WEIGHT] = (float)factor;
}
