/* Tables of bars (figures to be reached), and how much of each is reached. */
#include <math.h>
#include <string.h>

#include "app/bench.h"

static bool is_beside_copy(const stencil_bench_bar *bar) {
    return strcmp(bar->best_by, "copy") == 0;
}

/* Adds a table cell with a figure of three or four digits after `mark`; empty for NaN. */
static void add_figure(table *t, const char *mark, double figure) {
    table_add_cell(t, isnan(figure) ? "" : "%s%.*g", mark, figure < 1 ? 3 : 4, figure);
}

static void add_bar(table *t, const stencil_bench_bar *bar, bool copies) {
    table_add_row(t);
    table_add_cell(t, "%s", bar->name);
    add_figure(t, "", bar->best_other);
    add_figure(t, "", bar->reach);
    add_figure(t, "", bar->aim);
    if (isnan(bar->measured)) {
        table_add_cell(t, "skipped: %s", bar->skipped);
        table_span_cell(t);
        return;
    }
    add_figure(t, bar->noisy ? "~" : "", bar->measured);
    const double reached = stencil_bench_bar_reached(bar);
    table_add_cell(t, reached < 0.095 ? "%.1g" : "%.2f", reached);
    const double loop =
        bar->unit == STENCIL_US_PER_STEP ? bar->measured / bar->loop : bar->loop / bar->measured;
    table_add_cell(t, isnan(loop) ? "" : "%.2f", loop);
    if (!copies) {
        table_add_cell(t, "%s", bar->sweep);
        table_add_cell(t, "%d", bar->depth);
    }
    static const char *const shown[STENCIL_RESOURCE_COUNT] = {"memory", "shared", "fma"}; /* short */
    const int least = stencil_name_find(bar->bound.resource, stencil_resource_names);
    table_add_cell(t, "%s", least < 0 ? "" : shown[least]);
    const double used = least < 0 ? NAN : bar->bound.used[least];
    table_add_cell(t, isnan(used) ? "" : used < 0.005 ? "%.1g%%" : "%.0f%%", 100 * used);
    table_add_cell(t, "%s", bar->strategy);
    if (!copies)
        table_add_cell(t, "%s", bar->best_by);
}

/* Lists bars next to published methods, or (all of one sweep, single-step) next to a copy kernel. */
void bench_bar_table(const stencil_bench_result *result, int which, table *t, char title[BENCH_TITLE_SIZE]) {
    static const char *const units[STENCIL_BAR_UNITS] = {"Gcell/s", "µs per step"};
    const stencil_bar_unit unit = (stencil_bar_unit)(which / 2);
    const bool copies = which % 2 != 0;
    table_add_columns(t, "<case\t>best_other\t>reach\t>aim\t>here\t>x_reach\t>loop");
    table_add_columns(t, copies ? "<bound\t>used\t<?strategy"
                                : "<sweep\t>depth\t<bound\t>used\t<?strategy\t<??best_by");
    for (const stencil_bench_bar *bar = result->bar; bar < result->bar + result->bar_count; bar++)
        if (bar->unit == unit && is_beside_copy(bar) == copies)
            add_bar(t, bar, copies);
    snprintf(title, BENCH_TITLE_SIZE, "%s%s", units[unit],
             copies ? "; best other: the copy of the field" : "");
}
