/* Groups of the rows of a benchmark result, each of which becomes a table; and rows that were not measured,
 * where rows with the same reason share a line of text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/text.h"

void bench_collect_axes(const stencil_bench_row *row, const char **axis, int *count, int most) {
    for (int i = 0; i < row->axis_count; i++) {
        int k = 0;
        while (k < *count && strcmp(axis[k], row->axis[i].name) != 0)
            k++;
        if (k == *count && k < most)
            axis[(*count)++] = row->axis[i].name;
    }
}

bool bench_is_copy(const stencil_bench_row *row) {
    return strcmp(row->kind, "copy") == 0;
}

/* Tells whether two rows belong to one series: the same quantity, at other values of the same axes. */
static bool belong_together(const stencil_bench_row *a, const stencil_bench_row *b) {
    const char *method_a = a->method != NULL ? a->method : "", *method_b = b->method != NULL ? b->method : "";
    bool same = strcmp(a->kind, b->kind) == 0 && strcmp(a->name, b->name) == 0 &&
                strcmp(a->unit, b->unit) == 0 && strcmp(method_a, method_b) == 0 &&
                a->axis_count == b->axis_count;
    for (int i = 0; i < a->axis_count && same; i++)
        same = strcmp(a->axis[i].name, b->axis[i].name) == 0;
    return same;
}

bool bench_share_line(const stencil_bench_row *a, const stencil_bench_row *b) {
    return belong_together(a, b) || (bench_is_copy(a) && bench_is_copy(b));
}

int bench_compare_places(const stencil_bench_row *a, const stencil_bench_row *b, int axes) {
    int order = 0;
    for (int i = 0; i < axes && order == 0; i++)
        order = (a->axis[i].number > b->axis[i].number) - (a->axis[i].number < b->axis[i].number);
    return order;
}

static int compare_rows(const void *a, const void *b) {
    const stencil_bench_row *first = *(const stencil_bench_row *const *)a;
    return bench_compare_places(first, *(const stencil_bench_row *const *)b, first->axis_count);
}

/* Collects the series that row `first` belongs to in row[], ordered by axis values. Returns its number of
 * rows. */
static int series_of(const stencil_bench_result *result, const stencil_bench_row *first,
                     const stencil_bench_row **row) {
    int count = 0;
    for (int i = 0; i < result->row_count; i++)
        if (belong_together(first, &result->row[i]))
            row[count++] = &result->row[i];
    qsort(row, (size_t)count, sizeof *row, compare_rows);
    return count;
}

bool bench_next_number(const stencil_bench_row *const *row, int count, int axis, int64_t *number) {
    const int64_t last = *number;
    for (int i = 0; i < count; i++) {
        const int64_t n = row[i]->axis[axis].number;
        if (n > last && (n < *number || *number == last))
            *number = n;
    }
    return *number > last;
}

/* Tells whether the last two axes of a series span a grid of at least 2 x 2 values. */
static bool is_field(const stencil_bench_row *const *row, int count) {
    const int axes = row[0]->axis_count;
    bool is = axes >= 2;
    for (int axis = axes - 2; axis < axes && is; axis++) {
        int64_t number = INT64_MIN;
        is = bench_next_number(row, count, axis, &number) && bench_next_number(row, count, axis, &number);
    }
    return is;
}

/* Appends an empty group of result rows. */
static bench_group *add_group(bench_groups *all, bench_group_kind kind, const char *outer) {
    bench_group *g = &all->group[all->count++];
    *g = (bench_group){.kind = kind, .row = all->row + all->row_count};
    snprintf(g->outer, sizeof g->outer, "%s", outer);
    return g;
}
static void add_row(bench_groups *all, bench_group *g, const stencil_bench_row *row) {
    g->row[g->count++] = row;
    all->row_count++;
}

/* Tells whether two rows were skipped for the same reason. */
static bool is_alike(const stencil_bench_row *a, const stencil_bench_row *b) {
    return strcmp(a->skipped, b->skipped) == 0;
}

