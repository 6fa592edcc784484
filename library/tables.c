/* The tables of a problem: factors in time, numbers along sides and rows of weights; and the count of arrays
 * that its sources and fixed values are sums of. */
#include "library/inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "solver/problem/factors.h"

const char *const stencil_factor_names[STENCIL_TABLE_COUNT + 1] = {"b_factor",
                                                                   "b2_factor",
                                                                   "b3_factor",
                                                                   "b4_factor",
                                                                   "q_factor",
                                                                   "q2_factor",
                                                                   "q3_factor",
                                                                   "q4_factor",
                                                                   "fixed_value_factor",
                                                                   "fixed_value2_factor",
                                                                   "fixed_value3_factor",
                                                                   "fixed_value4_factor",
                                                                   NULL};

/* Copies `count` numbers; NULL where there are none. Errors: NO_MEMORY. */
static stencil_status copy_numbers(double **to, const double *from, int64_t count) {
    *to = NULL;
    if (from == NULL || count == 0)
        return STENCIL_OK;
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, count * (int64_t)sizeof **to, "a table"));
    *to = memcpy(memory, from, (size_t)count * sizeof **to);
    return STENCIL_OK;
}

/* Number of cells along a side of an axis. */
static int64_t cells_along(const stencil_spec *spec, int axis) {
    int64_t count = 1;
    for (int i = 0; i < spec->rank; i++)
        if (i != stencil_list_index(spec->rank, axis))
            count *= spec->extent[i];
    return count;
}

void stencil_tables_free(stencil_tables *tables) {
    free(tables->weights);
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            free(tables->along[i / 2][i % 2][which]);
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        free(tables->factor[k]);
    *tables = (stencil_tables){0};
}

/* Notes in the spec what the arrays along sides say, as the reader of files does. */
static void summarize(stencil_spec *spec, const stencil_tables *tables) {
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++) {
            const double *values = tables->along[i / 2][i % 2][which];
            const int64_t count = cells_along(spec, i / 2);
            double *range = spec->range[i / 2][i % 2][which];
            spec->along[i / 2][i % 2][which] = values != NULL;
            if (values == NULL)
                continue;
            range[0] = range[1] = values[0];
            for (int64_t k = 0; k < count; k++) {
                range[0] = fmin(range[0], values[k]);
                range[1] = fmax(range[1], values[k]);
            }
            spec->along_hash[i / 2][i % 2][which] = stencil_palette_hash(values, count);
        }
}

stencil_status stencil_tables_along(stencil_problem_t *problem, const char *name, const stencil_along *side,
                                    int64_t count, const double *number) {
    const int64_t wanted = cells_along(&problem->spec, side->axis);
    double *copy = NULL, **at = &problem->tables.along[side->axis][side->side][side->which];
    CHECK(stencil_list_index(problem->spec.rank, side->axis) >= 0, USAGE, "%s: the problem has no axis z",
          name);
    CHECK(count == 0 || count == wanted, USAGE,
          "%s: %" PRId64 " numbers, give one, or one for each of the %" PRId64 " cells along the side", name,
          count, wanted);
    for (int64_t i = 0; i < count; i++) {
        const bool fits = side->which != STENCIL_NUMBER_EXCHANGE || number[i] > 0;
        CHECK(isfinite(number[i]) && fits, USAGE, "%s: number %" PRId64 " is %g: give %s numbers", name, i,
              number[i], fits ? "finite" : "positive");
    }
    TRY(copy_numbers(&copy, number, count));
    free(*at);
    *at = copy;
    summarize(&problem->spec, &problem->tables);
    return STENCIL_OK;
}

static stencil_status set_table(stencil_problem_t *problem, const char *name, int64_t rows,
                                const double *table) {
    const int which = stencil_name_find(name, stencil_factor_names);
    double *copy = NULL;
    CHECK(which >= 0, USAGE,
          "a problem has no table '%s': there are b_factor, q_factor and fixed_value_factor, and those of "
          "further arrays, like q2_factor",
          name);
    CHECK(rows >= 0 && rows <= STENCIL_TABLE_ROWS_MAX, USAGE, "%s has %" PRId64 " rows: give at most %d",
          name, rows, STENCIL_TABLE_ROWS_MAX);
    if (rows > 0)
        TRY(stencil_table_check("problem", name, table, rows));
    TRY(copy_numbers(&copy, table, 2 * rows));
    free(problem->table[which].row);
    problem->table[which] = (stencil_factor_table){rows, copy};
    return STENCIL_OK;
}

stencil_code_t stencil_problem_set_table(stencil_problem_t *problem, const char *name, int64_t rows,
                                         const double *table) {
    if (problem == NULL || name == NULL || (table == NULL && rows != 0))
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "a problem, a name and a table are needed");
    return stencil_code_of(set_table(problem, name, rows, table));
}

/* Counts arrays of a sum, `first` and those from `more` on, which have no gaps. */
static stencil_status count_sum(const stencil_problem_t *problem, int first, int more, int *count) {
    *count = problem->given[first].data != NULL;
    for (int k = 1; k < STENCIL_SUM_ARRAYS; k++) {
        const bool given = problem->given[more + k - 1].data != NULL;
        CHECK(!given || *count == k, USAGE, "the problem has %s, and not all arrays before it, from %s on",
              stencil_given_names[more + k - 1], stencil_given_names[first]);
        *count += given;
    }
    return STENCIL_OK;
}

/* Takes the tables of a sum of `count` arrays, factors from `to` on. */
static stencil_status take_tables(const stencil_problem_t *problem, int first, int count, int to,
                                  stencil_plan_t *plan) {
    for (int k = 0; k < STENCIL_SUM_ARRAYS; k++) {
        const stencil_factor_table *table = &problem->table[first + k];
        stencil_table_facts *facts = &plan->spec.table[to + k];
        if (table->count == 0)
            continue;
        CHECK(k < count, USAGE, "the problem has %s, and no array that it is a factor of",
              stencil_factor_names[first + k]);
        *facts = (stencil_table_facts){table->count, stencil_table_hash(table->row, table->count)};
        TRY(copy_numbers(&plan->tables.factor[to + k], table->row, 2 * table->count));
    }
    return STENCIL_OK;
}

stencil_status stencil_tables_take(stencil_plan_t *plan, const stencil_problem_t *problem) {
    stencil_spec *spec = &plan->spec;
    int b = 0, q = 0;
    *spec = problem->spec;
    TRY(count_sum(problem, STENCIL_SOURCE_B - 1, STENCIL_GIVEN_MORE_B, &b));
    TRY(count_sum(problem, STENCIL_SOURCE_Q - 1, STENCIL_GIVEN_MORE_Q, &q));
    TRY(count_sum(problem, STENCIL_GIVEN_VALUE, STENCIL_GIVEN_VALUE + 1, &spec->driven_count));
    spec->source_count = b > 0 ? b : q;
    TRY(take_tables(problem, STENCIL_TABLE_B, b, 0, plan));
    TRY(take_tables(problem, STENCIL_TABLE_Q, q, 0, plan));
    TRY(take_tables(problem, STENCIL_TABLE_VALUE, spec->driven_count, STENCIL_SUM_ARRAYS, plan));
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            TRY(copy_numbers(&plan->tables.along[i / 2][i % 2][which],
                             problem->tables.along[i / 2][i % 2][which], cells_along(spec, i / 2)));
    return copy_numbers(&plan->tables.weights, problem->tables.weights,
                        (int64_t)spec->class_count * spec->weight_count);
}
