/* gnuplot scripts. The data stand in them, so that a script is all that a plot needs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench_script.h"

const char *const bench_style_names[BENCH_STYLE_COUNT] = {"map", "lines", "box"};

/* Pixels of a panel. */
static const struct {
    int width, height, columns;
} panel_size[BENCH_STYLE_COUNT] = {{380, 260, 3}, {960, 440, 1}, {1000, 560, 1}};

const stencil_bench_row *script_row(const script *s, int series, int i) {
    return &s->result->row[s->series[series].row[i]];
}

static bool is_sampled(const script *s, int series) {
    for (int i = 0; i < s->series[series].count; i++)
        if (script_row(s, series, i)->sample_count > 0)
            return true;
    return false;
}

static bench_style style_of(const script *s, int series) {
    const stencil_bench_row *first = script_row(s, series, 0);
    if (stencil_bench_series_is_map(s->result, &s->series[series]))
        return BENCH_MAP;
    if (first->axis_count == 0 || strcmp(first->kind, "host") == 0)
        return BENCH_BOX;
    for (int i = 1; i < s->series[series].count; i++)
        if (script_row(s, series, i)->axis[first->axis_count - 1].number !=
            first->axis[first->axis_count - 1].number)
            return BENCH_LINES;
    return BENCH_BOX;
}

/* A text between single quotes, in which gnuplot knows nothing but the quote. */
void script_quote(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text != '\0'; text++)
        fputs(*text == '\'' ? "''" : (const char[]){*text, '\0'}, out);
    fputc('\'', out);
}

static const char *innermost_axis(const script *s, int series) {
    const stencil_bench_row *row = script_row(s, series, 0);
    return row->axis[row->axis_count - 1].name;
}

/* Series that share a panel: the same kind and unit and, for lines, the same innermost axis. */
bool script_same_panel(const script *s, int a, int b) {
    const stencil_bench_row *row_a = script_row(s, a, 0), *row_b = script_row(s, b, 0);
    return s->drawn[a] && s->drawn[b] && strcmp(row_a->unit, row_b->unit) == 0 &&
           strcmp(row_a->kind, row_b->kind) == 0 &&
           (s->style != BENCH_LINES || strcmp(innermost_axis(s, a), innermost_axis(s, b)) == 0);
}

static bool first_of_panel(const script *s, int series) {
    for (int i = 0; i < series; i++)
        if (script_same_panel(s, i, series))
            return false;
    return s->drawn[series];
}

/* All rows of a panel share a scale. */
bench_scale script_scale(const script *s, int first) {
    int count = 0;
    for (int i = first; i < s->series_count; i++)
        for (int k = 0; k < s->series[i].count && script_same_panel(s, first, i); k++)
            s->scratch[count++] = s->series[i].row[k];
    return bench_scale_of(s->result, s->scratch, count);
}

/* Smallest and largest median of a panel in its scale; false: not all are positive. */
bool script_range(const script *s, int first, const bench_scale *scale, double *low, double *high) {
    bool positive = true;
    *low = INFINITY;
    *high = -INFINITY;
    for (int i = first; i < s->series_count; i++)
        for (int k = 0; k < s->series[i].count && script_same_panel(s, first, i); k++) {
            const stencil_bench_row *row = script_row(s, i, k);
            if (row->sample_count == 0)
                continue;
            positive = positive && row->statistics.smallest > 0;
            *low = fmin(*low, row->statistics.median / scale->factor);
            *high = fmax(*high, row->statistics.median / scale->factor);
        }
    return positive;
}

/* Returns whether the axis is logarithmic. */
static bool set_value_axis(const script *s, int first, const bench_scale *scale) {
    double low, high;
    char label[96];
    const bool positive = script_range(s, first, scale, &low, &high);
    const bool logarithmic = positive && high > SCRIPT_LOG_RATIO * low;
    if (logarithmic)
        fputs("set logscale y\nset yrange [*:*]\n", s->out);
    else
        fprintf(s->out, "unset logscale y\nset yrange [%s:*]\n", positive ? "0" : "*");
    snprintf(label, sizeof label, "%s, %s", script_row(s, first, 0)->kind, scale->unit);
    fputs("set ylabel ", s->out);
    script_quote(s->out, label);
    fputc('\n', s->out);
    return logarithmic;
}

