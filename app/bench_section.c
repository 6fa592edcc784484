/* Tables of results: what stands in which row and column. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/text.h"
#include "base/words.h"

/* A value of a row in its scale (returned). */
static const char *value_text(double value, const bench_scale *scale, char text[TABLE_CELL_SIZE]) {
    if (scale->decimals < 0)
        return text_number(value / scale->factor, text);
    snprintf(text, TABLE_CELL_SIZE, "%.*f", scale->decimals, value / scale->factor);
    return text;
}

/* Digits behind the point that leave the smallest number three that count. */
static int decimals_for(double smallest) {
    if (!isfinite(smallest))
        return -1;
    const int decimals = 2 - (int)floor(log10(smallest));
    return decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
}

bench_scale bench_scale_of(const stencil_bench_result *result, const int *row, int count) {
    static const struct {
        double factor;
        const char *text;
    } times[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    double smallest = INFINITY;
    bench_scale scale = {.factor = 1};
    for (int i = 0; i < count; i++) {
        const stencil_bench_row *r = &result->row[row[i]];
        if (r->sample_count > 0 && r->statistics.median > 0)
            smallest = fmin(smallest, r->statistics.median);
    }
    const char *unit = count > 0 ? result->row[row[0]].unit : "";
    snprintf(scale.unit, sizeof scale.unit, "%s", unit);
    if (strcmp(unit, "s") == 0 || strncmp(unit, "s/", 2) == 0) {
        int i = 0;
        while (i < 3 && smallest < 0.1 * times[i].factor)
            i++;
        scale.factor = times[i].factor;
        snprintf(scale.unit, sizeof scale.unit, "%s%s", times[i].text, unit + 1);
    } else if (strncmp(unit, "bytes/s", 7) == 0) {
        scale.factor = 1e9;
        snprintf(scale.unit, sizeof scale.unit, "GB%s", unit + 5);
    }
    scale.decimals = decimals_for(smallest / scale.factor);
    return scale;
}

const char *bench_row_name(const stencil_bench_result *result, const stencil_bench_row *row, char *text,
                           size_t size) {
    bool several = false;
    for (int i = 1; i < result->row_count; i++)
        several = several || strcmp(result->row[i].kind, result->row[0].kind) != 0;
    snprintf(text, size, several ? "%s (%s)" : "%s", row->name, row->kind);
    return text;
}

const char *bench_place(const stencil_bench_row *row, int axes, char *text, size_t size) {
    text[0] = '\0';
    for (int i = 0; i < axes; i++)
        stencil_text_add(text, size, "%s%s %lld", i > 0 ? ", " : "", row->axis[i].name,
                         (long long)row->axis[i].number);
    return text;
}

/* The rows of a result that are listed one by one, and the columns they need. */
typedef struct listing {
    const stencil_bench_result *result;
    int count;
    int *row;       /* [count] */
    int *scratch;   /* [count] */
    int axis_count; /* all axes of all rows */
    const char *axis[TABLE_COLUMNS_MAX / 2];
    bool kinds; /* there are several */
    bool sampled, cells, bytes, ratios, method_sd;
} listing;

void bench_collect_axes(const stencil_bench_row *row, const char **axis, int *count, int most) {
    for (int i = 0; i < row->axis_count; i++) {
        int k = 0;
        while (k < *count && strcmp(axis[k], row->axis[i].name) != 0)
            k++;
        if (k == *count && k < most)
            axis[(*count)++] = row->axis[i].name;
    }
}

static void note_columns(listing *l) {
    for (int i = 0; i < l->count; i++) {
        const stencil_bench_row *row = &l->result->row[l->row[i]];
        bench_collect_axes(row, l->axis, &l->axis_count, TABLE_COLUMNS_MAX / 2);
        l->kinds = l->kinds || strcmp(row->kind, l->result->row[l->row[0]].kind) != 0;
        if (row->sample_count == 0)
            continue;
        l->sampled = true;
        l->cells = l->cells || row->cells > 0;
        l->bytes = l->bytes || row->bytes > 0;
        l->ratios = l->ratios || !isnan(row->ratio);
        l->method_sd = l->method_sd || !isnan(row->method_sd);
    }
}

/* The scale of all listed rows that have the unit of `row`. */
static bench_scale scale_of_unit(const listing *l, const stencil_bench_row *row) {
    int same = 0;
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->result->row[l->row[i]].unit, row->unit) == 0)
            l->scratch[same++] = l->row[i];
    return bench_scale_of(l->result, l->scratch, same);
}

