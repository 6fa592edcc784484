/* Input and tables of the command `stencil bench`. */
#pragma once

#include "app/table.h"
#include "bench/bench.h"
#include "inputs/inputs.h"

/* Read the problem to measure (bench_problem.c). bench_read_list(): the numbers of `option`, "--sizes" or
 * "--blocks", from "256..16384" (doubling) or "256,400,512" into list[*count]; errors: USAGE.
 * bench_read_file(): the problem that an input file states; errors: USAGE and those of stencil_input_open().
 */
stencil_status bench_read_list(const char *option, const char *text, int64_t list[STENCIL_BENCH_EDGES_MAX],
                               int *count);
stencil_status bench_read_file(const char *path, const stencil_input_options *how, stencil_spec *spec);

/* Output is made in three stages, each of which uses only earlier ones: rows are collected
 * (bench_rows.c), a table is made of each group (bench_table.c), and tables and lines are printed
 * (bench_print.c, bench_against.c). */

/* Appends to `text` the reason why row number `row`, and other rows, were skipped, with the names of all
 * these rows; false where `row` is not the first row with its reason, or the only one. */
bool bench_skipped_text(const stencil_bench_result *result, int row, char *text, size_t size);

enum { BENCH_NAME_SIZE = 256, BENCH_TITLE_SIZE = 384 };

/* Kinds of groups of result rows; each group becomes a table. */
typedef enum bench_group_kind {
    BENCH_LISTED,   /* one line for each row that belongs to no BENCH_FIELD */
    BENCH_FIELD,    /* rows of a series with equal values on outer axes: medians over the last two axes */
    BENCH_COMPARED, /* one line for each of the rows that were compared at equal axis values */
    BENCH_MEDIANS,  /* medians of compared rows over the values of the last axis */
    BENCH_SYNC,     /* their times of synchronisation over the last axis, blocks or threads */
    BENCH_GAINS     /* what quicker barriers and computing gain, of the rows of a BENCH_COMPARED */
} bench_group_kind;
typedef struct bench_group {
    bench_group_kind kind;
    int count;
    const stencil_bench_row **row;  /* `count` rows within bench_groups.row; a BENCH_FIELD's: its series */
    const stencil_bench_row *place; /* first row with the outer axis values of a BENCH_FIELD; else NULL */
    const char *unit;               /* unit of compared rows; NULL: unit of the first row */
    char outer[BENCH_NAME_SIZE];    /* outer axis values of compared rows: "elements 512, threads 2, " */
} bench_group;
/* Groups of result rows, zeroed and given to bench_groups_destroy() by the caller. Empty ones: no table. */
typedef struct bench_groups {
    int count, row_count;
    bench_group *group;
    const stencil_bench_row **row;
} bench_groups;
/* Collects the rows of each table: rows that were compared with each other, or else listed rows, then fields.
 * Returns false where there is no memory. */
bool bench_groups_of(const stencil_bench_result *result, bench_groups *groups);
void bench_groups_destroy(bench_groups *groups);

bool bench_is_copy(const stencil_bench_row *row);
/* Tells whether two rows share a line of a table of medians: rows of a series, and the best copies. */
bool bench_share_line(const stencil_bench_row *a, const stencil_bench_row *b);
/* Compares values of two rows of a series on their first `axes` axes, as qsort() wants it. */
int bench_compare_places(const stencil_bench_row *a, const stencil_bench_row *b, int axes);
/* Sets *number to the next larger value that row[count] have on an axis; false where there is none. Repeated
 * calls, from INT64_MIN on, give every value in ascending order. */
bool bench_next_number(const stencil_bench_row *const *row, int count, int axis, int64_t *number);
/* Appends the names of a row's axes that are not among axis[*count] yet, up to `most` names. */
void bench_collect_axes(const stencil_bench_row *row, const char **axis, int *count, int most);

/* Scale that numbers of one unit are shown in. */
typedef struct bench_scale {
    double factor; /* divisor of values: shown = value / factor */
    char unit[32]; /* unit of shown numbers: "us/pass", "GB/s" */
    int decimals;  /* decimals that give the smallest number three digits; -1: each has four digits */
} bench_scale;

/* Returns a scale in which the smallest median of those rows of row[count] that have samples and unit `unit`
 * is readable. */
