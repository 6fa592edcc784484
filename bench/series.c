#include "bench/series.h"

#include <stdlib.h>
#include <string.h>

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool belong_together(const stencil_bench_row *a, const stencil_bench_row *b) {
    if (!same_text(a->kind, b->kind) || !same_text(a->name, b->name) || !same_text(a->unit, b->unit) ||
        !same_text(a->method, b->method) || a->axis_count != b->axis_count)
        return false;
    for (int i = 0; i < a->axis_count; i++)
        if (!same_text(a->axis[i].name, b->axis[i].name))
            return false;
    return true;
}

stencil_status stencil_bench_series_make(const stencil_bench_result *result, stencil_bench_series **series,
                                         int *count) {
    *count = 0;
    *series = calloc((size_t)result->row_count + 1, sizeof **series);
    CHECK(*series != NULL, NO_MEMORY, "no memory for the series");
    for (int i = 0; i < result->row_count; i++) {
        int k = 0;
        while (k < *count && !belong_together(&result->row[(*series)[k].row[0]], &result->row[i]))
            k++;
        stencil_bench_series *s = &(*series)[k];
        if (k == *count) {
            s->row = malloc((size_t)(result->row_count - i) * sizeof *s->row);
            CHECK(s->row != NULL, NO_MEMORY, "no memory for the series of %s", result->benchmark);
            ++*count;
        }
        s->row[s->count++] = i;
    }
    return STENCIL_OK;
}

void stencil_bench_series_destroy(stencil_bench_series *series, int count) {
    for (int i = 0; series != NULL && i < count; i++)
        free(series[i].row);
    free(series);
}

/* The smallest number of an axis that is above `number`; false: none. */
static bool number_above(const stencil_bench_result *result, const stencil_bench_series *series, int axis,
                         int64_t number, int64_t *above) {
    bool found = false;
    for (int i = 0; i < series->count; i++) {
        const int64_t n = result->row[series->row[i]].axis[axis].number;
        if (n > number && (!found || n < *above)) {
            *above = n;
            found = true;
        }
    }
    return found;
}

int stencil_bench_series_values(const stencil_bench_result *result, const stencil_bench_series *series,
                                int axis, int64_t *value) {
    int count = 0;
    int64_t number = INT64_MIN;
    while (number_above(result, series, axis, number, &number))
        value[count++] = number;
    return count;
}

const stencil_bench_row *stencil_bench_series_at(const stencil_bench_result *result,
                                                 const stencil_bench_series *series, const int64_t *at) {
    for (int i = 0; i < series->count; i++) {
        const stencil_bench_row *row = &result->row[series->row[i]];
        bool here = true;
        for (int axis = 0; axis < row->axis_count; axis++)
            here = here && row->axis[axis].number == at[axis];
        if (here)
            return row;
    }
    return NULL;
}

void stencil_bench_series_first(const stencil_bench_result *result, const stencil_bench_series *series,
                                int64_t *at) {
    for (int axis = 0; axis < result->row[series->row[0]].axis_count; axis++) {
        at[axis] = INT64_MIN;
        number_above(result, series, axis, INT64_MIN, &at[axis]);
    }
}

bool stencil_bench_series_is_field(const stencil_bench_result *result, const stencil_bench_series *series) {
    const int axes = result->row[series->row[0]].axis_count;
    int64_t at[STENCIL_BENCH_AXES_MAX], above;
    stencil_bench_series_first(result, series, at);
    return axes >= 2 && number_above(result, series, axes - 1, at[axes - 1], &above) &&
           number_above(result, series, axes - 2, at[axes - 2], &above);
}

bool stencil_bench_series_next(const stencil_bench_result *result, const stencil_bench_series *series,
                               int axes, int64_t *at) {
    for (int axis = axes - 1; axis >= 0; axis--) {
        if (number_above(result, series, axis, at[axis], &at[axis]))
            return true;
        number_above(result, series, axis, INT64_MIN, &at[axis]);
    }
    return false;
}
