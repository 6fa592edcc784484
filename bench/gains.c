/* Figures derived from those of rows: speed-ups by quicker barriers and by quicker computing, from Amdahl's
 * law (S. Xiao, W. Feng, IPDPS 2010), and the part of the nominal bandwidth that is reached. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"

double stencil_bench_gain(double part, double times) {
    return 1 / (1 - part + part / times);
}

/* Returns a number that is not finite, which JSON and tables have no word for, as NaN. */
static double known(double value) {
    return isfinite(value) ? value : NAN;
}

static bool is_split(const stencil_bench_row *row) {
    return row->sample_count > 0 && row->sync_measured >= 0 && row->sync_measured <= 1; /* false for NaN */
}

/* Returns the row "implicit" at the same position as `row`; NULL: its time in parts is not known. */
static const stencil_bench_row *find_implicit(const stencil_bench_result *result,
                                              const stencil_bench_row *row) {
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *other = &result->row[i];
        bool same = strcmp(other->name, "implicit") == 0 && strcmp(other->kind, row->kind) == 0 &&
                    other->axis_count == row->axis_count && is_split(other);
        for (int k = 0; k < row->axis_count && same; k++)
            same = other->axis[k].number == row->axis[k].number;
        if (same)
            return other;
    }
    return NULL;
}

/* Returns the nominal bytes per second of the memory; NaN: unknown. */
static double nominal_of(const stencil_bench_result *result) {
    for (int i = 0; i < result->parameter_count; i++)
        if (strcmp(result->parameter[i].name, STENCIL_BENCH_NOMINAL) == 0)
            return (double)result->parameter[i].number;
    return NAN;
}

void stencil_bench_derive(stencil_bench_result *result) {
    for (int i = 0; i < result->row_count; i++) {
        stencil_bench_row *row = &result->row[i];
        const double rate = stencil_bench_rate(row, row->bytes);
        row->of_nominal = rate > 0 ? known(rate / nominal_of(result)) : NAN;
        stencil_bench_gains *gains = &row->gains;
        *gains = (stencil_bench_gains){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        if (!is_split(row))
            continue;
        const double sync = row->sync_measured, time_s = row->statistics.median;
        gains->sync_s = sync * time_s;
        gains->computing_s = (1 - sync) * time_s;
        gains->most_by_sync = known(stencil_bench_gain(sync, INFINITY));
        gains->most_by_computing = known(stencil_bench_gain(1 - sync, INFINITY));
        const stencil_bench_row *from = find_implicit(result, row);
        if (from == NULL || from == row)
            continue;
        const double part = from->sync_measured, from_s = from->statistics.median;
        gains->sync_times = known(part * from_s / (sync * time_s));
        gains->computing_times = known((1 - part) * from_s / ((1 - sync) * time_s));
        gains->by_sync = known(stencil_bench_gain(part, gains->sync_times));
        gains->by_computing = known(stencil_bench_gain(1 - part, gains->computing_times));
        gains->over_implicit = from_s / time_s;
    }
}