static void add_columns(const listing *l, table *t) {
    table_add_column(t, "", true, 0);
    if (l->kinds)
        table_add_column(t, "kind", true, 1);
    for (int i = 0; i < l->axis_count; i++)
        table_add_column(t, l->axis[i], false, 0);
    if (!l->sampled) {
        table_add_column(t, "", true, 0);
        return;
    }
    table_add_column(t, "unit", true, 0);
    table_add_column(t, "median", false, 0);
    table_add_column(t, "noise", false, 0);
    if (l->method_sd)
        table_add_column(t, "method_sd", false, 1);
    table_add_column(t, "p5", false, 2);
    table_add_column(t, "p95", false, 2);
    table_add_column(t, "samples", false, 3);
    if (l->cells)
        table_add_column(t, "Gcell/s", false, 0);
    if (l->bytes)
        table_add_column(t, "GB/s", false, 0);
    if (l->ratios)
        table_add_column(t, "of best_copy", false, 0);
}

/* A number in its scale; NaN: an empty cell. */
static void add_value(table *t, double value, const bench_scale *scale) {
    char text[TABLE_CELL_SIZE];
    table_add_cell(t, "%s", !isnan(value) ? value_text(value, scale, text) : "");
}

static void add_noise(table *t, const stencil_bench_row *row) {
    const char *mark = row->noisy ? "~" : "";
    const double spread = row->statistics.spread;
    if (isnan(spread))
        table_add_cell(t, "%s?", mark);
    else
        table_add_cell(t, "%s%.*f%%", mark, spread < 0.0995, 100 * spread);
}

static void add_values(const listing *l, table *t, const stencil_bench_row *row) {
    const bench_scale scale = scale_of_unit(l, row), giga = {.factor = 1e9, .decimals = -1};
    table_add_cell(t, "%s", scale.unit);
    add_value(t, row->statistics.median, &scale);
    add_noise(t, row);
    if (l->method_sd)
        add_value(t, row->method_sd, &scale);
    add_value(t, row->statistics.p5, &scale);
    add_value(t, row->statistics.p95, &scale);
    table_add_cell(t, "%lld", (long long)row->sample_count);
    if (l->cells)
        add_value(t, row->cells > 0 ? stencil_bench_cells_per_s(row) : NAN, &giga);
    if (l->bytes)
        add_value(t, row->bytes > 0 ? stencil_bench_bytes_per_s(row) : NAN, &giga);
    if (l->ratios)
        table_add_cell(t, isnan(row->ratio) ? "" : "%.0f%%", 100 * row->ratio);
}

static void add_row(const listing *l, table *t, const stencil_bench_row *row) {
    table_add_row(t);
    table_add_cell(t, "%s", row->name);
    if (l->kinds)
        table_add_cell(t, "%s", row->kind);
    for (int i = 0; i < l->axis_count; i++) {
        int64_t number = 0;
        const bool there = stencil_bench_axis(row, l->axis[i], &number);
        table_add_cell(t, there ? "%lld" : "", (long long)number);
    }
    if (row->skipped[0] != '\0')
        table_set_rest(t, "skipped: %s", row->skipped);
    else if (row->outcome[0] != '\0')
        table_set_rest(t, "%s", row->outcome);
    else if (row->sample_count > 0)
        add_values(l, t, row);
}

/* A table that is complete, with or without memory for it. */
static stencil_status visit_table(table *t, const char *title, bench_section_visitor visit, void *context) {
    const bool no_memory = t->no_memory;
    if (!no_memory)
        visit(context, title, t);
    table_destroy(t);
    CHECK(!no_memory, NO_MEMORY, "no memory for a table");
    return STENCIL_OK;
}

