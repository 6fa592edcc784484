/* Printing of benchmark results: for people, 80 columns wide and as Markdown, and for spreadsheets (CSV). */
#include <math.h>
#include <string.h>
#include <time.h>

#include "app/bench.h"
#include "app/text.h"

enum { LINE_SIZE = TEXT_NAME_SIZE };

/* Characters with a meaning in Markdown, to be escaped in texts. */
static const char special[] = "*`_<~";

void bench_print_line(bench_printer *p, const char *label, const char *text) {
    if (p->markdown) {
        fprintf(p->out, "- %s: ", label);
        table_print_escaped(p->out, text, special);
        fputc('\n', p->out);
        return;
    }
    const bool again = strcmp(label, p->last) == 0;
    text_print_entry(p->out, again ? "" : label, text);
    snprintf(p->last, sizeof p->last, "%s", label);
}

/* Prints a table, unless it is empty, under its title (NULL: none). */
static void print_table(bench_printer *p, const char *title, table *t) {
    p->incomplete = p->incomplete || t->no_memory;
    if (t->row_count == 0)
        return;
    fputc('\n', p->out);
    if (title != NULL && p->markdown) {
        table_print_escaped(p->out, title, special);
        fputs("\n\n", p->out);
    } else if (title != NULL)
        text_print_wrapped(p->out, title, 0, 2);
    if (p->markdown)
        table_print_markdown(p->out, t);
    else
        table_print(p->out, t);
}

static void print_device(bench_printer *p, const stencil_bench_result *result) {
    const double before = result->clock_hz[0], after = result->clock_hz[1];
    char clock[64] = "";
    if (fabs(after / before - 1) > 0.005)
        snprintf(clock, sizeof clock, ", clock %.4g GHz before, %.4g after", 1e-9 * before, 1e-9 * after);
    else if (!isnan(before))
        snprintf(clock, sizeof clock, ", clock %.4g GHz", 1e-9 * before);
    bench_print_line(
        p, "Device",
        TEXT_LONG("%s: %s%s", result->backend == STENCIL_BACKEND_GPU ? "GPU" : "CPU", result->device, clock));
}

static void print_parameters(bench_printer *p, const stencil_bench_result *result) {
    char text[LINE_SIZE] = "";
    for (int i = 0; i < result->parameter_count; i++) {
        const stencil_bench_parameter *parameter = &result->parameter[i];
        stencil_text_add(text, sizeof text, "%s%s %s", i > 0 ? ", " : "", parameter->name,
                         parameter->text[0] != '\0' ? parameter->text : TEXT_COUNT(parameter->number));
    }
    if (text[0] != '\0')
        bench_print_line(p, "Parameters", text);
}

static void print_samples(bench_printer *p, const stencil_bench_result *result) {
    int64_t least = INT64_MAX, most = 0;
    char text[160] = "";
    for (int i = 0; i < result->row_count; i++) {
        const int64_t n = result->row[i].sample_count;
        least = n > 0 && n < least ? n : least;
        most = n > most ? n : most;
    }
    if (most == 0)
        return;
    if (least < most)
        stencil_text_add(text, sizeof text, "%lld to ", (long long)least);
    stencil_text_add(text, sizeof text, "%lld of each row, in turns", (long long)most);
    if (!isnan(result->seconds))
        stencil_text_add(text, sizeof text, "; %.1f s in all", result->seconds);
    bench_print_line(p, "Samples", text);
}

/* Prints how many of the cases or rows that the tables show are noisy, if any, and why. */
static void print_noise(bench_printer *p, const stencil_bench_result *result, double max_noise) {
    int noisy = 0, measured = 0, unknown = 0;
    char how[80] = "how far their samples spread is not known";
    for (int i = 0; i < result->bar_count; i++) {
        measured += !isnan(result->bar[i].measured);
        noisy += result->bar[i].noisy;
    }
    for (int i = 0; i < result->row_count && result->bar_count == 0; i++) {
        measured += result->row[i].sample_count > 0;
        noisy += result->row[i].noisy;
        unknown += result->row[i].noisy && isnan(result->row[i].statistics.spread);
    }
    if (unknown < noisy)
        snprintf(how, sizeof how, "their samples spread by more than %.3g %%", 100 * max_noise);
    if (noisy > 0)
        bench_print_line(p, "Noise",
                         TEXT_LONG("~ marks %d of %d %s%s: %s", noisy, measured,
                                   result->bar_count > 0 ? "case" : "row", stencil_plural(measured), how));
}