void script_visit_places(script *s, int series, int outer, script_visitor visit, void *context) {
    int64_t at[STENCIL_BENCH_AXES_MAX] = {0};
    for (int a = 0; a < outer; a++) {
        at[a] = script_row(s, series, 0)->axis[a].number;
        for (int i = 1; i < s->series[series].count; i++)
            if (script_row(s, series, i)->axis[a].number < at[a])
                at[a] = script_row(s, series, i)->axis[a].number;
    }
    do
        visit(s, series, at, context);
    while (stencil_bench_series_next(s->result, &s->series[series], outer, at));
}

void script_title(const script *s, int series, int outer, const int64_t *at) {
    char place[128], title[192];
    stencil_bench_row row = *script_row(s, series, 0);
    for (int a = 0; a < outer; a++)
        row.axis[a].number = at[a];
    bench_place(&row, outer, place, sizeof place);
    snprintf(title, sizeof title, "%s%s%s", row.name, outer > 0 ? ", " : "", place);
    script_quote(s->out, title);
}

/* Lines: a data block "x median p5 p95" for each curve, sorted by x. */
typedef struct curve_context {
    const bench_scale *scale;
    const char *between;
} curve_context;

static void print_curve_data(script *s, int series, const int64_t *at, void *context) {
    const curve_context *c = context;
    const int outer = script_row(s, series, 0)->axis_count - 1;
    int64_t here[STENCIL_BENCH_AXES_MAX];
    int64_t *x = malloc((size_t)s->series[series].count * sizeof *x);
    if (x == NULL)
        return;
    const int count = stencil_bench_series_values(s->result, &s->series[series], outer, x);
    memcpy(here, at, sizeof here);
    fprintf(s->out, "$data%d << EOD\n", s->blocks++);
    for (int i = 0; i < count; i++) {
        here[outer] = x[i];
        const stencil_bench_row *row = stencil_bench_series_at(s->result, &s->series[series], here);
        if (row != NULL && row->sample_count > 0)
            fprintf(s->out, "%lld %.9g %.9g %.9g\n", (long long)x[i],
                    row->statistics.median / c->scale->factor, row->statistics.p5 / c->scale->factor,
                    row->statistics.p95 / c->scale->factor);
    }
    fputs("EOD\n", s->out);
    free(x);
}

static void print_curve(script *s, int series, const int64_t *at, void *context) {
    curve_context *c = context;
    fprintf(s->out, "%s$data%d using 1:2:3:4 with yerrorlines linewidth 1.5 pointtype 7 pointsize 0.7 title ",
            c->between, s->blocks++);
    script_title(s, series, script_row(s, series, 0)->axis_count - 1, at);
    c->between = ", \\\n  ";
}