/* Tells whether a row was skipped for a reason that other rows share: tables leave such rows out. */
static bool is_skip_shared(const stencil_bench_result *result, const stencil_bench_row *row) {
    int alike = 0;
    for (int i = 0; i < result->row_count && row->skipped[0] != '\0'; i++)
        alike += is_alike(&result->row[i], row);
    return alike > 1;
}

/* Collects a group of rows outside of fields, and a group for each field and set of outer axis values. */
static void collect_fields(const stencil_bench_result *result, bench_groups *all) {
    bench_group *listed = add_group(all, BENCH_LISTED, "");
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < result->row_count; i++) {
            const stencil_bench_row *row = &result->row[i], **series = all->row + all->row_count;
            const int count = series_of(result, row, series), down = row->axis_count - 2;
            const bool field = is_field(series, count);
            bool first = field; /* the row is the first of its series in the result */
            for (int k = 0; k < count; k++)
                first = first && series[k] >= row;
            if (pass == 0 && !field && !is_skip_shared(result, row))
                add_row(all, listed, row);
            for (int k = 0; pass > 0 && first && k < count; k++)
                if (k == 0 || bench_compare_places(series[k - 1], series[k], down) != 0) {
                    bench_group *g = add_group(all, BENCH_FIELD, "");
                    g->count = count;
                    g->place = series[k];
                }
            all->row_count += pass > 0 && first ? count : 0;
        }
}

/* Adds a group of those rows of `compared` whose time in parts is known, if there are any. */
static void add_split(bench_groups *all, bench_group_kind kind, const bench_group *compared,
                      const char *outer) {
    bench_group *g = NULL;
    for (int i = 0; i < compared->count; i++) {
        if (isnan(compared->row[i]->gains.sync_s))
            continue;
        if (g == NULL)
            g = add_group(all, kind, kind == BENCH_GAINS ? compared->outer : outer);
        add_row(all, g, compared->row[i]);
    }
}

/* Groups rows that were compared at equal outer axis values, which `outer` names: a group for each value of
 * the last axis, then a group of all these rows. Rows whose time in parts is known have a group of gains for
 * each size or, where blocks are the last axis, a group of times of synchronisation at the end. */
static void collect_along(bench_groups *all, const stencil_bench_row **some, int count, const char *outer) {
    const int last = some[0]->axis_count - 1;
    const bool over_sizes = strcmp(some[0]->axis[last].name, "elements") == 0;
    int places = 0;
    for (int64_t place = INT64_MIN; bench_next_number(some, count, last, &place); places++) {
        bench_group *g = add_group(all, BENCH_COMPARED, outer);
        stencil_text_add(g->outer, sizeof g->outer, "%s %lld, ", some[0]->axis[last].name, (long long)place);
        g->unit = some[0]->unit;
        for (int i = 0; i < count; i++)
            if (some[i]->axis[last].number == place)
                add_row(all, g, some[i]);
        if (over_sizes)
            add_split(all, BENCH_GAINS, g, outer);
    }
    if (places == 1)
        return;
    bench_group *g = add_group(all, BENCH_MEDIANS, outer);
    for (int i = 0; i < count; i++)
        add_row(all, g, some[i]);
    if (!over_sizes)
        add_split(all, BENCH_SYNC, g, outer);
}

/* Groups rows that were compared at all values of their one or two axes. Of copy kernels only the best is
 * shown, and no rows that are skipped for a shared reason. some: space for all rows. */
static void collect_compared(const stencil_bench_result *result, int axes, bench_groups *all,
                             const stencil_bench_row **some) {
    const stencil_bench_row **here = some + result->row_count;
    char outer[BENCH_NAME_SIZE] = "";
    int count = 0;
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        if (row->axis_count == axes && !is_skip_shared(result, row) &&
            !(bench_is_copy(row) && row->ratio < 1))
            some[count++] = row;
    }
    if (axes == 1)
        collect_along(all, some, count, outer);
    for (int64_t place = INT64_MIN; axes > 1 && bench_next_number(some, count, 0, &place);) {
        int there = 0;
        for (int i = 0; i < count; i++)
            if (some[i]->axis[0].number == place)
                here[there++] = some[i];
        snprintf(outer, sizeof outer, "%s %lld, ", some[0]->axis[0].name, (long long)place);
        collect_along(all, here, there, outer);
    }
}