/* Prints each published method once, with the names of rows that use this method unless all rows do. */
static void print_methods(bench_printer *p, const stencil_bench_result *result) {
    for (int i = 0; i < result->row_count; i++) {
        const char *method = result->row[i].method;
        char names[LINE_SIZE] = "", last[BENCH_NAME_SIZE] = "", name[BENCH_NAME_SIZE];
        bool all = true, seen = method == NULL;
        for (int k = 0; k < result->row_count && !seen; k++) {
            const stencil_bench_row *row = &result->row[k];
            if (row->method == NULL || strcmp(row->method, method) != 0) {
                all = false;
                continue;
            }
            seen = k < i;
            if (strcmp(bench_row_name(result, row, 0, name), last) != 0)
                stencil_text_add(names, sizeof names, "%s%s", names[0] != '\0' ? ", " : ": ", name);
            strcpy(last, name);
        }
        if (!seen)
            bench_print_line(p, "Method", TEXT_LONG("%s%s", method, all ? "" : names));
    }
}

static void print_formulas(bench_printer *p, const stencil_bench_result *result) {
    const char *last = "";
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        const char *per = strchr(row->unit, '/');
        if (row->formula[0] == '\0' || row->skipped[0] != '\0')
            continue;
        if (strcmp(row->formula, last) != 0)
            bench_print_line(p, "Bytes",
                             TEXT_LONG("per %s: %s", per != NULL ? per + 1 : "iteration", row->formula));
        last = row->formula;
    }
}

/* Prints the bars (figures to be reached) of a result, or its rows where it has no bars. */
static void print_tables(bench_printer *p, const stencil_bench_result *result) {
    char title[BENCH_TITLE_SIZE];
    bench_groups groups = {0};
    for (int which = 0; which < BENCH_BAR_TABLES && result->bar_count > 0; which++) {
        table t = {0};
        bench_bar_table(result, which, &t, title);
        print_table(p, title, &t);
    }
    if (result->bar_count == 0 && !bench_groups_of(result, &groups))
        p->incomplete = true;
    for (const bench_group *g = groups.group; g < groups.group + groups.count; g++) {
        table t = {0};
        if (g->count > 0)
            print_table(p, bench_table_of(result, g, &t, title), &t);
    }
    bench_groups_destroy(&groups);
    table fits = {0};
    bench_fit_table(result, &fits, title);
    print_table(p, title, &fits);
}

static void print_result(bench_printer *p, const stencil_bench_result *result, double max_noise) {
    if (result->skipped[0] != '\0') {
        bench_print_line(p, "Skipped", result->skipped);
        return;
    }
    if (result->device[0] != '\0')
        print_device(p, result);
    print_parameters(p, result);
    print_samples(p, result);
    if (result->failed[0] != '\0')
        bench_print_line(p, "FAILED", result->failed);
    print_tables(p, result);
    if (p->incomplete)
        bench_print_line(p, "Tables", "no memory for a table");
    fputc('\n', p->out);
    for (int i = 0; i < result->row_count; i++) {
        char text[LINE_SIZE] = "";
        if (bench_skipped_text(result, i, text, sizeof text))
            bench_print_line(p, "Skipped", text);
    }
    print_noise(p, result, max_noise);
    print_methods(p, result);
    if (result->bar_count == 0)
        print_formulas(p, result);
    /* Notes claim that results were verified, so a failed benchmark prints none. */
    for (int i = 0; i < result->note_count && result->failed[0] == '\0'; i++)
        bench_print_line(p, "Notes", result->note[i]);
}

