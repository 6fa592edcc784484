/* Tables of results: what stands in which row and column. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/text.h"
#include "base/words.h"

/* A value in its scale (returned); NaN: "". */
static const char *value_text(double value, const bench_scale *scale, char text[TABLE_CELL_SIZE]) {
    text[0] = '\0';
    if (isnan(value))
        return text;
    if (scale->decimals < 0)
        return text_number(value / scale->factor, text);
    snprintf(text, TABLE_CELL_SIZE, "%.*f", scale->decimals, value / scale->factor);
    return text;
}

bench_scale bench_scale_of(const stencil_bench_row *const *row, int count, const char *unit) {
    static const struct {
        const char *unit, *shown;
        double factor;
    } units[] = {
        {"s", "s", 1}, {"s", "ms", 1e-3}, {"s", "us", 1e-6}, {"s", "ns", 1e-9}, {"bytes/s", "GB/s", 1e9}};
    double smallest = INFINITY;
    bench_scale scale = {.factor = 1};
    for (int i = 0; i < count; i++)
        if (row[i]->sample_count > 0 && row[i]->statistics.median > 0 && strcmp(row[i]->unit, unit) == 0)
            smallest = fmin(smallest, row[i]->statistics.median);
    snprintf(scale.unit, sizeof scale.unit, "%s", unit);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t length = strlen(units[i].unit);
        if (strncmp(unit, units[i].unit, length) != 0 || (unit[length] != '\0' && unit[length] != '/'))
            continue;
        scale.factor = units[i].factor;
        snprintf(scale.unit, sizeof scale.unit, "%s%s", units[i].shown, unit + length);
        if (smallest >= 0.1 * scale.factor)
            break;
    }
    const double decimals = 2 - floor(log10(smallest / scale.factor));
    scale.decimals = isinf(smallest) ? -1 : (int)fmax(0, fmin(decimals, 6));
    return scale;
}

const char *bench_row_name(const stencil_bench_result *result, const stencil_bench_row *row, int axes,
                           char text[BENCH_NAME_SIZE]) {
    bool several = false;
    for (int i = 1; i < result->row_count; i++)
        several = several || strcmp(result->row[i].kind, result->row[0].kind) != 0;
    snprintf(text, BENCH_NAME_SIZE, several ? "%s (%s)" : "%s", row->name, row->kind);
    for (int i = 0; i < axes; i++)
        stencil_text_add(text, BENCH_NAME_SIZE, ", %s %lld", row->axis[i].name,
                         (long long)row->axis[i].number);
    return text;
}

void bench_add_median(table *t, const stencil_bench_row *row, const bench_scale *scale, const char *missing) {
    char text[TABLE_CELL_SIZE];
    if (row == NULL || row->outcome[0] != '\0')
        table_add_cell(t, "%s", row == NULL ? "" : row->outcome);
    else if (row->sample_count == 0)
        table_add_cell(t, "%s", missing);
    else
        table_add_cell(t, "%s%s", row->noisy ? "~" : "", value_text(row->statistics.median, scale, text));
}

