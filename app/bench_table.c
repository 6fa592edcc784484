/* Tables of benchmark results, one for each group of result rows. */
#include <math.h>
#include <string.h>

#include "app/bench.h"
#include "app/text.h"

/* Returns a value in a scale as text; "" for NaN. */
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

/* Kinds of columns in a listing of result rows with samples; empty columns are left out. */
typedef enum value_kind { UNIT, SCALED, DIGITS, SPREAD, COUNT, RATE, FACTOR } value_kind;
#define OF(what, member)       .kind = what, .offset = offsetof(stencil_bench_row, member)
#define MICRO(member)          OF(DIGITS, member), .factor = 1e-6
#define FACTORS(member, count) OF(FACTOR, member), .factor = 1, .decimals = count, .behind = ""
#define PERCENT(member)        OF(FACTOR, member), .factor = 100, .behind = "%"
static const struct {
    const char *column; /* header in the form that table_add_columns() takes */
    value_kind kind;
    size_t offset; /* offset of a double in stencil_bench_row */
    double factor; /* factor of the value; of DIGITS the divisor, 0: that of the scale */
    int decimals;
    const char *behind; /* text after the number */
} values[] = {
    {"<unit", OF(UNIT, statistics.median)},
    {">median", OF(SCALED, statistics.median)},
    {">noise", OF(SPREAD, statistics.spread)},
    {">?method_sd", OF(SCALED, method_sd)},
    {">??p5", OF(SCALED, statistics.p5)},
    {">??p95", OF(SCALED, statistics.p95)},
    {">???samples", OF(COUNT, statistics.median)},
    {">Gcell/s", OF(RATE, cells)},
    {">GB/s", OF(RATE, bytes)},
    {">of best_copy", PERCENT(ratio)},
    {">?of_nominal", PERCENT(of_nominal)},
    {">x the_fastest", FACTORS(of_fastest, 2)},
    {">predicted", OF(DIGITS, predicted)},
    {">sync_predicted", PERCENT(sync_share)},
    {">sync", PERCENT(sync_measured)},
    {">x plain", FACTORS(speedup, 2)},
    {">workers", FACTORS(workers, 0)},
    {">tO_us", MICRO(t_o)},
    {">tC_us", MICRO(t_c)},
    {">tS_us", MICRO(t_s)},
    {">?kernels_us", MICRO(kernels_s)},
    {">?skew_us", MICRO(skew_s)},
};
enum { VALUES = sizeof values / sizeof *values, BYTES_RATE = 8 };

/* Returns the text of a cell in a listing of result rows; "": empty. */
static const char *cell_text(const stencil_bench_row *row, int column, const bench_scale *scale,
                             char text[TABLE_CELL_SIZE]) {
    const double value = *(const double *)(const void *)((const char *)row + values[column].offset),
                 factor = values[column].factor;
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
        return value_text(
            value, &(bench_scale){.factor = factor > 0 ? factor : scale->factor, .decimals = -1}, text);
    case RATE:
        return value_text(value > 0 ? stencil_bench_rate(row, value) : NAN,
                          &(bench_scale){.factor = 1e9, .decimals = -1}, text);
    case COUNT:
        snprintf(text, TABLE_CELL_SIZE, "%lld", (long long)row->sample_count);
        break;
    case SPREAD:
        if (isnan(value))
            snprintf(text, TABLE_CELL_SIZE, "%s?", mark);
        else
            snprintf(text, TABLE_CELL_SIZE, "%s%.*f%%", mark, value < 0.0995, 100 * value);
        break;
    case FACTOR:
        snprintf(text, TABLE_CELL_SIZE, isnan(value) ? "" : "%.*f%s", values[column].decimals, factor * value,
                 values[column].behind);
        break;
    }
    return text;
}

/* Table that lists result rows one by one, and the columns that these rows need. */
typedef struct listing {
    const bench_group *of;
    bool titled;    /* the title has the unit and axis values of the rows */
    int axis_count; /* number of different axes of all rows */
    const char *axis[TABLE_COLUMNS_MAX / 2];
    bool kinds; /* rows are of several kinds */
    bool shown[VALUES];
} listing;

