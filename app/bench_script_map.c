/* Heat maps of gnuplot scripts. */
#include "app/bench_script.h"

#include <stdlib.h>

static bool at_place(const stencil_bench_row *row, int outer, const int64_t *at) {
    for (int a = 0; a < outer; a++)
        if (row->axis[a].number != at[a])
            return false;
    return row->sample_count > 0;
}

/* Heat maps: "x y median label" with x and y as places in the lists of their axes' values. */
static int place_in(const int64_t *value, int count, int64_t wanted) {
    int i = 0;
    while (i < count && value[i] != wanted)
        i++;
    return i;
}

/* What stands in a cell: short, so that it fits. */
static void print_label(FILE *out, const stencil_bench_row *row, double value) {
    const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3;
    fprintf(out, "%s%.*f", row->noisy ? "~" : "", decimals, value);
}

static void print_map_data(script *s, int series, const int64_t *at, void *context) {
    const bench_scale *scale = context;
    const int outer = script_row(s, series, 0)->axis_count - 2;
    const stencil_bench_series *all = &s->series[series];
    int64_t *y = malloc(2 * (size_t)all->count * sizeof *y), *x = y + all->count;
    if (y == NULL)
        return;
    const int ys = stencil_bench_series_values(s->result, all, outer, y);
    const int xs = stencil_bench_series_values(s->result, all, outer + 1, x);
    fprintf(s->out, "$data%d << EOD\n", s->blocks++);
    for (int i = 0; i < all->count; i++) {
        const stencil_bench_row *row = script_row(s, series, i);
        if (!at_place(row, outer, at))
            continue;
        const double value = row->statistics.median / scale->factor;
        fprintf(s->out, "%d %d %.9g ", place_in(x, xs, row->axis[outer + 1].number),
                place_in(y, ys, row->axis[outer].number), value);
        print_label(s->out, row, value);
        fputc('\n', s->out);
    }
    fputs("EOD\n", s->out);
    free(y);
}

static void print_tics(const script *s, int series, int axis, const char *name) {
    int64_t *value = malloc((size_t)s->series[series].count * sizeof *value);
    if (value == NULL)
        return;
    const int count = stencil_bench_series_values(s->result, &s->series[series], axis, value);
    fprintf(s->out, "set %stics (", name);
    for (int i = 0; i < count; i++)
        fprintf(s->out, "%s'%lld' %d", i > 0 ? ", " : "", (long long)value[i], i);
    fprintf(s->out, ")\nset %srange [-0.5:%d.5]\nset %slabel ", name, count - 1, name);
    script_quote(s->out, script_row(s, series, 0)->axis[axis].name);
    fputc('\n', s->out);
    free(value);
}

static void print_map(script *s, int series, const int64_t *at, void *context) {
    const bench_scale *scale = context;
    const int outer = script_row(s, series, 0)->axis_count - 2;
    fputs("set title ", s->out);
    script_title(s, series, outer, at);
    fputs(".', '.", s->out);
    script_quote(s->out, scale->unit);
    fputc('\n', s->out);
    print_tics(s, series, outer + 1, "x");
    print_tics(s, series, outer, "y");
    fprintf(
        s->out,
        "plot $data%d using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid noborder palette notitle, \\\n"
        "  $data%d using 1:2:4 with labels notitle\n",
        s->blocks, s->blocks);
    s->blocks++;
}

/* All fields of a unit in the same colours; their key is left out, the numbers stand in the cells. */
void script_map_panel(script *s, int first, bool data) {
    bench_scale scale = script_scale(s, first);
    double low, high;
    if (!data) {
        const bool positive = script_range(s, first, &scale, &low, &high);
        fprintf(s->out, "%s logscale cb\nset cbrange [%.9g:%.9g]\n",
                positive && high > SCRIPT_LOG_RATIO * low ? "set" : "unset", low,
                high > low ? high : low + 1);
    }
    for (int i = first; i < s->series_count; i++)
        if (script_same_panel(s, first, i))
            script_visit_places(s, i, script_row(s, i, 0)->axis_count - 2, data ? print_map_data : print_map,
                                &scale);
}