/* What a listing says of rows with samples, a column each; one that says nothing is left out. */
typedef enum value_kind {
    UNIT,
    SCALED,
    DIGITS,
    SPREAD,
    COUNT,
    RATE,
    PERCENT,
    TIMES,
    WHOLE,
    MICRO
} value_kind;
#define AT(member) offsetof(stencil_bench_row, member)
static const struct {
    table_column column;
    value_kind kind;
    size_t offset; /* of a double in the row */
} values[] = {
    {{.header = "unit", .left = true}, UNIT, AT(statistics.median)},
    {{.header = "median"}, SCALED, AT(statistics.median)},
    {{.header = "noise"}, SPREAD, AT(statistics.spread)},
    {{.header = "method_sd", .optional = 1}, SCALED, AT(method_sd)},
    {{.header = "p5", .optional = 2}, SCALED, AT(statistics.p5)},
    {{.header = "p95", .optional = 2}, SCALED, AT(statistics.p95)},
    {{.header = "samples", .optional = 3}, COUNT, AT(statistics.median)},
    {{.header = "Gcell/s"}, RATE, AT(cells)},
    {{.header = "GB/s"}, RATE, AT(bytes)},
    {{.header = "of best_copy"}, PERCENT, AT(ratio)},
    {{.header = "x the_fastest"}, TIMES, AT(of_fastest)},
    {{.header = "predicted"}, DIGITS, AT(predicted)},
    {{.header = "sync_predicted"}, PERCENT, AT(sync_share)},
    {{.header = "sync"}, PERCENT, AT(sync_measured)},
    {{.header = "x plain"}, TIMES, AT(speedup)},
    {{.header = "workers"}, WHOLE, AT(workers)},
    {{.header = "tO_us"}, MICRO, AT(t_o)},
    {{.header = "tC_us"}, MICRO, AT(t_c)},
    {{.header = "tS_us"}, MICRO, AT(t_s)},
};
enum { VALUES = sizeof values / sizeof *values, BYTES_RATE = 8 };

/* What stands in such a column (returned); "": nothing. */
static const char *cell_text(const stencil_bench_row *row, int column, const bench_scale *scale,
                             char text[TABLE_CELL_SIZE]) {
    static const bench_scale giga = {.factor = 1e9, .decimals = -1};
    const double value = *(const double *)(const void *)((const char *)row + values[column].offset);
    const char *mark = row->noisy ? "~" : "";
    text[0] = '\0';
    if (row->sample_count == 0)
        return text;
    switch (values[column].kind) {
    case UNIT:
        return scale->unit;
    case SCALED:
        return value_text(value, scale, text);
    case DIGITS:
        return value_text(value, &(bench_scale){.factor = scale->factor, .decimals = -1}, text);
    case RATE:
        return value_text(value > 0 ? stencil_bench_rate(row, value) : NAN, &giga, text);
    case MICRO:
        return value_text(value, &(bench_scale){.factor = 1e-6, .decimals = -1}, text);
    case COUNT:
        snprintf(text, TABLE_CELL_SIZE, "%lld", (long long)row->sample_count);
        break;
    case SPREAD:
        if (isnan(value))
            snprintf(text, TABLE_CELL_SIZE, "%s?", mark);
        else
            snprintf(text, TABLE_CELL_SIZE, "%s%.*f%%", mark, value < 0.0995, 100 * value);
        break;
    case PERCENT:
        snprintf(text, TABLE_CELL_SIZE, isnan(value) ? "" : "%.0f%%", 100 * value);
        break;
    case TIMES:
        snprintf(text, TABLE_CELL_SIZE, isnan(value) ? "" : "%.2f", value);
        break;
    case WHOLE:
        snprintf(text, TABLE_CELL_SIZE, isnan(value) ? "" : "%.0f", value);
        break;
    }
    return text;
}

void bench_collect_axes(const stencil_bench_row *row, const char **axis, int *count, int most) {
    for (int i = 0; i < row->axis_count; i++) {
        int k = 0;
        while (k < *count && strcmp(axis[k], row->axis[i].name) != 0)
            k++;
        if (k == *count && k < most)
            axis[(*count)++] = row->axis[i].name;
    }
}

/* Rows that are listed one by one, and the columns that they need. */
typedef struct listing {
    int count;
    const stencil_bench_row **row; /* [count] */
    int axis_count;                /* all axes of all rows */
    const char *axis[TABLE_COLUMNS_MAX / 2];
    bool kinds;  /* there are several */
    bool titled; /* the title says where they stand on the axes, and their unit */
    bool shown[VALUES];
} listing;

static bool is_copy(const stencil_bench_row *row) {
    return strcmp(row->kind, "copy") == 0;
}

