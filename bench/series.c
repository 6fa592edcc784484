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

/* The rest of the series that begins with row `first`; the rows are marked as taken. */
static stencil_status collect(const stencil_bench_result *result, int first, bool *taken,
                              stencil_bench_series *series) {
    series->row = malloc((size_t)(result->row_count - first) * sizeof *series->row);
    CHECK(series->row != NULL, NO_MEMORY, "no memory for the series of %s", result->benchmark);
    for (int i = first; i < result->row_count; i++)
        if (!taken[i] && belong_together(&result->row[first], &result->row[i])) {
            taken[i] = true;
            series->row[series->count++] = i;
        }
    return STENCIL_OK;
}

stencil_status stencil_bench_series_make(const stencil_bench_result *result, stencil_bench_series **series,
                                         int *count) {
    const size_t most = result->row_count > 0 ? (size_t)result->row_count : 1;
    bool *taken = calloc(most, sizeof *taken);
    *count = 0;
    *series = calloc(most, sizeof **series);
    stencil_status status = STENCIL_OK;
    if (taken == NULL || *series == NULL)
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "no memory for the series");
    for (int i = 0; i < result->row_count && status == STENCIL_OK; i++)
        if (!taken[i])
            status = collect(result, i, taken, &(*series)[(*count)++]);
    free(taken);
    return status;
}

void stencil_bench_series_destroy(stencil_bench_series *series, int count) {
    for (int i = 0; series != NULL && i < count; i++)
        free(series[i].row);
    free(series);
}

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int stencil_bench_series_values(const stencil_bench_result *result, const stencil_bench_series *series,
                                int axis, int64_t *value) {
    for (int i = 0; i < series->count; i++)
        value[i] = result->row[series->row[i]].axis[axis].number;
    qsort(value, (size_t)series->count, sizeof *value, ascending);
    int different = 0;
    for (int i = 0; i < series->count; i++)
        if (different == 0 || value[i] != value[different - 1])
            value[different++] = value[i];
    return different;
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

static bool varies(const stencil_bench_result *result, const stencil_bench_series *series, int axis) {
    for (int i = 1; i < series->count; i++)
        if (result->row[series->row[i]].axis[axis].number != result->row[series->row[0]].axis[axis].number)
            return true;
    return false;
}

bool stencil_bench_series_is_field(const stencil_bench_result *result, const stencil_bench_series *series) {
    const int axes = result->row[series->row[0]].axis_count;
    return axes >= 2 && varies(result, series, axes - 1) && varies(result, series, axes - 2);
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

bool stencil_bench_series_next(const stencil_bench_result *result, const stencil_bench_series *series,
                               int axes, int64_t *at) {
    for (int axis = axes - 1; axis >= 0; axis--) {
        if (number_above(result, series, axis, at[axis], &at[axis]))
            return true;
        number_above(result, series, axis, INT64_MIN, &at[axis]);
    }
    return false;
}