void bench_print(FILE *out, const stencil_bench_result *result, double max_noise) {
    bench_printer p = {.out = out};
    bench_print_line(&p, "Benchmark", result->benchmark);
    print_result(&p, result, max_noise);
}

/* Prints the barriers of all levels under a heading, if the report has several levels. */
static void print_levels(bench_printer *p, const stencil_bench_report *report) {
    for (int full = 0; full < 2; full++) {
        table t = {0};
        const char *title = bench_levels_table(report, full, &t);
        if (t.row_count > 0 && full == 0)
            fprintf(p->out, p->markdown ? "\n## All levels\n" : "\nAll levels\n");
        print_table(p, title, &t);
    }
}

void bench_print_levels(FILE *out, const stencil_bench_report *report) {
    bench_printer p = {.out = out};
    print_levels(&p, report);
}

static void print_origin(FILE *out, const stencil_bench_report *report) {
    const stencil_machine *machine = &report->machine;
    const char *kernel = report->kernel_driver != NULL ? report->kernel_driver : "";
    const time_t started = (time_t)report->started_s;
    struct tm utc;
    char when[64] = "";
    if (gmtime_r(&started, &utc) != NULL)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    fprintf(out, "# Benchmarks\n\n- Command: `%s`\n- When: %s, %.0f s\n- Version: %s, revision %s, %s\n",
            report->command_line, when, report->seconds, report->version, report->git_revision,
            report->compiler);
    if (machine->driver_version > 0)
        fprintf(out, "- CUDA: driver %s%s%s, runtime %s\n", TEXT_CUDA(machine->driver_version),
                kernel[0] != '\0' ? ", kernel module " : "", kernel, TEXT_CUDA(machine->runtime_version));
}

bool bench_print_markdown(FILE *out, const void *content) {
    const stencil_bench_report *report = content;
    bench_printer p = {.out = out, .markdown = true};
    print_origin(out, report);
    for (int i = 0; i < report->result_count; i++) {
        fprintf(out, "\n## %s\n\n", report->result[i].benchmark);
        print_result(&p, &report->result[i], report->options.max_noise);
    }
    print_levels(&p, report);
    return !p.incomplete && !ferror(out);
}

