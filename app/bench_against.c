/* stencil bench --against: how this run compares with an earlier one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/json.h"
#include "app/text.h"
#include "base/words.h"

/* Of several results of that name the one on the same back-end. */
static const stencil_bench_result *find_result(const bench_report *report, const stencil_bench_result *now) {
    const stencil_bench_result *found = NULL;
    for (int i = 0; i < report->count; i++) {
        const stencil_bench_result *then = &report->result[i];
        if (strcmp(then->benchmark, now->benchmark) == 0 && (found == NULL || then->backend == now->backend))
            found = then;
    }
    return found;
}

static const stencil_bench_row *either(const stencil_comparison *c) {
    return c->now != NULL ? c->now : c->then;
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
    bench_add_median(t, c->then, &scale, "");
    bench_add_median(t, c->now, &scale, "");
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
    char verdicts[160] = "";
    for (int v = 0; v < STENCIL_VERDICT_COUNT; v++)
        if (found[v] > 0)
            stencil_text_add(verdicts, sizeof verdicts, "%s%d %s", verdicts[0] != '\0' ? ", " : "", found[v],
                             stencil_verdict_text(v));
    fputc('\n', out);
    bench_print_line(out, "Verdicts", verdicts);
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

static void print_benchmark(FILE *out, const stencil_bench_result *then, const stencil_bench_result *now,
                            const char *why, const stencil_comparison *c, int count) {
    fputc('\n', out);
    bench_print_line(out, "Compared", now->benchmark);
    if (why[0] != '\0') {
        bench_print_line(out, "Not done", why);
        return;
    }
    if (strcmp(then->device, now->device) != 0)
        bench_print_line(out, "Then on", then->device);
    print_comparisons(out, now, c, count);
}

/* One benchmark; the array gets an object. */
static stencil_status compare(const stencil_bench_result *then, double margin,
                              const stencil_bench_result *now, FILE *out, json_t *array, int *worse) {
    stencil_comparison *c = NULL;
    int count = 0;
    char why[192] = "it is not in that file";
    stencil_status status = STENCIL_OK;
    if (then != NULL)
        status = stencil_bench_compare(then, now, margin, &c, &count, why);
    json_t *rows = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(rows, comparison_json(&c[i]));
        *worse += c[i].verdict == STENCIL_VERDICT_SLOWER || c[i].verdict == STENCIL_VERDICT_CHANGED;
    }
    json_array_append_new(array, json_pack("{s:s, s:o, s:o}", "benchmark", now->benchmark, "not_compared",
                                           json_text(why), "rows", rows));
    if (status == STENCIL_OK && out != NULL)
        print_benchmark(out, then, now, why, c, count);
    free(c);
    return status;
}

stencil_status bench_against_compare(const bench_report *then, double margin, const bench_report *now,
                                     FILE *out, json_t **json, int *worse) {
    json_t *results = json_array();
    stencil_status status = STENCIL_OK;
    if (out != NULL) {
        char text[TEXT_NAME_SIZE], path[TEXT_NAME_SIZE / 2];
        snprintf(text, sizeof text,
                 "%s; same: within %.3g %%, slower or faster: by more, each with 99 %% confidence",
                 text_escape(then->path, path, sizeof path), 100 * margin);
        fputc('\n', out);
        bench_print_line(out, "Against", text);
    }
    for (int i = 0; i < now->count && status == STENCIL_OK; i++)
        status = compare(find_result(then, &now->result[i]), margin, &now->result[i], out, results, worse);
    *json = json_pack("{s:o, s:f, s:i, s:o}", "file", json_text(then->path), "margin", margin, "worse",
                      *worse, "results", results);
    return status;
}
