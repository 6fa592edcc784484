/* What the parts of a gnuplot script share. Internal to bench_script*.c. */
#ifndef STENCIL_APP_BENCH_SCRIPT_H
#define STENCIL_APP_BENCH_SCRIPT_H

#include "app/bench.h"

/* Above this ratio of the largest to the smallest number an axis is logarithmic. */
#define SCRIPT_LOG_RATIO 20.0
/* Above this ratio of all samples' range to that of most of them a box plot shows most of them. */
#define SCRIPT_CLIP_RATIO 3.0

/* A line's axis that is no longer than this has a mark at every whole number. */
#define SCRIPT_TICS_MAX 8

/* A script that is being printed, in two passes: the data as blocks $data0, $data1, …, then what draws them
 * in the same order. */
typedef struct script {
    FILE *out;
    const stencil_bench_result *result;
    bench_style style;
    stencil_bench_series *series; /* owned */
    int series_count;
    bool *drawn;  /* [series_count]: in this style */
    int *scratch; /* [row_count] */
    int blocks;   /* data blocks so far in this pass */
} script;

/* The i-th row of a series. */
const stencil_bench_row *script_row(const script *s, int series, int i);

/* Prints a text between single quotes, in which gnuplot knows nothing but the quote. */
void script_quote(FILE *out, const char *text);

/* Prints the name of a series and its place on the `outer` first axes, quoted. */
void script_title(const script *s, int series, int outer, const int64_t *at);

/* Whether two series share a panel: the same kind and unit and, for lines, the same innermost axis. A panel
 * is named by its first series. */
bool script_same_panel(const script *s, int a, int b);

/* The scale of all rows of a panel; smallest and largest median in it; false: not all are positive. */
bench_scale script_scale(const script *s, int first);
bool script_range(const script *s, int first, const bench_scale *scale, double *low, double *high);

/* Calls `visit` for each combination of a series' numbers on its `outer` first axes. */
typedef void (*script_visitor)(script *s, int series, const int64_t *at, void *context);
void script_visit_places(script *s, int series, int outer, script_visitor visit, void *context);

/* Prints the heat maps of a panel, or (data) their blocks; all of them in the same colours. */
void script_map_panel(script *s, int first, bool data);

#endif