bench_scale bench_scale_of(const stencil_bench_row *const *row, int count, const char *unit);

/* Appends a table cell: the median of a row, the text that it has instead, or `missing`; NULL: empty. */
void bench_add_median(table *t, const stencil_bench_row *row, const bench_scale *scale, const char *missing);

/* Returns the name of a row, its kind where the result has several kinds, and its values on the first `axes`
 * axes: "__syncthreads (latency), blocks_per_sm 2, threads 256". */
const char *bench_row_name(const stencil_bench_result *result, const stencil_bench_row *row, int axes,
                           char text[BENCH_NAME_SIZE]);

/* Makes the table of a group in *t, empty before, and returns the table's title (NULL: none). */
const char *bench_table_of(const stencil_bench_result *result, const bench_group *group, table *t,
                           char title[BENCH_TITLE_SIZE]);

/* Makes the table of the models fitted to a result, empty where there are none. */
void bench_fit_table(const stencil_bench_result *result, table *t, char title[BENCH_TITLE_SIZE]);

/* Makes the table of barriers of all levels with one block or on full multiprocessors, empty for a report
 * with one level, and returns its title (bench_levels.c). */
enum { BENCH_LEVELS_THREADS = 1024 };
const char *bench_levels_table(const stencil_bench_report *report, bool full, table *t);

/* Makes table `which` of a result's bars (figures to be reached) of one unit: next to the best published
 * method, or next to a copy kernel; empty where the result has no such bars. */
enum { BENCH_BAR_TABLES = 2 * STENCIL_BAR_UNITS };
void bench_bar_table(const stencil_bench_result *result, int which, table *t, char title[BENCH_TITLE_SIZE]);

/* Printer of results for people, 80 columns wide or as Markdown. */
typedef struct bench_printer {
    FILE *out;
    bool markdown;
    bool incomplete; /* a table is missing for want of memory */
    char last[16];   /* label of the line that was printed last */
} bench_printer;

/* Prints a line of a label and a text. */
void bench_print_line(bench_printer *p, const char *label, const char *text);

/* Prints a benchmark result for a terminal. */
void bench_print(FILE *out, const stencil_bench_result *result, double max_noise);

/* Prints the tables of barriers of all levels, where a report has several. */
void bench_print_levels(FILE *out, const stencil_bench_report *report);

/* Printers for target_write(); `content` is a stencil_bench_report. */
bool bench_print_markdown(FILE *out, const void *content);
bool bench_print_csv(FILE *out, const void *content);

/* Earlier report, read from `path`, to compare a report with (bench_against.c). bench_against_compare()
 * prints verdicts where `out` is not NULL, and stores them in *json (owned by the caller, may be NULL).
 * *worse: number of rows that became slower, or whose text changed. */
typedef struct bench_earlier {
    const char *path;
    double margin;
    stencil_bench_report report;
} bench_earlier;
stencil_status bench_against_compare(const bench_earlier *then, const stencil_bench_report *now, FILE *out,
                                     json_t **json, int *worse);

/* Writes the cluster that benchmark `message` has measured to `path`: the hosts and devices of the ranks,
 * this machine, the links. Errors: UNAVAILABLE where the report has no such result; those of json_write(). */
stencil_status bench_cluster_write(const stencil_bench_report *report, const char *path, bool force);

/* Draws PNGs in `directory` by bench_plot.py: NAME-map (a heat map for each field over blocks_per_sm and
 * threads), NAME-lines (medians with p5 and p95 over the innermost axis) and NAME-box (all samples of rows
 * without a varying axis, and of host methods), NAME-shares (parts of computing and of synchronisation) and
 * NAME-lanes (times of the lanes of a warp), as far as a benchmark has such rows. `option` is of
 * bench_plot.py: "--force", "--no-force", or with report NULL "--check". Errors: UNAVAILABLE (no python3 or
 * matplotlib), CANNOT_CREATE, IO, INTERNAL (the script failed). */
stencil_status bench_plot(const stencil_bench_report *report, const char *option, const char *directory);
/* Prepares plots before anything is measured: makes the directory, checks for existing plots of the
 * benchmarks that `report` names, and for all that bench_plot.py needs. Errors: CANNOT_CREATE, UNAVAILABLE.
 */
stencil_status bench_plot_check(const stencil_bench_report *report, const char *directory, bool force);