static void add_columns(listing *l, table *t) {
    char text[TABLE_CELL_SIZE];
    for (int i = 0; i < l->count; i++) {
        const stencil_bench_row *row = l->row[i];
        if (!l->titled)
            bench_collect_axes(row, l->axis, &l->axis_count, TABLE_COLUMNS_MAX / 2);
        l->kinds = l->kinds || (strcmp(row->kind, l->row[0]->kind) != 0 && !(l->titled && is_copy(row)));
        for (int v = 0; v < VALUES; v++)
            l->shown[v] =
                l->shown[v] || cell_text(row, v, &(bench_scale){.factor = 1, .unit = "x"}, text)[0] != '\0';
    }
    table_add_column(t, "", true, 0);
    if (l->kinds)
        table_add_column(t, "kind", true, 1);
    for (int i = 0; i < l->axis_count; i++)
        table_add_column(t, l->axis[i], false, 0);
    l->shown[0] = l->shown[0] && !l->titled;
    if (!l->shown[0] && !l->titled)
        table_add_column(t, "", true, 0); /* for what rows say in place of numbers */
    for (int v = 0; v < VALUES; v++)
        if (l->shown[v]) {
            t->column[t->column_count] = values[v].column;
            t->column[t->column_count++].optional += l->titled && v == BYTES_RATE;
        }
}

static void add_row(const listing *l, table *t, const stencil_bench_row *row) {
    const bool skipped = row->skipped[0] != '\0';
    table_add_row(t);
    table_add_cell(t, l->titled && is_copy(row) ? "copy (%s)" : "%s", row->name);
    if (l->kinds)
        table_add_cell(t, "%s", row->kind);
    for (int i = 0; i < l->axis_count; i++) {
        int64_t number = 0;
        const bool there = stencil_bench_axis(row, l->axis[i], &number);
        table_add_cell(t, there ? "%lld" : "", (long long)number);
    }
    if (skipped || row->outcome[0] != '\0') {
        table_add_cell(t, "%s%s", skipped ? "skipped: " : "", skipped ? row->skipped : row->outcome);
        table_span_cell(t);
        return;
    }
    const bench_scale scale = bench_scale_of(l->row, l->count, l->titled ? l->row[0]->unit : row->unit);
    char text[TABLE_CELL_SIZE];
    for (int v = 0; v < VALUES; v++)
        if (l->shown[v])
            table_add_cell(t, "%s", cell_text(row, v, &scale, text));
}

/* Whether rows are of the same thing at places of the same axes: a series. */
static bool belong_together(const stencil_bench_row *a, const stencil_bench_row *b) {
    const char *method_a = a->method != NULL ? a->method : "", *method_b = b->method != NULL ? b->method : "";
    bool same = strcmp(a->kind, b->kind) == 0 && strcmp(a->name, b->name) == 0 &&
                strcmp(a->unit, b->unit) == 0 && strcmp(method_a, method_b) == 0 &&
                a->axis_count == b->axis_count;
    for (int i = 0; i < a->axis_count && same; i++)
        same = strcmp(a->axis[i].name, b->axis[i].name) == 0;
    return same;
}

/* The order of two rows of a series on their first `axes` axes. */
static int compare_places(const stencil_bench_row *a, const stencil_bench_row *b, int axes) {
    int order = 0;
    for (int i = 0; i < axes && order == 0; i++)
        order = (a->axis[i].number > b->axis[i].number) - (a->axis[i].number < b->axis[i].number);
    return order;
}

static int compare_rows(const void *a, const void *b) {
    const stencil_bench_row *first = *(const stencil_bench_row *const *)a;
    return compare_places(first, *(const stencil_bench_row *const *)b, first->axis_count);
}

/* The series of a row, in the order of its places, into row[]. Returns how many rows it has. */
static int series_of(const stencil_bench_result *result, const stencil_bench_row *first,
                     const stencil_bench_row **row) {
    int count = 0;
    for (int i = 0; i < result->row_count; i++)
        if (belong_together(first, &result->row[i]))
            row[count++] = &result->row[i];
    qsort(row, (size_t)count, sizeof *row, compare_rows);
    return count;
}