static void add_columns(listing *l, table *t) {
    char text[TABLE_CELL_SIZE];
    for (int i = 0; i < l->of->count; i++) {
        const stencil_bench_row *row = l->of->row[i];
        if (!l->titled)
            bench_collect_axes(row, l->axis, &l->axis_count, TABLE_COLUMNS_MAX / 2);
        l->kinds =
            l->kinds || (strcmp(row->kind, l->of->row[0]->kind) != 0 && !(l->titled && bench_is_copy(row)));
        for (int v = 0; v < VALUES; v++)
            l->shown[v] =
                l->shown[v] || cell_text(row, v, &(bench_scale){.factor = 1, .unit = "x"}, text)[0] != '\0';
    }
    table_add_columns(t, l->kinds ? "<\t<?kind" : "<");
    for (int i = 0; i < l->axis_count; i++)
        table_add_columns(t, TEXT(">%s", l->axis[i]));
    l->shown[0] = l->shown[0] && !l->titled;
    if (!l->shown[0] && !l->titled)
        table_add_columns(t, "<"); /* this column has the texts of rows without numbers */
    for (int v = 0; v < VALUES; v++)
        if (l->shown[v])
            table_add_columns(t, l->titled && v == BYTES_RATE ? ">?GB/s" : values[v].column);
}

static void add_row(const listing *l, table *t, const stencil_bench_row *row) {
    const bool skipped = row->skipped[0] != '\0';
    table_add_line(t, l->titled && bench_is_copy(row) ? "copy (%s)" : "%s", row->name);
    if (l->kinds)
        table_add_cell(t, "%s", row->kind);
    for (int i = 0; i < l->axis_count; i++) {
        int64_t number = 0;
        const bool there = stencil_bench_axis(row, l->axis[i], &number);
        table_add_cell(t, there ? "%lld" : "", (long long)number);
    }
    if (skipped || row->outcome[0] != '\0') {
        table_add_cell(t, TABLE_SPAN "%s%s", skipped ? "skipped: " : "",
                       skipped ? row->skipped : row->outcome);
        return;
    }
    const bench_scale scale =
        bench_scale_of(l->of->row, l->of->count, l->titled ? l->of->row[0]->unit : row->unit);
    char text[TABLE_CELL_SIZE];
    for (int v = 0; v < VALUES; v++)
        if (l->shown[v])
            table_add_cell(t, "%s", cell_text(row, v, &scale, text));
}

/* Finds the row of a group that shares the line of row `line`, with value `place` on the last axis; NULL:
 * none. */
static const stencil_bench_row *find_at(const bench_group *g, const stencil_bench_row *line, int64_t place) {
    const int across = line->axis_count - 1;
    for (int i = 0; i < g->count; i++)
        if (g->row[i]->axis[across].number == place &&
            (g->place != NULL ? g->row[i]->axis[across - 1].number == line->axis[across - 1].number &&
                                    bench_compare_places(g->row[i], g->place, across - 1) == 0
                              : bench_share_line(line, g->row[i])))
            return g->row[i];
    return NULL;
}

static bool begins_line(const bench_group *g, int row) {
    bool begins = true;
    for (int i = 0; i < row; i++)
        begins = begins && !bench_share_line(g->row[i], g->row[row]);
    return begins;
}

/* Adds a table cell with the time of a run for synchronisation; row NULL: empty. */
static void add_sync(table *t, const stencil_bench_row *row, const bench_scale *scale) {
    const bench_scale digits = {.factor = scale->factor, .decimals = -1};
    char text[TABLE_CELL_SIZE];
    table_add_cell(t, "%s", value_text(row != NULL ? row->gains.sync_s : NAN, &digits, text));
}

/* Makes a table of medians, or of times of synchronisation: a line for each row name or each value of a
 * field's second last axis, a column for each value of the last axis. */
