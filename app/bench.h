/* What `stencil bench` makes of its results. Internal to the command. */
#pragma once

#include "app/table.h"
#include "bench/bench.h"
#include "inputs/inputs.h"

/* bench_print.c: results for people, at 80 columns or as Markdown, and as CSV. */
typedef struct bench_printer {
    FILE *out;
    bool markdown;
    bool incomplete; /* there was no memory for a table */
    char last[16];   /* label of the line before */
} bench_printer;

/* A line of label and text; a table under its title (NULL: none), which is destroyed. */
void bench_print_line(bench_printer *p, const char *label, const char *text);
void bench_print_table(bench_printer *p, const char *title, table *t);

/* A result, for a terminal. */
void bench_print(FILE *out, const stencil_bench_result *result, double max_noise);

/* Printers for target_write(); `content` is a stencil_bench_report. */
bool bench_print_markdown(FILE *out, const void *content);
bool bench_print_csv(FILE *out, const void *content);

/* bench_problem.c: into bench->edge[edge_count], from "256..16384" (which doubles) or "256,400,512"; what a
 * file says of its problem. USAGE; what opening the file fails with. */
stencil_status bench_read_edges(const char *text, stencil_bench_options *bench);
stencil_status bench_read_file(const char *path, const stencil_input_options *how, stencil_spec *spec);

/* bench_table.c: what stands in which row and column. */

/* How numbers of one unit are shown. */
typedef struct bench_scale {
    double factor; /* shown = value / factor */
    char unit[32]; /* "us/pass", "GB/s", "cycles" */
    int decimals;  /* of all numbers, so that the smallest one has three digits that count; -1: four digits
                      that count in each */
} bench_scale;

/* A scale in which the smallest median of those of row[count] that have that unit can be read. Rows without
 * samples do not count. */
bench_scale bench_scale_of(const stencil_bench_row *const *row, int count, const char *unit);

/* Appends a cell: the median of a row, what it says instead, or `missing`; NULL: an empty one. */
void bench_add_median(table *t, const stencil_bench_row *row, const bench_scale *scale, const char *missing);

/* The name of a row, with its kind where the result has several, and where it stands on its first `axes` axes
 * (returned): "__syncthreads (latency), blocks_per_sm 2, threads 256". */
enum { BENCH_NAME_SIZE = 256 };
const char *bench_row_name(const stencil_bench_result *result, const stencil_bench_row *row, int axes,
                           char text[BENCH_NAME_SIZE]);

/* Appends the names of a row's axes that are not among axis[*count] yet, up to `most` names. */
void bench_collect_axes(const stencil_bench_row *row, const char **axis, int *count, int most);

/* Prints the bars, where a result has them; else the rows that belong to no field of axes in one table, then
 * a table for each field. */
void bench_print_tables(bench_printer *p, const stencil_bench_result *result);

/* bench_skipped.c: whether a row is skipped, and others for the same reason: tables leave such rows out; and
 * a line for each such reason, with the names of its rows. */
bool bench_skip_is_shared(const stencil_bench_result *result, const stencil_bench_row *row);
void bench_print_skipped(bench_printer *p, const stencil_bench_result *result);

/* bench_bars.c: the bars of a result: a table for those with the best of others, and one beside the copy. */
void bench_print_bars(bench_printer *p, const stencil_bench_result *result);

/* bench_against.c: compares with an earlier report, which was read from `path`; prints the verdicts where
 * `out` is not NULL; *json (owned by the caller, may be NULL) gets them all. *worse: rows that are slower or
 * say something else now. */
typedef struct bench_earlier {
    const char *path;
    double margin;
    stencil_bench_report report;
} bench_earlier;
stencil_status bench_against_compare(const bench_earlier *then, const stencil_bench_report *now, FILE *out,
                                     json_t **json, int *worse);

/* bench_plot.c: PNGs in `directory`, drawn by bench/plot.py: NAME-map (a heat map for each field over
 * blocks_per_sm and threads), NAME-lines (medians with p5 and p95 over the innermost axis) and NAME-box (all
 * samples of rows without a varying axis, and of host methods), as far as a benchmark has such rows.
 * UNAVAILABLE (no python3 or matplotlib), CANNOT_CREATE, IO, INTERNAL (the script failed). */
stencil_status bench_plot(const stencil_bench_report *report, const char *directory, bool force);
/* Before the work: makes the directory, and looks for files that are in the way of the benchmarks that
 * `report` names, and for all that the script needs. CANNOT_CREATE, UNAVAILABLE. */
stencil_status bench_plot_check(const stencil_bench_report *report, const char *directory, bool force);
