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

/* A value of a row in its scale (returned). */
const char *bench_value(double value, const bench_scale *scale, char text[TABLE_CELL_SIZE]);

/* The name of a row, with its kind where the result has several: "__syncthreads (latency)" (returned). */
const char *bench_row_name(const stencil_bench_result *result, const stencil_bench_row *row, char *text,
                           size_t size);

/* "blocks_per_sm 2, threads 256" into text (returned); "" without axes. Only the first `axes` ones. */
const char *bench_place(const stencil_bench_row *row, int axes, char *text, size_t size);

/* Called for every table of a result: those that belong to no field of axes first, all in one table (title
 * ""), then one for each field. */
typedef void (*bench_section_visitor)(void *context, const char *title, const table *t);
stencil_status bench_visit_sections(const stencil_bench_result *result, bench_section_visitor visit,
                                    void *context);

/* The lines below the tables: what was left out, methods, formulas, notes. `text` is one line of label and
 * text. */
typedef void (*bench_line_visitor)(void *context, const char *label, const char *text);
void bench_visit_head(const stencil_bench_result *result, bench_line_visitor visit, void *context);
void bench_visit_foot(const stencil_bench_result *result, double max_noise, bench_line_visitor visit,
                      void *context);

/* bench_print.c: for people. */
void bench_print(FILE *out, const stencil_bench_result *result, double max_noise);

/* bench_file.c: an earlier report, read from JSON. */
typedef struct bench_file {
    const char *path;
    json_t *root;                 /* owned */
    int result_count;             /* what is in it */
    stencil_bench_result *result; /* [result_count], owned */
} bench_file;

/* Reads the file. NO_INPUT, BAD_DATA with its name behind `option`. Freed by bench_file_close(), which does
 * nothing to a zeroed one. */
stencil_status bench_file_open(bench_file *from, const char *option, const char *path);
void bench_file_close(bench_file *from);

/* What is written into files. */
typedef struct bench_report {
    const stencil_bench_result *result; /* [count] */
    int count;
    const stencil_bench_origin *origin;
    /* Of the run, for its JSON; NULL where the results come from a file. */
    const stencil_bench_options *options;
    const stencil_machine *machine;
} bench_report;

/* bench_csv.c, bench_markdown.c: printers for target_write(); `content` is a bench_report. */
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

/* bench_against.c: the verdicts over an earlier report. */
typedef struct bench_against {
    bench_file file;
    double margin;
} bench_against;

/* Opens the file as bench_file_open() does. Freed by bench_against_close(). */
stencil_status bench_against_open(bench_against *against, const char *path, double margin);
/* Compares; prints the verdicts where `out` is not NULL; *json (owned by the caller, may be NULL) gets them
 * all. *worse: rows that are slower or say something else now. */
stencil_status bench_against_compare(const bench_against *against, const bench_report *report, FILE *out,
                                     json_t **json, int *worse);
void bench_against_close(bench_against *against);

/* bench_output.c: where the results go. */
typedef struct bench_outputs {
    const char *json, *csv, *md, *plot; /* as they were given; NULL: not */
    const char *against;                /* file to compare with */
    double margin;                      /* per cent */
    bool fail, force, quiet;
} bench_outputs;

/* What cannot be written is found before anything is measured. `from`: the file that results are read from,
 * or NULL; name[count]: the benchmarks. USAGE, CANNOT_CREATE. */
stencil_status bench_outputs_check(const bench_outputs *outputs, const char *from, const char *const *name,
                                   int count);

/* Whether tables go to standard output. */
bool bench_tables_wanted(const bench_outputs *outputs);

/* Verdicts over `against` (path NULL: none) and all files. *exit_code is set where --fail asks for it. */
stencil_status bench_outputs_write(const bench_outputs *outputs, const bench_report *report,
                                   const bench_against *against, int *exit_code);

/* bench_from.c: the outputs of the results in the file `path`, of all or of the benchmarks name[count], in
 * the order of the file. Measures nothing. USAGE, NO_INPUT, BAD_DATA. */
stencil_status bench_from(const char *path, const char *const *name, int count, const bench_outputs *outputs,
                          int *exit_code);

#endif
