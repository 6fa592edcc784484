/* stencil bench --against: how this run compares with an earlier one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/json.h"
#include "app/text.h"

/* Finds the result of the same benchmark in an earlier report: the first comparable one, else one of
 * equal back-end. */
static const stencil_bench_result *find_result(const stencil_bench_report *report,
                                               const stencil_bench_result *now) {
    const stencil_bench_result *found = NULL;
    for (int i = 0; i < report->result_count; i++) {
        const stencil_bench_result *then = &report->result[i];
        char why[192];
        if (strcmp(then->benchmark, now->benchmark) != 0)
            continue;
        stencil_bench_check_comparable(then, now, why);
        if (why[0] == '\0')
            return then;
        if (found == NULL || then->backend == now->backend)
            found = then;
    }
    return found;
}

static const stencil_bench_row *either(const stencil_comparison *c) {
    return c->now != NULL ? c->now : c->then;
}

/* Returns a ratio as a difference in per cent, or from 10 on as a factor. */
static const char *change_text(double ratio, char text[TABLE_CELL_SIZE]) {
    if (ratio < 10)
        snprintf(text, TABLE_CELL_SIZE, "%+.1f%%", 100 * (ratio - 1));
    else
        snprintf(text, TABLE_CELL_SIZE, "x %.3g", ratio);
    return text;
}

static void add_comparison(table *t, const stencil_bench_result *result, const stencil_comparison *c) {
    const stencil_bench_row *row = either(c);
    const bench_scale scale = bench_scale_of(&row, 1, row->unit);
    char name[BENCH_NAME_SIZE], low[TABLE_CELL_SIZE], high[TABLE_CELL_SIZE];
    table_add_line(t, "%s\t%s\t%s", bench_row_name(result, row, row->axis_count, name),
                   stencil_verdict_names[c->verdict], scale.unit);
    bench_add_median(t, c->then, &scale, "");
    bench_add_median(t, c->now, &scale, "");
    if (isnan(c->shift.ratio))
        return;
    table_add_cell(t, "%s", change_text(c->shift.ratio, low));
    if (isfinite(c->shift.high))
        table_add_cell(t, "%s … %s", change_text(c->shift.low, low), change_text(c->shift.high, high));
    else
        table_add_cell(t, "too few samples");
}

static void print_comparisons(bench_printer *p, const stencil_bench_result *result,
                              const stencil_comparison *c, int count) {
    table t = {0};
    int found[STENCIL_VERDICT_COUNT] = {0};
    char verdicts[160] = "";
    table_add_columns(&t, "<\t<\t<???unit\t>??then\t>??now\t>change\t>?99 % interval");
    for (int i = 0; i < count; i++) {
        add_comparison(&t, result, &c[i]);
        found[c[i].verdict]++;
    }
    table_print(p->out, &t);
    for (int v = 0; v < STENCIL_VERDICT_COUNT; v++)
        if (found[v] > 0)
            stencil_text_add(verdicts, sizeof verdicts, "%s%d %s", verdicts[0] != '\0' ? ", " : "", found[v],
                             stencil_verdict_names[v]);
    fputc('\n', p->out);
    bench_print_line(p, "Verdicts", verdicts);
}

static json_t *comparison_json(const stencil_comparison *c) {
    const stencil_bench_row *row = either(c);
    json_t *axes = json_object();
    for (int i = 0; i < row->axis_count; i++)
        json_object_set_new(axes, row->axis[i].name, json_integer(row->axis[i].number));
    return json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o}", "name", row->name, "kind", row->kind, "axes",
                     axes, "verdict", stencil_verdict_names[c->verdict], "ratio", json_number(c->shift.ratio),
                     "ratio_low", json_number(c->shift.low), "ratio_high", json_number(c->shift.high));
}

/* Compares a benchmark's result with the earlier report, and appends an object to `array`. */
static stencil_status compare(const bench_earlier *earlier, const stencil_bench_result *now, bench_printer *p,
                              json_t *array, int *worse) {
    const stencil_bench_result *then = find_result(&earlier->report, now);
    stencil_comparison *c = NULL;
    int count = 0;
    char why[192] = "it is not in that file";
    stencil_status status = STENCIL_OK;
    if (then != NULL)
        status = stencil_bench_compare(then, now, earlier->margin, &c, &count, why);
    json_t *rows = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(rows, comparison_json(&c[i]));
        *worse += c[i].verdict == STENCIL_VERDICT_SLOWER || c[i].verdict == STENCIL_VERDICT_CHANGED;
    }
    json_array_append_new(array, json_pack("{s:s, s:o, s:o}", "benchmark", now->benchmark, "not_compared",
                                           json_text(why), "rows", rows));
    if (p != NULL && status == STENCIL_OK) {
        fputc('\n', p->out);
        bench_print_line(p, "Compared", now->benchmark);
        if (why[0] != '\0')
            bench_print_line(p, "Not done", why);
        else if (strcmp(then->device, now->device) != 0)
            bench_print_line(p, "Then on", then->device);
        if (why[0] == '\0')
            print_comparisons(p, now, c, count);
    }
    free(c);
    return status;
}

stencil_status bench_against_compare(const bench_earlier *then, const stencil_bench_report *now, FILE *out,
                                     json_t **json, int *worse) {
    json_t *results = json_array();
    bench_printer p = {.out = out};
    stencil_status status = STENCIL_OK;
    if (out != NULL) {
        fputc('\n', out);
        bench_print_line(
            &p, "Against",
            TEXT_LONG("%s; same: within %.3g %%, slower or faster: by more, each with 99 %% confidence",
                      TEXT_ESCAPE(then->path), 100 * then->margin));
    }
    for (int i = 0; i < now->result_count && status == STENCIL_OK; i++)
        status = compare(then, &now->result[i], out != NULL ? &p : NULL, results, worse);
    if (status == STENCIL_OK)
        *json = json_pack("{s:o, s:f, s:i, s:o}", "file", json_text(then->path), "margin", then->margin,
                          "worse", *worse, "results", results);
    else
        json_decref(results);
    return status;
}