static void make_medians(const bench_group *g, const bench_scale *scale, table *t) {
    const int across = g->row[0]->axis_count - 1;
    table_add_columns(t, g->place != NULL ? TEXT(">%s", g->place->axis[across - 1].name) : "<");
    for (int64_t x = INT64_MIN; bench_next_number(g->row, g->count, across, &x);)
        table_add_columns(t, TEXT(">%lld", (long long)x));
    int64_t y = INT64_MIN;
    for (int i = 0; g->place != NULL ? bench_next_number(g->row, g->count, across - 1, &y) : i < g->count;
         i++) {
        stencil_bench_row line = g->place != NULL ? *g->place : *g->row[i];
        if (g->place == NULL && !begins_line(g, i))
            continue;
        if (g->place != NULL)
            table_add_line(t, "%lld", (long long)(line.axis[across - 1].number = y));
        else
            table_add_line(t, "%s", bench_is_copy(&line) ? "the best copy" : line.name);
        for (int64_t x = INT64_MIN; bench_next_number(g->row, g->count, across, &x);)
            if (g->kind == BENCH_SYNC)
                add_sync(t, find_at(g, &line, x), scale);
            else
                bench_add_median(t, find_at(g, &line, x), scale, "-");
    }
}

/* Makes a table of what quicker barriers and quicker computing gain. */
static void make_gains(const bench_group *g, table *t) {
    table_add_columns(t, "<\t>sync\t>barriers:_most\t>times_quicker\t>gain\t>computing:_most\t>times_quicker"
                         "\t>gain\t>x implicit");
    for (int i = 0; i < g->count; i++) {
        const stencil_bench_gains *gains = &g->row[i]->gains;
        const double cells[] = {gains->most_by_sync,      gains->sync_times,      gains->by_sync,
                                gains->most_by_computing, gains->computing_times, gains->by_computing,
                                gains->over_implicit};
        table_add_line(t, "%s\t%.0f%%", g->row[i]->name, 100 * g->row[i]->sync_measured);
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            table_add_cell(t, isnan(cells[k]) ? "" : "%.2f", cells[k]);
    }
}

const char *bench_table_of(const stencil_bench_result *result, const bench_group *g, table *t,
                           char title[BENCH_TITLE_SIZE]) {
    const stencil_bench_row *first = g->row[0];
    const int across = first->axis_count - 1;
    const bench_scale scale = bench_scale_of(g->row, g->count, g->unit != NULL ? g->unit : first->unit);
    char name[BENCH_NAME_SIZE];
    if (g->kind == BENCH_LISTED || g->kind == BENCH_COMPARED) {
        listing l = {.of = g, .titled = g->kind == BENCH_COMPARED};
        add_columns(&l, t);
        for (int i = 0; i < g->count; i++)
            add_row(&l, t, g->row[i]);
    } else if (g->kind == BENCH_GAINS) {
        make_gains(g, t);
    } else {
        make_medians(g, &scale, t);
    }
    if (g->kind == BENCH_LISTED)
        return NULL;
    if (g->kind == BENCH_GAINS)
        snprintf(title, BENCH_TITLE_SIZE, "%sgains by Amdahl's law (001), beside implicit", g->outer);
    else if (g->kind == BENCH_COMPARED)
        snprintf(title, BENCH_TITLE_SIZE, "%s%s", g->outer, scale.unit);
    else if (g->kind == BENCH_FIELD)
        snprintf(title, BENCH_TITLE_SIZE, "%s, %s: %s down, %s across",
                 bench_row_name(result, g->place, across - 1, name), scale.unit, first->axis[across - 1].name,
                 first->axis[across].name);
    else
        snprintf(title, BENCH_TITLE_SIZE, "%s%s%s: names down, %s across", g->outer,
                 g->kind == BENCH_SYNC ? "synchronisation, " : "", scale.unit, first->axis[across].name);
    return title;
}

