/* Results as CSV (RFC 4180): one line for each row, a column for each axis that occurs. */
#include <math.h>
#include <string.h>

#include "app/bench.h"

enum { AXES_MAX = 64 };

static void print_text(FILE *out, const char *text) {
    if (text == NULL || strpbrk(text, ",\"\n\r") == NULL) {
        fputs(text != NULL ? text : "", out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++)
        fputs(*text == '"' ? "\"\"" : (const char[]){*text, '\0'}, out);
    fputc('"', out);
}

/* A column of its own; empty where there is no number. */
static void print_number(FILE *out, bool there, double number) {
    if (there && isfinite(number))
        fprintf(out, ",%.17g", number);
    else
        fputc(',', out);
}

static void print_values(FILE *out, const stencil_bench_row *row) {
    const stencil_statistics *s = &row->statistics;
    const bool there = row->sample_count > 0;
    fputc(',', out);
    print_text(out, row->unit);
    const double number[] = {s->median, s->mad, s->p5, s->p95, s->smallest, s->largest, s->spread};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        print_number(out, there, number[i]);
    fprintf(out, ",%s,%lld,%lld,",
            !there       ? ""
            : row->noisy ? "true"
                         : "false",
            (long long)row->sample_count, (long long)row->iterations);
    print_text(out, row->method);
    print_number(out, true, row->method_sd);
    print_number(out, there && row->bytes > 0, stencil_bench_bytes_per_s(row));
    print_number(out, there && row->cells > 0, stencil_bench_cells_per_s(row));
    print_number(out, true, row->ratio);
    fputc(',', out);
    print_text(out, row->outcome);
    fputc(',', out);
    print_text(out, row->skipped);
    fputs("\r\n", out);
}

bool bench_print_csv(FILE *out, const void *content) {
    const bench_report *report = content;
    const char *axis[AXES_MAX];
    int axes = 0;
    for (int i = 0; i < report->count; i++)
        for (int r = 0; r < report->result[i].row_count; r++)
            bench_collect_axes(&report->result[i].row[r], axis, &axes, AXES_MAX);
    fputs("benchmark,backend,device,kind,name", out);
    for (int a = 0; a < axes; a++)
        fprintf(out, ",%s", axis[a]);
    fputs(",unit,median,mad,p5,p95,smallest,largest,spread,noisy,samples,iterations,method,method_sd,"
          "bytes_per_s,cells_per_s,ratio_to_copy,outcome,skipped\r\n",
          out);
    for (int i = 0; i < report->count; i++) {
        const stencil_bench_result *result = &report->result[i];
        for (int r = 0; r < result->row_count; r++) {
            const stencil_bench_row *row = &result->row[r];
            fprintf(out, "%s,%s,", result->benchmark, result->backend == STENCIL_BACKEND_GPU ? "gpu" : "cpu");
            print_text(out, result->device);
            fprintf(out, ",%s,", row->kind);
            print_text(out, row->name);
            for (int a = 0; a < axes; a++) {
                int64_t number;
                if (stencil_bench_axis(row, axis[a], &number))
                    fprintf(out, ",%lld", (long long)number);
                else
                    fputc(',', out);
            }
            print_values(out, row);
        }
    }
    return !ferror(out);
}
