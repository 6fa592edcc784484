/* What `stencil bench` makes of its results, one file each. Internal to the command. */
#ifndef STENCIL_APP_BENCH_H
#define STENCIL_APP_BENCH_H

#include <stdio.h>

#include "app/table.h"
#include "bench/against.h"
#include "bench/series.h"

/* bench_section.c: the tables of a result, for terminals and Markdown alike. */

/* How numbers of one unit are shown. */
typedef struct bench_scale {
    double factor; /* shown = value / factor */
    char unit[32]; /* "us/pass", "GB/s", "cycles" */
    int decimals;  /* of all numbers, so that the smallest one has three digits that count; -1: four digits
                      that count in each */
} bench_scale;

/* A scale in which the smallest median of `count` rows is a number that can be read. Rows without samples do
 * not count. */
bench_scale bench_scale_of(const stencil_bench_result *result, const int *row, int count);

/* Appends a cell: the median of a row, what it says instead, or `missing`; NULL: an empty one. */
void bench_add_median(table *t, const stencil_bench_row *row, const bench_scale *scale, const char *missing);

/* The name of a row, with its kind where the result has several: "__syncthreads (latency)" (returned). */
const char *bench_row_name(const stencil_bench_result *result, const stencil_bench_row *row, char *text,
                           size_t size);

/* "blocks_per_sm 2, threads 256" into text (returned); "" without axes. Only the first `axes` ones. */
const char *bench_place(const stencil_bench_row *row, int axes, char *text, size_t size);

/* Appends the names of a row's axes that are not among axis[*count] yet, up to `most` names. */
void bench_collect_axes(const stencil_bench_row *row, const char **axis, int *count, int most);

/* Called for every table of a result: those that belong to no field of axes first, all in one table (title
 * ""), then one for each field. NO_MEMORY. */
typedef void (*bench_section_visitor)(void *context, const char *title, const table *t);
stencil_status bench_visit_sections(const stencil_bench_result *result, bench_section_visitor visit,
                                    void *context);

/* bench_lines.c: what stands above and below the tables, each a line of label and text. */
typedef void (*bench_line_visitor)(void *context, const char *label, const char *text);
void bench_visit_head(const stencil_bench_result *result, bench_line_visitor visit, void *context);
void bench_visit_foot(const stencil_bench_result *result, double max_noise, bench_line_visitor visit,
                      void *context);

/* bench_print.c: a result, or such a line, for people. */
void bench_print(FILE *out, const stencil_bench_result *result, double max_noise);
void bench_print_line(FILE *out, const char *label, const char *text);

/* bench_report.c: the results of a run, or of an earlier one. Zero-initialised: empty. */
typedef struct bench_report {
    stencil_bench_result *result; /* [count], owned */
    int count;
    stencil_bench_origin origin;
    stencil_bench_options options; /* of the run, as its machine */
    stencil_machine machine;
    const char *path; /* of an earlier one: the file, and what is in it (owned) */
    json_t *root;
} bench_report;

/* Reads an earlier report, but for its origin. NO_INPUT, BAD_DATA with the file's name behind `option`. */
stencil_status bench_report_read(bench_report *report, const char *option, const char *path);
/* The origin, and of the results those of the benchmarks name[count], or all, in the order of the file.
 * USAGE, BAD_DATA. */
stencil_status bench_report_choose(bench_report *report, const char *const *name, int count);
void bench_report_destroy(bench_report *report);

/* bench_csv.c, bench_print.c: printers for target_write(); `content` is a bench_report. */
bool bench_print_csv(FILE *out, const void *content);
bool bench_print_markdown(FILE *out, const void *content);

/* bench_plot.c: PNGs in `directory`, drawn by bench/plot.py: NAME-map (a heat map for each field over
 * blocks_per_sm and threads), NAME-lines (medians with p5 and p95 over the innermost axis) and NAME-box (all
 * samples of rows without a varying axis, and of host methods), as far as a benchmark has such rows.
 * UNAVAILABLE (no python3 or matplotlib), CANNOT_CREATE, IO, INTERNAL (the script failed). */
stencil_status bench_plot(const bench_report *report, const char *directory, bool force);
/* Before the work: makes the directory where it is missing, and looks for files that are in the way of the
 * benchmarks name[count], and for all that the script needs. CANNOT_CREATE, UNAVAILABLE. */
stencil_status bench_plot_check(const char *directory, bool force, const char *const *name, int count);

/* bench_against.c: compares with an earlier report; prints the verdicts where `out` is not NULL; *json (owned
 * by the caller, may be NULL) gets them all. *worse: rows that are slower or say something else now. */
stencil_status bench_against_compare(const bench_report *then, double margin, const bench_report *now,
                                     FILE *out, json_t **json, int *worse);

/* bench_output.c: where the results go. */
typedef struct bench_outputs {
    const char *json, *csv, *md, *plot; /* as they were given; NULL: not */
    const char *against;                /* file to compare with */
    double margin;                      /* per cent */
    bool fail, force, quiet;
} bench_outputs;

/* Before anything is measured: finds what cannot be written, for the benchmarks that `report` names, and
 * reads the report to compare with. USAGE, CANNOT_CREATE, NO_INPUT, BAD_DATA. */
stencil_status bench_outputs_open(const bench_outputs *outputs, const bench_report *report,
                                  bench_report *then);

/* Prints the tables of one result to standard output, where they are wanted. */
void bench_outputs_print(const bench_outputs *outputs, const bench_report *report, int result);

/* Verdicts over `then` and all files. *exit_code is set where --fail asks for it. */
stencil_status bench_outputs_write(const bench_outputs *outputs, const bench_report *report,
                                   const bench_report *then, int *exit_code);

#endif