/* Moves *number to the next larger one of row[count] on an axis; false: there is none. From INT64_MIN on that
 * is every number, ascending. */
static bool next_number(const stencil_bench_row *const *row, int count, int axis, int64_t *number) {
    const int64_t last = *number;
    for (int i = 0; i < count; i++) {
        const int64_t n = row[i]->axis[axis].number;
        if (n > last && (n < *number || *number == last))
            *number = n;
    }
    return *number > last;
}

/* Whether the last two axes of a series span a field of at least 2 x 2 places. */
static bool is_field(const stencil_bench_row *const *row, int count) {
    const int axes = row[0]->axis_count;
    bool is = axes >= 2;
    for (int axis = axes - 2; axis < axes && is; axis++) {
        int64_t number = INT64_MIN;
        is = next_number(row, count, axis, &number) && next_number(row, count, axis, &number);
    }
    return is;
}

/* A series that spans fields: a table for each place on its outer axes. */
static void print_fields(bench_printer *p, const stencil_bench_result *result,
                         const stencil_bench_row *const *row, int count) {
    const bench_scale scale = bench_scale_of(row, count, row[0]->unit);
    const int down = row[0]->axis_count - 2, across = down + 1;
    for (int i = 0; i < count;) {
        const stencil_bench_row *first = row[i];
        char title[384], text[BENCH_NAME_SIZE];
        table t = {0};
        snprintf(title, sizeof title, "%s, %s: %s down, %s across", bench_row_name(result, first, down, text),
                 scale.unit, first->axis[down].name, first->axis[across].name);
        table_add_column(&t, first->axis[down].name, false, 0);
        for (int64_t x = INT64_MIN; next_number(row, count, across, &x);) {
            snprintf(text, sizeof text, "%lld", (long long)x);
            table_add_column(&t, text, false, 0);
        }
        for (int64_t y = INT64_MIN; next_number(row, count, down, &y);) {
            table_add_row(&t);
            table_add_cell(&t, "%lld", (long long)y);
            for (int64_t x = INT64_MIN; next_number(row, count, across, &x);) {
                const stencil_bench_row *here = NULL;
                while (i < count && compare_places(row[i], first, down) == 0 &&
                       row[i]->axis[down].number == y && row[i]->axis[across].number == x)
                    here = row[i++];
                bench_add_median(&t, here, &scale, "-");
            }
        }
        bench_print_table(p, title, &t);
    }
}

static void print_listing(bench_printer *p, listing *l, const char *title) {
    table t = {0};
    add_columns(l, &t);
    for (int i = 0; i < l->count; i++)
        add_row(l, &t, l->row[i]);
    bench_print_table(p, title, &t);
}

/* Tells whether rows stand in one line of all medians: those of a series, and the best copies. */
static bool share_line(const stencil_bench_row *a, const stencil_bench_row *b) {
    return belong_together(a, b) || (is_copy(a) && is_copy(b));
}

/* The row of a line of all[count] at a place of its last axis; NULL: there is none. */
static const stencil_bench_row *find_at(const stencil_bench_row *const *all, int count,
                                        const stencil_bench_row *series, int64_t place) {
    for (int i = 0; i < count; i++)
        if (share_line(series, all[i]) && all[i]->axis[all[i]->axis_count - 1].number == place)
            return all[i];
    return NULL;
}

/* Rows that were compared with each other, at one place of their outer axes, which `outer` names: a listing
 * for each place on the last one, and all medians, names down and places across. */