void bench_fit_table(const stencil_bench_result *result, table *t, char title[BENCH_TITLE_SIZE]) {
    stencil_bench_fit fit[STENCIL_BENCH_FITS_MAX];
    const bench_scale ns = {.factor = 1e-9, .decimals = -1}, us = {.factor = 1e-6, .decimals = -1};
    const int count = stencil_bench_fits(result, fit);
    table_add_columns(t, "<\t<model\t>points\t>each_ns\t>the rest_us\t>residual_us\t>of the_mean");
    for (int i = 0; i < count; i++) {
        char text[3][TABLE_CELL_SIZE];
        table_add_line(t, "%s\t%s\t%d\t%s\t%s\t%s\t%.1f%%", fit[i].barrier, fit[i].model, fit[i].points,
                       value_text(fit[i].each_s, &ns, text[0]), value_text(fit[i].rest_s, &us, text[1]),
                       value_text(fit[i].residual_s, &us, text[2]), 100 * fit[i].relative);
    }
    snprintf(title, BENCH_TITLE_SIZE,
             "models of a pass, by least squares (001); each: what each %s adds; t_GFS is constant",
             count > 0 ? fit[0].per : "");
}

/* Adds a table cell with a figure of three or four digits after `mark`; empty for NaN. */
static void add_figure(table *t, const char *mark, double figure) {
    table_add_cell(t, isnan(figure) ? "" : "%s%.*g", mark, figure < 1 ? 3 : 4, figure);
}

static void add_bar(table *t, const stencil_bench_bar *bar, bool copies) {
    table_add_line(t, "%s", bar->name);
    add_figure(t, "", bar->best_other);
    add_figure(t, "", bar->reach);
    add_figure(t, "", bar->aim);
    if (isnan(bar->measured)) {
        table_add_cell(t, TABLE_SPAN "skipped: %s", bar->skipped);
        return;
    }
    add_figure(t, bar->noisy ? "~" : "", bar->measured);
    const double reached = stencil_bench_bar_reached(bar);
    table_add_cell(t, reached < 0.095 ? "%.1g" : "%.2f", reached);
    const double loop =
        bar->unit == STENCIL_US_PER_STEP ? bar->measured / bar->loop : bar->loop / bar->measured;
    table_add_cell(t, isnan(loop) ? "" : "%.2f", loop);
    if (!copies) {
        table_add_cell(t, "%s", bar->sweep);
        table_add_cell(t, "%d", bar->depth);
    }
    static const char *const shown[STENCIL_RESOURCE_COUNT] = {"memory", "shared", "fma"};
    const int least = stencil_name_find(bar->bound.resource, stencil_resource_names);
    table_add_cell(t, "%s", least < 0 ? "" : shown[least]);
    const double used = least < 0 ? NAN : bar->bound.used[least];
    table_add_cell(t, isnan(used) ? "" : used < 0.005 ? "%.1g%%" : "%.0f%%", 100 * used);
    table_add_cell(t, "%s", bar->strategy);
    if (!copies)
        table_add_cell(t, "%s", bar->best_by);
}

/* Lists bars next to published methods, or (all of one sweep, single-step) next to a copy kernel. */
void bench_bar_table(const stencil_bench_result *result, int which, table *t, char title[BENCH_TITLE_SIZE]) {
    static const char *const units[STENCIL_BAR_UNITS] = {"Gcell/s", "µs per step"};
    const stencil_bar_unit unit = (stencil_bar_unit)(which / 2);
    const bool copies = which % 2 != 0;
    table_add_columns(t, "<case\t>best_other\t>reach\t>aim\t>here\t>x_reach\t>loop");
    table_add_columns(t, copies ? "<bound\t>used\t<?strategy"
                                : "<sweep\t>depth\t<bound\t>used\t<?strategy\t<??best_by");
    for (const stencil_bench_bar *bar = result->bar; bar < result->bar + result->bar_count; bar++)
        if (bar->unit == unit && (strcmp(bar->best_by, "copy") == 0) == copies)
            add_bar(t, bar, copies);
    snprintf(title, BENCH_TITLE_SIZE, "%s%s", units[unit],
             copies ? "; best other: the copy of the field" : "");
}