/* Where all numbers are small, only they are shown, and with bytes their powers of 1024. */
static void set_line_axis(const script *s, int first) {
    int64_t low = INT64_MAX, high = 0;
    for (int i = first; i < s->series_count; i++)
        for (int k = 0; k < s->series[i].count && script_same_panel(s, first, i); k++) {
            const stencil_bench_row *row = script_row(s, i, k);
            const int64_t x = row->axis[row->axis_count - 1].number;
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
    if (low > 0 && (double)high >= 8 * (double)low)
        fprintf(s->out, "set logscale x 2\nset xrange [%.9g:%.9g]\n", 0.8 * (double)low, 1.25 * (double)high);
    else
        fprintf(s->out, "unset logscale x\nset xrange [%.9g:%.9g]\n",
                (double)low - 0.05 * (double)(high - low), (double)high + 0.05 * (double)(high - low));
    fputs(high - low <= SCRIPT_TICS_MAX ? "set xtics 1\n" : "set xtics autofreq\n", s->out);
    fputs(high < 1 << 20 ? "set format x '%.0f'\n" : "set format x '%.0b%B'\n", s->out);
}

static void print_line_panel(script *s, int first, bool data) {
    const bench_scale scale = script_scale(s, first);
    curve_context c = {&scale, "plot "};
    if (!data) {
        set_value_axis(s, first, &scale);
        set_line_axis(s, first);
        fputs("set xlabel ", s->out);
        script_quote(s->out, innermost_axis(s, first));
        fputc('\n', s->out);
    }
    for (int i = first; i < s->series_count; i++)
        if (script_same_panel(s, first, i))
            script_visit_places(s, i, script_row(s, i, 0)->axis_count - 1,
                                data ? print_curve_data : print_curve, &c);
    if (!data)
        fputc('\n', s->out);
}

/* Box plots: a data block with the samples of each row. */
static void print_box_data(script *s, const stencil_bench_row *row, const bench_scale *scale) {
    fprintf(s->out, "$data%d << EOD\n", s->blocks++);
    for (int64_t i = 0; i < row->sample_count; i++)
        fprintf(s->out, "%.9g\n", row->sample[i] / scale->factor);
    fputs("EOD\n", s->out);
}

static void print_box_label(FILE *out, const stencil_bench_row *row, int at) {
    char place[128], label[192];
    bench_place(row, row->axis_count, place, sizeof place);
    snprintf(label, sizeof label, "%s%s%s", row->name, place[0] != '\0' ? ", " : "", place);
    fputs(at > 1 ? ", " : "", out);
    script_quote(out, label);
    fprintf(out, " %d", at);
}

static int visit_box_rows(script *s, int first, const bench_scale *scale, int pass) {
    int at = 0;
    for (int i = first; i < s->series_count; i++)
        for (int k = 0; k < s->series[i].count && script_same_panel(s, first, i); k++) {
            const stencil_bench_row *row = script_row(s, i, k);
            if (row->sample_count == 0)
                continue;
            at++;
            if (pass == 0)
                print_box_data(s, row, scale);
            else if (pass == 1)
                print_box_label(s->out, row, at);
            else
                fprintf(s->out, "%s$data%d using (%d):1 with boxplot linetype 1 notitle",
                        at == 1 ? "plot " : ", \\\n  ", s->blocks++, at);
        }
    return at;
}

/* What a panel of boxes has: all samples, and most of them, the range from p5 to p95 once more on either
 * side; without a factor. */
typedef struct box_range {
    double smallest, largest, low, high;
} box_range;

static void widen(box_range *range, const stencil_statistics *t) {
    range->smallest = fmin(range->smallest, t->smallest);
    range->largest = fmax(range->largest, t->largest);
    range->low = fmin(range->low, t->p5 - (t->p95 - t->p5));
    range->high = fmax(range->high, t->p95 + (t->p95 - t->p5));
}

static int count_beyond(const box_range *range, const stencil_bench_row *row) {
    int count = 0;
    for (int64_t i = 0; i < row->sample_count; i++)
        count += row->sample[i] < range->low || row->sample[i] > range->high;
    return count;
}

/* Where single samples lie so far away that nothing else could be seen, the axis holds most of them, and a
 * label counts the others. */
static void clip_box_axis(const script *s, int first, const bench_scale *scale) {
    box_range range = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    int beyond = 0;
    for (int i = first; i < s->series_count; i++)
        for (int k = 0; k < s->series[i].count && script_same_panel(s, first, i); k++)
            if (script_row(s, i, k)->sample_count > 0)
                widen(&range, &script_row(s, i, k)->statistics);
    if (range.smallest > 0) /* the axis begins at 0 */
        range.low = range.smallest = 0;
    if (!(range.largest - range.smallest > SCRIPT_CLIP_RATIO * (range.high - range.low)))
        return;
    for (int i = first; i < s->series_count; i++)
        for (int k = 0; k < s->series[i].count && script_same_panel(s, first, i); k++)
            beyond += count_beyond(&range, script_row(s, i, k));
    fprintf(s->out, "set yrange [%.9g:%.9g]\nset label 1 \"%d sample%s beyond\" at graph 0.98, 0.94 right\n",
            range.low / scale->factor, range.high / scale->factor, beyond, stencil_plural(beyond));
}

static void print_box_panel(script *s, int first, bool data) {
    const bench_scale scale = script_scale(s, first);
    if (data) {
        visit_box_rows(s, first, &scale, 0);
        return;
    }
    if (!set_value_axis(s, first, &scale))
        clip_box_axis(s, first, &scale);
    fputs("set style fill solid 0.25 border\nset style boxplot sorted outliers pointtype 7\nset boxwidth "
          "0.5\nset pointsize 0.4\nset xtics rotate by -35 nomirror (",
          s->out);
    const int count = visit_box_rows(s, first, &scale, 1);
    fprintf(s->out, ")\nset xrange [0.25:%d.75]\n", count);
    visit_box_rows(s, first, &scale, 2);
    fputs("\nunset label 1\n", s->out);
}

static void count_place(script *s, int series, const int64_t *at, void *context) {
    (void)s, (void)series, (void)at;
    ++*(int *)context;
}

/* Panels of the whole plot. */
static int count_panels(script *s) {
    int panels = 0;
    for (int i = 0; i < s->series_count; i++)
        if (s->style == BENCH_MAP && s->drawn[i])
            script_visit_places(s, i, script_row(s, i, 0)->axis_count - 2, count_place, &panels);
        else
            panels += first_of_panel(s, i);
    return panels;
}

static void print_panels(script *s, bool data) {
    s->blocks = 0;
    for (int i = 0; i < s->series_count; i++)
        if (!first_of_panel(s, i))
            continue;
        else if (s->style == BENCH_MAP)
            script_map_panel(s, i, data);
        else if (s->style == BENCH_LINES)
            print_line_panel(s, i, data);
        else
            print_box_panel(s, i, data);
}

static void print_script(script *s, const char *png) {
    const int panels = count_panels(s);
    const int columns = panels < panel_size[s->style].columns ? panels : panel_size[s->style].columns;
    const int lines = (panels + columns - 1) / columns;
    fprintf(s->out, "# gnuplot 5.2 or newer: gnuplot FILE, in this directory\nset encoding utf8\n");
    print_panels(s, true);
    fprintf(s->out, "set terminal pngcairo noenhanced size %d,%d font ',11'\nset output ",
            columns * panel_size[s->style].width, lines * panel_size[s->style].height + 40);
    script_quote(s->out, png);
    fputs("\nset grid ytics\nset key outside right top\nset tics nomirror\n"
          "set palette defined (0 '#ffffd9', 0.35 '#c7e9b4', 0.7 '#7fcdbb', 1 '#41b6c4')\n",
          s->out);
    if (s->style == BENCH_MAP)
        fputs("unset grid\nunset colorbox\nset rmargin 2\n", s->out);
    fprintf(s->out, "set multiplot layout %d,%d title ", lines, columns);
    char title[256];
    snprintf(title, sizeof title, "%s: %s", s->result->benchmark, s->result->device);
    script_quote(s->out, title);
    fputc('\n', s->out);
    print_panels(s, false);
    fputs("unset multiplot\n", s->out);
}

stencil_status bench_script_print(FILE *out, const stencil_bench_result *result, bench_style style,
                                  const char *png, bool *drawn) {
    script s = {.out = out, .result = result, .style = style};
    stencil_status status = stencil_bench_series_make(result, &s.series, &s.series_count);
    s.drawn = calloc((size_t)s.series_count + 1, sizeof *s.drawn);
    s.scratch = calloc((size_t)result->row_count + 1, sizeof *s.scratch);
    *drawn = false;
    if (status == STENCIL_OK && (s.drawn == NULL || s.scratch == NULL))
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "no memory for a plot");
    for (int i = 0; i < s.series_count && status == STENCIL_OK; i++) {
        s.drawn[i] = is_sampled(&s, i) && style_of(&s, i) == style;
        *drawn = *drawn || s.drawn[i];
    }
    if (status == STENCIL_OK && *drawn)
        print_script(&s, png);
    free(s.drawn);
    free(s.scratch);
    stencil_bench_series_destroy(s.series, s.series_count);
    return status;
}