static void print_compared_along(bench_printer *p, const stencil_bench_row *const *all, int count, listing *l,
                                 const char *outer) {
    const int last = all[0]->axis_count - 1;
    const char *axis = all[0]->axis[last].name;
    const bench_scale scale = bench_scale_of(all, count, all[0]->unit);
    int places = 0;
    table t = {0};
    char text[BENCH_NAME_SIZE];
    table_add_column(&t, "", true, 0);
    for (int64_t place = INT64_MIN; next_number(all, count, last, &place); places++) {
        l->count = 0;
        for (int i = 0; i < count; i++)
            if (all[i]->axis[last].number == place)
                l->row[l->count++] = all[i];
        snprintf(text, sizeof text, "%lld", (long long)place);
        table_add_column(&t, text, false, 0);
        snprintf(text, sizeof text, "%s%s %lld, %s", outer, axis, (long long)place,
                 bench_scale_of(l->row, l->count, all[0]->unit).unit);
        print_listing(p, l, text);
    }
    for (int i = 0; i < count; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || share_line(all[k], all[i]);
        if (seen)
            continue;
        table_add_row(&t);
        table_add_cell(&t, "%s", is_copy(all[i]) ? "the best copy" : all[i]->name);
        for (int64_t place = INT64_MIN; next_number(all, count, last, &place);)
            bench_add_median(&t, find_at(all, count, all[i], place), &scale, "-");
    }
    snprintf(text, sizeof text, "%s%s: names down, %s across", outer, scale.unit, axis);
    if (places > 1)
        bench_print_table(p, text, &t);
    else
        table_destroy(&t);
}

/* Tells whether tables show a row: of copies the best one, and of rows that are skipped for the same reason
 * none.
 */
static bool is_shown(const stencil_bench_result *result, const stencil_bench_row *row) {
    return !bench_skip_is_shared(result, row) && !(is_copy(row) && row->ratio < 1);
}

/* Rows that were compared with each other at every place of their axes, of which there are one or two.
 * l->row has space for all rows three times. */
static void print_compared(bench_printer *p, const stencil_bench_result *result, int axes, listing *l) {
    const stencil_bench_row **all = l->row + result->row_count, **some = all + result->row_count;
    char outer[BENCH_NAME_SIZE] = "";
    int count = 0;
    for (int i = 0; i < result->row_count; i++)
        if (result->row[i].axis_count == axes && is_shown(result, &result->row[i]))
            all[count++] = &result->row[i];
    if (axes == 1)
        print_compared_along(p, all, count, l, outer);
    for (int64_t place = INT64_MIN; axes > 1 && next_number(all, count, 0, &place);) {
        int here = 0;
        for (int i = 0; i < count; i++)
            if (all[i]->axis[0].number == place)
                some[here++] = all[i];
        snprintf(outer, sizeof outer, "%s %lld, ", all[0]->axis[0].name, (long long)place);
        print_compared_along(p, some, here, l, outer);
    }
}

void bench_print_tables(bench_printer *p, const stencil_bench_result *result) {
    if (result->bar_count > 0) {
        bench_print_bars(p, result);
        return;
    }
    const size_t most = (size_t)result->row_count + 1;
    listing l = {.row = malloc(3 * most * sizeof *l.row)};
    if (l.row == NULL) {
        p->incomplete = true;
        return;
    }
    const stencil_bench_row **series = l.row + most;
    for (int i = 0; i < result->row_count; i++)
        if (!isnan(result->row[i].of_fastest)) {
            l.titled = true;
            print_compared(p, result, result->row[i].axis_count, &l);
            free(l.row);
            return;
        }
    for (int i = 0; i < result->row_count; i++)
        if (!bench_skip_is_shared(result, &result->row[i]) &&
            !is_field(series, series_of(result, &result->row[i], series)))
            l.row[l.count++] = &result->row[i];
    if (l.count > 0)
        print_listing(p, &l, NULL);
    for (int i = 0; i < result->row_count; i++) {
        const int count = series_of(result, &result->row[i], series);
        bool first = is_field(series, count); /* and row i is the first of it */
        for (int k = 0; k < count; k++)
            first = first && series[k] >= &result->row[i];
        if (first)
            print_fields(p, result, series, count);
    }
    free(l.row);
}
