/* Problems of the library: the handle, points and arrays. */
#include "library/inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "kernels/classes.h"

static stencil_status start(stencil_problem_t *problem, int rank, const int64_t *extent,
                            const char *precision) {
    CHECK(rank == 2 || rank == 3, USAGE, "rank is %d: give 2 or 3", rank);
    const int found = stencil_name_find(precision, stencil_precision_names);
    CHECK(found >= 0, USAGE, "precision is '%s': give float32 or float64", precision);
    stencil_spec_init(&problem->spec);
    problem->spec.rank = rank;
    problem->spec.precision = (stencil_precision)found;
    for (int axis = 0; axis < rank; axis++) {
        CHECK(extent[axis] > 0, USAGE, "extent[%d] is %" PRId64 ": give a positive number", axis,
              extent[axis]);
        problem->spec.extent[axis] = extent[axis];
    }
    return STENCIL_OK;
}

stencil_code_t stencil_problem_new(stencil_problem_t **problem, int32_t rank, const int64_t *extent,
                                   const char *precision) {
    if (problem == NULL || extent == NULL || precision == NULL)
        return stencil_code_fail(STENCIL_BAD_ARGUMENT,
                                 "a place for the problem, an extent and a precision are needed");
    stencil_problem_t *made = *problem = calloc(1, sizeof *made);
    if (made == NULL)
        return stencil_code_fail(STENCIL_OUT_OF_MEMORY, "no memory for a problem");
    const stencil_code_t code = stencil_code_of(start(made, rank, extent, precision));
    if (code != STENCIL_DONE) {
        stencil_problem_free(made);
        *problem = NULL;
    }
    return code;
}

void stencil_problem_free(stencil_problem_t *problem) {
    if (problem == NULL)
        return;
    stencil_tables_free(&problem->tables);
    for (int k = 0; k < STENCIL_TABLE_COUNT; k++)
        free(problem->table[k].row);
    free(problem);
}

static stencil_status set_points(stencil_problem_t *problem, int count, const int32_t *offset, int rows,
                                 const double *weight) {
    stencil_spec *spec = &problem->spec;
    CHECK(count >= 0 && count <= STENCIL_POINTS_MAX, USAGE, "%d points: give 1 to %d, or 0 for none", count,
          STENCIL_POINTS_MAX);
    CHECK(rows >= 1 && rows <= STENCIL_ROWS_MAX, USAGE, "%d rows of weights: give 1 to %d", rows,
          STENCIL_ROWS_MAX);
    for (int i = 0; i < count * spec->rank && offset != NULL; i++)
        CHECK(offset[i] >= -STENCIL_RADIUS_MAX && offset[i] <= STENCIL_RADIUS_MAX, USAGE,
              "offset[%d][%d] is %d: give whole numbers from %d to %d", i / spec->rank, i % spec->rank,
              (int)offset[i], -STENCIL_RADIUS_MAX, STENCIL_RADIUS_MAX);
    for (int i = 0; i < count * rows; i++)
        CHECK(isfinite(weight[i]), USAGE, "weight[%d][%d] is not a finite number", i / count, i % count);
    double *copy = NULL;
    if (rows > 1) {
        copy = malloc((size_t)rows * (size_t)count * sizeof *copy);
        CHECK(copy != NULL, NO_MEMORY, "no memory for %d rows of weights", rows);
        memcpy(copy, weight, (size_t)rows * (size_t)count * sizeof *copy);
    }
    free(problem->tables.weights);
    problem->tables.weights = copy;
    spec->class_count = rows > 1 ? rows : 0;
    spec->palette_hash = rows > 1 ? stencil_palette_hash(weight, (int64_t)rows * count) : 0;
    spec->weight_count = count;
    spec->offset_count = offset != NULL ? count : 0;
    if (count > 0)
        memcpy(spec->weight, weight, (size_t)count * sizeof *weight);
    for (int i = 0; i < spec->offset_count * spec->rank; i++)
        spec->offset[i / spec->rank][i % spec->rank] = offset[i];
    return STENCIL_OK;
}

stencil_code_t stencil_problem_set_points(stencil_problem_t *problem, int32_t count, const int32_t *offset,
                                          int32_t rows, const double *weight) {
    if (problem == NULL || (weight == NULL && count > 0))
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "a problem and weights are needed");
    return stencil_code_of(set_points(problem, count, offset, rows, weight));
}

static stencil_status set_array(stencil_problem_t *problem, const char *name, const stencil_array_t *array) {
    stencil_spec *spec = &problem->spec;
    const int which = stencil_name_find(name, stencil_given_names);
    CHECK(which >= 0, USAGE,
          "a problem has no array '%s': there are b, f, q, fixed_value, further ones like q2 and "
          "fixed_value2, k, "
          "fixed, insulated and class",
          name);
    stencil_array_t taken = {.data = NULL};
    if (array != NULL)
        TRY(stencil_array_take(&taken, array, name, spec->rank, spec->extent, which < STENCIL_GIVEN_FIXED));
    for (int i = 0; i < STENCIL_SOURCES && which < STENCIL_SOURCES && array != NULL; i++)
        CHECK(i == which || problem->given[i].data == NULL, USAGE,
              "the problem has '%s' already: a problem has at most one of b, f and q",
              stencil_given_names[i]);
    problem->given[which] = taken;
    spec->has_k = problem->given[STENCIL_GIVEN_K].data != NULL;
    spec->fixed = problem->given[STENCIL_GIVEN_FIXED].data != NULL;
    spec->insulated = problem->given[STENCIL_GIVEN_INSULATED].data != NULL;
    spec->classed = problem->given[STENCIL_GIVEN_CLASS].data != NULL;
    spec->source = STENCIL_SOURCE_NONE;
    for (int i = 0; i < STENCIL_SOURCES; i++)
        if (problem->given[i].data != NULL)
            spec->source = (stencil_source)(i + 1);
    return STENCIL_OK;
}

stencil_code_t stencil_problem_set_array(stencil_problem_t *problem, const char *name,
                                         const stencil_array_t *array) {
    if (problem == NULL || name == NULL)
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "a problem and a name are needed");
    return stencil_code_of(set_array(problem, name, array));
}
