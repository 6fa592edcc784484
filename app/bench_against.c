/* stencil bench --against: how this run compares with an earlier one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/json.h"
#include "app/options.h"
#include "app/text.h"

enum { LABEL_COLUMNS = 12 };

stencil_status bench_against_open(bench_against *against, const char *path, double margin) {
    *against = (bench_against){.margin = margin};
    return bench_file_open(&against->file, "--against", path);
}

void bench_against_close(bench_against *against) {
    bench_file_close(&against->file);
}

/* Of several results of that name the one on the same back-end. */
static const stencil_bench_result *find_result(const bench_against *against,
                                               const stencil_bench_result *now) {
    const stencil_bench_result *found = NULL;
    for (int i = 0; i < against->file.result_count; i++) {
        const stencil_bench_result *then = &against->file.result[i];
        if (strcmp(then->benchmark, now->benchmark) == 0 && (found == NULL || then->backend == now->backend))
            found = then;
    }
    return found;
}

static const stencil_bench_row *either(const stencil_comparison *c) {
    return c->now != NULL ? c->now : c->then;
}

static void add_median(table *t, const stencil_bench_row *row, const bench_scale *scale) {
    char text[TABLE_CELL_SIZE];
    if (row == NULL || row->sample_count == 0)
        table_add_cell(t, "%s", row == NULL ? "" : row->outcome);
    else
        table_add_cell(t, "%s%s", row->noisy ? "~" : "", bench_value(row->statistics.median, scale, text));
}

/* A ratio as a difference in per cent, a large one as it is (returned). */
static const char *change_text(double ratio, char text[TABLE_CELL_SIZE]) {
    if (ratio < 10)
        snprintf(text, TABLE_CELL_SIZE, "%+.1f%%", 100 * (ratio - 1));
    else
        snprintf(text, TABLE_CELL_SIZE, "x %.3g", ratio);
    return text;
}

static void add_comparison(table *t, const stencil_bench_result *result, const stencil_comparison *c) {
    const stencil_bench_row *row = either(c);
    char place[160], thing[96];
    const stencil_bench_result alone = {.row = (stencil_bench_row *)row, .row_count = 1};
    const bench_scale scale = bench_scale_of(&alone, &(const int){0}, 1);
    bench_place(row, row->axis_count, place, sizeof place);
    table_add_row(t);
    table_add_cell(t, "%s%s%s", bench_row_name(result, row, thing, sizeof thing),
                   place[0] != '\0' ? ", " : "", place);
    table_add_cell(t, "%s", stencil_verdict_text(c->verdict));
    table_add_cell(t, "%s", scale.unit);
    add_median(t, c->then, &scale);
    add_median(t, c->now, &scale);
    if (isnan(c->shift.ratio))
        return;
    char low[TABLE_CELL_SIZE], high[TABLE_CELL_SIZE];
    table_add_cell(t, "%s", change_text(c->shift.ratio, low));
    if (isfinite(c->shift.high))
        table_add_cell(t, "%s … %s", change_text(c->shift.low, low), change_text(c->shift.high, high));
    else
        table_add_cell(t, "too few samples");
}

static void print_comparisons(FILE *out, const stencil_bench_result *result, const stencil_comparison *c,
                              int count) {
    int found[STENCIL_VERDICT_COUNT] = {0};
    table t = {0};
    table_add_column(&t, "", true, 0);
    table_add_column(&t, "", true, 0);
    table_add_column(&t, "unit", true, 3);
    table_add_column(&t, "then", false, 2);
    table_add_column(&t, "now", false, 2);
    table_add_column(&t, "change", false, 0);
    table_add_column(&t, "99 % interval", false, 1);
    for (int i = 0; i < count; i++) {
        add_comparison(&t, result, &c[i]);
        found[c[i].verdict]++;
    }
    table_print(out, &t);
    table_destroy(&t);
    fprintf(out, "\n%-*s", LABEL_COLUMNS, "Verdicts");
    const char *between = "";
    for (int v = 0; v < STENCIL_VERDICT_COUNT; v++)
        if (found[v] > 0) {
            fprintf(out, "%s%d %s", between, found[v], stencil_verdict_text(v));
            between = ", ";
        }
    fputc('\n', out);
}

static json_t *comparison_json(const stencil_comparison *c) {
    const stencil_bench_row *row = either(c);
    json_t *axes = json_object();
    for (int i = 0; i < row->axis_count; i++)
        json_object_set_new(axes, row->axis[i].name, json_integer(row->axis[i].number));
    return json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o}", "name", row->name, "kind", row->kind, "axes",
                     axes, "verdict", stencil_verdict_text(c->verdict), "ratio", json_number(c->shift.ratio),
                     "ratio_low", json_number(c->shift.low), "ratio_high", json_number(c->shift.high));
}

/* One benchmark; the array gets an object. */
static stencil_status compare(const bench_against *against, const stencil_bench_result *now, FILE *out,
                              json_t *array, int *worse) {
    const stencil_bench_result *then = find_result(against, now);
    stencil_comparison *c = NULL;
    int count = 0;
    char why[192] = "it is not in that file";
    stencil_status status = STENCIL_OK;
    if (then != NULL)
        status = stencil_bench_compare(then, now, against->margin, &c, &count, why);
    if (status == STENCIL_OK) {
        json_t *rows = json_array();
        for (int i = 0; i < count; i++) {
            json_array_append_new(rows, comparison_json(&c[i]));
            *worse += c[i].verdict == STENCIL_VERDICT_SLOWER || c[i].verdict == STENCIL_VERDICT_CHANGED;
        }
        json_array_append_new(array,
                              json_pack("{s:s, s:o, s:o}", "benchmark", now->benchmark, "not_compared",
                                        why[0] != '\0' ? json_string(why) : json_null(), "rows", rows));
        if (out != NULL)
            options_print_wrapped(out, now->benchmark, fprintf(out, "\n%-*s", LABEL_COLUMNS, "Compared") - 1,
                                  LABEL_COLUMNS);
        if (out != NULL && why[0] != '\0')
            options_print_wrapped(out, why, fprintf(out, "%-*s", LABEL_COLUMNS, "Not done"), LABEL_COLUMNS);
        else if (out != NULL) {
            if (strcmp(then->device, now->device) != 0)
                options_print_wrapped(out, then->device, fprintf(out, "%-*s", LABEL_COLUMNS, "Then on"),
                                      LABEL_COLUMNS);
            print_comparisons(out, now, c, count);
        }
    }
    free(c);
    return status;
}

stencil_status bench_against_compare(const bench_against *against, const bench_report *report, FILE *out,
                                     json_t **json, int *worse) {
    json_t *results = json_array();
    stencil_status status = STENCIL_OK;
    *worse = 0;
    if (out != NULL) {
        char text[TEXT_NAME_SIZE], path[TEXT_NAME_SIZE / 2];
        snprintf(text, sizeof text,
                 "%s; same: within %.3g %%, slower or faster: by more, each with 99 %% confidence",
                 text_escape(against->file.path, path, sizeof path), 100 * against->margin);
        options_print_wrapped(out, text, fprintf(out, "\n%-*s", LABEL_COLUMNS, "Against") - 1, LABEL_COLUMNS);
    }
    for (int i = 0; i < report->count && status == STENCIL_OK; i++)
        status = compare(against, &report->result[i], out, results, worse);
    *json = json_pack("{s:o, s:f, s:i, s:o}", "file", json_text(against->file.path), "margin",
                      against->margin, "worse", *worse, "results", results);
    return status;
}
