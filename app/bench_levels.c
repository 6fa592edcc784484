/* The table of the barriers of all levels, from the results of several benchmarks. */
#include <math.h>
#include <string.h>

#include "app/bench.h"
#include "app/text.h"

static bool same_line(const stencil_bench_level *a, const stencil_bench_level *b) {
    return strcmp(a->level, b->level) == 0 && strcmp(a->name, b->name) == 0 && a->gpus == b->gpus;
}

static bool begins_line(const stencil_bench_level *level, int at) {
    for (int i = 0; i < at; i++)
        if (same_line(&level[i], &level[at]))
            return false;
    return true;
}

/* Adds the line of a barrier, from level[at]: a cell for each number of threads of a block. */
static void add_line(table *t, const stencil_bench_level *level, int count, int at, bool full) {
    table_add_line(t, level[at].gpus > 1 ? "%s, %d GPUs" : "%s", level[at].name, level[at].gpus);
    table_add_cell(t, "%s", level[at].level);
    for (int64_t threads = 32; threads <= BENCH_LEVELS_THREADS; threads *= 2) {
        double time_s = NAN;
        for (int i = at; i < count; i++)
            if (same_line(&level[i], &level[at]) && level[i].threads == threads)
                time_s = full ? level[i].full_s : level[i].one_s;
        char text[TABLE_CELL_SIZE] = "";
        table_add_cell(t, "%s", isnan(time_s) ? "" : text_number(1e9 * time_s, text));
    }
}

const char *bench_levels_table(const stencil_bench_report *report, bool full, table *t) {
    stencil_bench_level level[STENCIL_BENCH_LEVELS_MAX];
    const int count = stencil_bench_levels(report, level);
    table_add_columns(t, "<barrier\t<level");
    for (int threads = 32; threads <= BENCH_LEVELS_THREADS; threads *= 2)
        table_add_columns(t, TEXT(">%d", threads));
    for (int i = 0; i < count; i++)
        if (begins_line(level, i))
            add_line(t, level, count, i, full);
    return full
               ? "ns of a barrier on full multiprocessors, threads of a block across; warps: at their best "
                 "rate"
               : "ns of a barrier of one block, of grids with one on each multiprocessor; threads of a block "
                 "across";
}
