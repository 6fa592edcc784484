/* Values in time: the source term of a step is multiplied by a factor that a table gives, linear between its
 * entries. The step after n steps has the factor of the time at which it begins: for problem heat the
 * physical time of the field after n steps, for other problems the number n. */
#pragma once

#include "solver/problem/problem.h"

/* Checks a table of `count` rows (time, factor): finite numbers, times that do not fall, at most two entries
 * of the same time, which is a jump. Errors: BAD_DATA, naming file and table. */
stencil_status stencil_table_check(const char *path, const char *name, const double *table, int64_t count);

/* A hash of the rows of a table, by which a run tells it from that of earlier steps. */
uint64_t stencil_table_hash(const double *table, int64_t count);

/* The rows of the table of factor k of a problem's steps; NULL: the factor is 1 at all times. */
const double *stencil_problem_table(const stencil_problem *problem, int k);

/* Returns what a table says of a time, in double: factor i of the last row whose time, less `slack`, is not
 * behind it, and of the way to the next row what is gone by then: f + (g - f) * ((time - t) / (s - t)).
 * Before the first row it is that of the first one, behind the last that of the last. *row: where to begin to
 * search, and the row that was found; any value will do. */
double stencil_table_at(const double *table, int64_t count, double time, double slack, int64_t *row);

/* Tells whether steps have factors that change, or sums of several arrays. */
bool stencil_problem_in_time(const stencil_problem *problem);

/* Factors of the steps of a window: those of the step after s steps are
 * factor[(s - first) * STENCIL_STEP_FACTORS …], not rounded to the precision of the field yet. */
typedef struct stencil_factors {
    int64_t first, count; /* steps that the window has; count 0: none */
    double *factor;       /* owned; NULL: the problem has no factors that change */
} stencil_factors;

/* Most steps of a batch of a problem with such factors; windows have some more, which passes look at. */
enum { STENCIL_FACTOR_STEPS = 4096 };

/* Allocates a window, of problems that need one; bytes that this takes. Errors: NO_MEMORY. */
stencil_status stencil_factors_create(stencil_factors *factors, const stencil_problem *problem);
int64_t stencil_factors_bytes(const stencil_problem *problem);
void stencil_factors_destroy(stencil_factors *factors);

/* Makes the window hold `count` steps (STENCIL_FACTOR_STEPS at most) after `first` steps. Returns whether it
 * was filled anew. */
bool stencil_factors_fill(stencil_factors *factors, const stencil_problem *problem, int64_t first,
                          int64_t count);

/* Returns the factors of the step after `step` steps, which the window holds. */
static inline const double *stencil_factors_at(const stencil_factors *factors, int64_t step) {
    return factors->factor + (step - factors->first) * STENCIL_STEP_FACTORS;
}

/* Returns factor k of the step after `step` steps. */
double stencil_problem_factor(const stencil_problem *problem, int k, int64_t step);

/* Returns the sum of the first k + 1 arrays of a driven cell, each rounded to the precision and multiplied by
 * its factor, from that of the first k: a product, then fma. */
double stencil_driven_add(stencil_precision precision, int k, double factor, double value, double sum);

/* Writes the source's factor to the weights of a step, rounded to a precision. */
void stencil_factor_put(stencil_weights *weights, stencil_precision precision, double factor);