bool bench_groups_of(const stencil_bench_result *result, bench_groups *all) {
    const size_t rows = (size_t)result->row_count + 1;
    *all = (bench_groups){.group = malloc(3 * rows * sizeof *all->group),
                          .row = malloc(5 * rows * sizeof *all->row)};
    if (all->group == NULL || all->row == NULL)
        return false;
    for (int i = 0; i < result->row_count; i++)
        if (!isnan(result->row[i].of_fastest)) {
            collect_compared(result, result->row[i].axis_count, all, all->row + 3 * rows);
            return true;
        }
    collect_fields(result, all);
    return true;
}

void bench_groups_destroy(bench_groups *all) {
    free(all->group);
    free(all->row);
    *all = (bench_groups){0};
}

enum { NAMES_FEW = 3 };

/* Finds the sweep in a row's name such as "neighbor/resident/store", and its length; NULL: none. */
static const char *sweep_of(const stencil_bench_row *row, size_t *length) {
    const char *slash = strchr(row->name, '/');
    *length = slash != NULL ? strcspn(slash + 1, "/") : 0;
    return slash != NULL ? slash + 1 : NULL;
}

/* Appends the names of all rows skipped for the same reason as `first`: a few names as they are, many names
 * as a pattern if one fits all. */
static void add_names(const stencil_bench_result *result, const stencil_bench_row *first, char *text,
                      size_t size) {
    size_t length, other_length;
    const char *sweep = sweep_of(first, &length);
    char list[TEXT_NAME_SIZE] = "";
    int names = 0;
    bool same = sweep != NULL;
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        bool seen = !is_alike(row, first);
        for (int k = 0; k < i && !seen; k++)
            seen = is_alike(&result->row[k], first) && strcmp(result->row[k].name, row->name) == 0;
        if (seen)
            continue;
        const char *other = sweep_of(row, &other_length);
        same = same && other != NULL && other_length == length && strncmp(sweep, other, length) == 0;
        stencil_text_add(list, sizeof list, "%s%s", names++ > 0 ? ", " : "", row->name);
    }
    if (same && names > NAMES_FEW)
        stencil_text_add(text, size, "%d strategies with %.*s", names, (int)length, sweep);
    else
        stencil_text_add(text, size, "%s", list);
}

/* Appends the axis values at which rows are skipped as `first` is, unless all values are. */
static void add_places(const stencil_bench_result *result, const stencil_bench_row *first, char *text,
                       size_t size) {
    char list[TEXT_NAME_SIZE / 2] = "";
    bool all = true;
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        bool seen = false, here = false;
        if (row->axis_count != 1)
            return;
        for (int k = 0; k < result->row_count; k++)
            if (result->row[k].axis[0].number == row->axis[0].number) {
                seen = seen || k < i;
                here = here || is_alike(&result->row[k], first);
            }
        all = all && here;
        if (here && !seen)
            stencil_text_add(list, sizeof list, "%s%lld", list[0] != '\0' ? ", " : "",
                             (long long)row->axis[0].number);
    }
    if (!all)
        stencil_text_add(text, size, ", %s %s", first->axis[0].name, list);
}

bool bench_skipped_text(const stencil_bench_result *result, int row, char *text, size_t size) {
    const stencil_bench_row *first = &result->row[row];
    bool said = !is_skip_shared(result, first);
    for (int k = 0; k < row && !said; k++)
        said = is_alike(&result->row[k], first);
    if (said)
        return false;
    add_names(result, first, text, size);
    add_places(result, first, text, size);
    stencil_text_add(text, size, ": %s", first->skipped);
    return true;
}