/* Prints a CSV field (RFC 4180): a number, a text, or the number of elements of an array; empty for null. */
static void print_csv_value(FILE *out, const json_t *value) {
    const char *text = json_string_value(value);
    const char *quote = text != NULL && strpbrk(text, ",\"\n\r") != NULL ? "\"" : "";
    if (json_is_real(value))
        fputs(TEXT_REAL(json_real_value(value)), out);
    else if (json_is_integer(value))
        fprintf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_array(value))
        fprintf(out, "%zu", json_array_size(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", out);
    fputs(quote, out);
    for (; text != NULL && *text != '\0'; text++)
        fputs(*text == '"' ? "\"\"" : (const char[]){*text, '\0'}, out);
    fputs(quote, out);
}

/* CSV columns; columns of axes follow "name"; columns from "sweep" on exist only for reports with cases. */
static const char *const csv_names[] = {"benchmark",
                                        "backend",
                                        "device",
                                        "kind",
                                        "name",
                                        "unit",
                                        "median",
                                        "mad",
                                        "p5",
                                        "p95",
                                        "smallest",
                                        "largest",
                                        "spread",
                                        "noisy",
                                        "samples",
                                        "iterations",
                                        "method",
                                        "method_sd",
                                        "bytes_per_s",
                                        "cells_per_s",
                                        "ratio_to_copy",
                                        "predicted",
                                        "sync_share",
                                        "of_fastest",
                                        "sync_measured",
                                        "speedup",
                                        "workers",
                                        "t_o",
                                        "t_c",
                                        "t_s",
                                        "kernels_s",
                                        "skew_s",
                                        "timer_error_s",
                                        "of_nominal",
                                        "most_by_sync",
                                        "most_by_computing",
                                        "sync_times",
                                        "computing_times",
                                        "by_sync",
                                        "by_computing",
                                        "over_implicit",
                                        "sync_s",
                                        "computing_s",
                                        "outcome",
                                        "skipped",
                                        "sweep",
                                        "depth",
                                        "strategy",
                                        "best_by",
                                        "best_other",
                                        "reach",
                                        "aim",
                                        "measured",
                                        "plain",
                                        "loop",
                                        "bound",
                                        "used"};
enum { AXES_AT = 5, CASES_AT = 45, AXES_MAX = 64 };
typedef struct csv_columns {
    int count, axis_count; /* numbers of fixed columns and of columns for axes */
    const char *axis[AXES_MAX];
} csv_columns;

static csv_columns csv_columns_of(const stencil_bench_report *report) {
    csv_columns c = {.count = CASES_AT};
    for (int i = 0; i < report->result_count; i++) {
        if (report->result[i].bar_count > 0)
            c.count = sizeof csv_names / sizeof *csv_names;
        for (int r = 0; r < report->result[i].row_count; r++)
            bench_collect_axes(&report->result[i].row[r], c.axis, &c.axis_count, AXES_MAX);
    }
    return c;
}

/* Prints a CSV line of a row or case, given as --json writes it; row NULL: the column names. */
static void print_csv_line(FILE *out, const json_t *result, const json_t *row, const csv_columns *c) {
    const json_t *statistics = json_object_get(row, "statistics");
    for (int i = 0; i < c->count + c->axis_count; i++) {
        const bool is_axis = i >= AXES_AT && i < AXES_AT + c->axis_count;
        const char *name = is_axis ? c->axis[i - AXES_AT] : csv_names[i < AXES_AT ? i : i - c->axis_count];
        const json_t *value = json_object_get(is_axis ? json_object_get(row, "axes") : row, name);
        if (value == NULL && !is_axis)
            value = json_object_get(json_object_get(statistics, name) != NULL ? statistics : result, name);
        fputs(i > 0 ? "," : "", out);
        if (row == NULL)
            fputs(name, out);
        else if (strcmp(name, "noisy") != 0 || json_is_object(statistics) ||
                 json_is_number(json_object_get(row, "measured")))
            print_csv_value(out, value);
    }
    fputs("\r\n", out);
}

/* Prints a case as a CSV line, with the used share of the resource that bounds the case. */
static void print_csv_case(FILE *out, const json_t *result, const json_t *bar, const csv_columns *c) {
    json_t *row = json_copy((json_t *)bar), *bound = json_object_get(bar, "bound");
    char resource[32] = "";
    const char *text = json_string_value(json_object_get(bound, "resource"));
    snprintf(resource, sizeof resource, "%s", text != NULL ? text : "");
    for (char *blank; (blank = strchr(resource, ' ')) != NULL;)
        *blank = '_';
    json_object_set_new(row, "kind", json_string("case"));
    json_object_set(row, "name", json_object_get(bar, "case"));
    json_object_set(row, "iterations", json_object_get(bar, "steps"));
    json_object_set(row, "bound", json_object_get(bound, "resource"));
    json_object_set(row, "used", json_object_get(bound, resource));
    print_csv_line(out, result, row, c);
    json_decref(row);
}

/* Prints a report as CSV: a line for each row and each case, a column for each axis. */
bool bench_print_csv(FILE *out, const void *content) {
    const stencil_bench_report *report = content;
    const csv_columns columns = csv_columns_of(report);
    print_csv_line(out, NULL, NULL, &columns);
    for (int i = 0; i < report->result_count; i++) {
        json_t *result = stencil_bench_result_json(&report->result[i]);
        const json_t *row;
        size_t at;
        json_array_foreach(json_object_get(result, "rows"), at, row)
            print_csv_line(out, result, row, &columns);
        json_array_foreach(json_object_get(result, "bars"), at, row)
            print_csv_case(out, result, row, &columns);
        json_decref(result);
    }
    return !ferror(out);
}
