/* Input and tables of `stencil bench`. Internal to the command. */
#pragma once

#include "app/table.h"
#include "bench/bench.h"
#include "inputs/inputs.h"

/* bench_problem.c: into bench->edge[edge_count], from "256..16384" (which doubles) or "256,400,512"; what a
 * file says of its problem. USAGE; what opening the file fails with. */
stencil_status bench_read_edges(const char *text, stencil_bench_options *bench);
stencil_status bench_read_file(const char *path, const stencil_input_options *how, stencil_spec *spec);

/* Output is made in three steps, each of which knows only those before it: rows are collected
 * (bench_rows.c, bench_skipped.c), a table is made of each group (bench_table.c, bench_bars.c), and tables
 * and lines are printed (bench_print.c, bench_against.c). */

/* bench_skipped.c: whether a row is skipped, and others for the same reason: tables leave such rows out; and
 * the text of a line for each such reason, with the names of its rows. false: this row does not begin one. */
bool bench_skip_is_shared(const stencil_bench_result *result, const stencil_bench_row *row);
bool bench_skipped_text(const stencil_bench_result *result, int row, char *text, size_t size);

enum { BENCH_NAME_SIZE = 256, BENCH_TITLE_SIZE = 384 };

/* bench_rows.c: which rows of a result a table is made of. */
typedef enum bench_group_kind {
    BENCH_LISTED,   /* one by one: all that belong to no field of axes */
    BENCH_FIELD,    /* a series, at one place on its outer axes: medians over the last two axes */
    BENCH_COMPARED, /* with each other at one place, one by one */
    BENCH_MEDIANS   /* of those, over the places on the last axis */
} bench_group_kind;
typedef struct bench_group {
    bench_group_kind kind;
    int count;
    const stencil_bench_row **row;  /* [count], among those of bench_groups; of a field the whole series */
    const stencil_bench_row *place; /* the first one at the place of a field; else NULL */
    const char *unit;               /* of those that were compared; NULL: that of the first row */
    char outer[BENCH_NAME_SIZE];    /* where rows that were compared stand: "elements 512, threads 2, " */
} bench_group;
/* Zeroed before; the caller's to destroy. Groups without rows have no table. */
typedef struct bench_groups {
    int count, row_count;
    bench_group *group;
    const stencil_bench_row **row;
} bench_groups;
/* Finds the rows of each table: those that were compared with each other, or else all that are listed, then
 * all fields. Returns false where there is no memory. */
bool bench_groups_of(const stencil_bench_result *result, bench_groups *groups);
void bench_groups_destroy(bench_groups *groups);

bool bench_is_copy(const stencil_bench_row *row);
/* Tells whether rows stand in one line of medians: those of a series, and the best copies. */
bool bench_share_line(const stencil_bench_row *a, const stencil_bench_row *b);
/* The order of two rows of a series on their first `axes` axes. */
int bench_compare_places(const stencil_bench_row *a, const stencil_bench_row *b, int axes);
/* Moves *number to the next larger one of row[count] on an axis; false: there is none. From INT64_MIN on that
 * is every number, ascending. */
bool bench_next_number(const stencil_bench_row *const *row, int count, int axis, int64_t *number);
/* Appends the names of a row's axes that are not among axis[*count] yet, up to `most` names. */
void bench_collect_axes(const stencil_bench_row *row, const char **axis, int *count, int most);

/* bench_table.c: what stands in which row and column. */

/* Scale that numbers of one unit are shown in. */
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
const char *bench_row_name(const stencil_bench_result *result, const stencil_bench_row *row, int axes,
                           char text[BENCH_NAME_SIZE]);

/* Makes the table of a group, empty before, and its title (returned; NULL: it has none). */
const char *bench_table_of(const stencil_bench_result *result, const bench_group *group, table *t,
                           char title[BENCH_TITLE_SIZE]);

/* bench_bars.c: a table of the bars of each unit with the best of others, and one of those beside the copy;
 * it is empty where the result has none. */
enum { BENCH_BAR_TABLES = 2 * STENCIL_BAR_UNITS };
void bench_bar_table(const stencil_bench_result *result, int which, table *t, char title[BENCH_TITLE_SIZE]);

/* bench_print.c: results for people, at 80 columns or as Markdown, and as CSV. */
typedef struct bench_printer {
    FILE *out;
    bool markdown;
    bool incomplete; /* there was no memory for a table */
    char last[16];   /* label of the line before */
} bench_printer;

/* A line of label and text. */
void bench_print_line(bench_printer *p, const char *label, const char *text);

/* A result, for a terminal. */
void bench_print(FILE *out, const stencil_bench_result *result, double max_noise);

/* Printers for target_write(); `content` is a stencil_bench_report. */
bool bench_print_markdown(FILE *out, const void *content);
bool bench_print_csv(FILE *out, const void *content);

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