static stencil_status visit_listing(listing *l, bench_section_visitor visit, void *context) {
    table t = {0};
    if (l->count == 0)
        return STENCIL_OK;
    note_columns(l);
    add_columns(l, &t);
    for (int i = 0; i < l->count; i++)
        add_row(l, &t, &l->result->row[l->row[i]]);
    return visit_table(&t, "", visit, context);
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

/* A series that fills a field, and the numbers on its two innermost axes. */
typedef struct field {
    const stencil_bench_result *result;
    const stencil_bench_series *series;
    bench_scale scale;
    int64_t *down, *across;
    int downs, acrosses;
} field;

/* The table at at[0 … outer) on the outer axes. */
static void fill_field(const field *f, int outer, int64_t *at, table *t) {
    char text[TABLE_CELL_SIZE];
    table_add_column(t, f->result->row[f->series->row[0]].axis[outer].name, false, 0);
    for (int i = 0; i < f->acrosses; i++) {
        snprintf(text, sizeof text, "%lld", (long long)f->across[i]);
        table_add_column(t, text, false, 0);
    }
    for (int i = 0; i < f->downs; i++) {
        table_add_row(t);
        table_add_cell(t, "%lld", (long long)f->down[i]);
        for (int k = 0; k < f->acrosses && k < TABLE_COLUMNS_MAX - 1; k++) {
            at[outer] = f->down[i];
            at[outer + 1] = f->across[k];
            bench_add_median(t, stencil_bench_series_at(f->result, f->series, at), &f->scale, "-");
        }
    }
}

/* One table for each combination of the outer axes. */
static stencil_status visit_fields(const stencil_bench_result *result, const stencil_bench_series *series,
                                   bench_section_visitor visit, void *context) {
    const stencil_bench_row *first = &result->row[series->row[0]];
    const int outer = first->axis_count - 2;
    field f = {result, series, .scale = bench_scale_of(result, series->row, series->count)};
    int64_t at[STENCIL_BENCH_AXES_MAX];
    f.down = malloc(2 * (size_t)series->count * sizeof *f.down);
    CHECK(f.down != NULL, NO_MEMORY, "no memory for a table");
    f.across = f.down + series->count;
    f.downs = stencil_bench_series_values(result, series, outer, f.down);
    f.acrosses = stencil_bench_series_values(result, series, outer + 1, f.across);
    stencil_bench_series_first(result, series, at);
    stencil_status status;
    do {
        char title[384], place[160], name[96];
        stencil_bench_row outside = *first;
        for (int k = 0; k < outer; k++)
            outside.axis[k].number = at[k];
        snprintf(title, sizeof title, "%s%s%s, %s: %s down, %s across",
                 bench_row_name(result, first, name, sizeof name), outer > 0 ? ", " : "",
                 bench_place(&outside, outer, place, sizeof place), f.scale.unit, first->axis[outer].name,
                 first->axis[outer + 1].name);
        table t = {0};
        fill_field(&f, outer, at, &t);
        status = visit_table(&t, title, visit, context);
    } while (status == STENCIL_OK && stencil_bench_series_next(result, series, outer, at));
    free(f.down);
    return status;
}

/* Rows that are in no field, in the order of the result. */
static void list_rows(listing *l, const stencil_bench_series *series, int count) {
    bool *in_field = (bool *)l->scratch;
    memset(in_field, 0, (size_t)l->result->row_count * sizeof *in_field);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < series[i].count && stencil_bench_series_is_field(l->result, &series[i]); k++)
            in_field[series[i].row[k]] = true;
    for (int i = 0; i < l->result->row_count; i++)
        if (!in_field[i])
            l->row[l->count++] = i;
}

stencil_status bench_visit_sections(const stencil_bench_result *result, bench_section_visitor visit,
                                    void *context) {
    stencil_bench_series *series;
    int count;
    const size_t most = (size_t)result->row_count + 1;
    listing l = {.result = result, .row = malloc(2 * most * sizeof *l.row)};
    CHECK(l.row != NULL, NO_MEMORY, "no memory for a table");
    l.scratch = l.row + most;
    stencil_status status = stencil_bench_series_make(result, &series, &count);
    if (status == STENCIL_OK) {
        list_rows(&l, series, count);
        status = visit_listing(&l, visit, context);
    }
    for (int i = 0; i < count && status == STENCIL_OK; i++)
        if (stencil_bench_series_is_field(result, &series[i]))
            status = visit_fields(result, &series[i], visit, context);
    free(l.row);
    stencil_bench_series_destroy(series, count);
    return status;
}
