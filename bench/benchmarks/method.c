#include "bench/benchmarks/method.h"

#include <math.h>

static void spread_add(stencil_spread *s, double value) {
    const double from_old = value - s->mean;
    s->count += 1;
    s->mean += from_old / s->count;
    s->squares += from_old * (value - s->mean);
}

double stencil_two_counts_add(stencil_two_counts *two, double high, double low) {
    if (two->warm) {
        spread_add(&two->high, high);
        spread_add(&two->low, low);
    }
    two->warm = true;
    return (high - low) / two->difference;
}

double stencil_two_counts_add_pairs(stencil_two_counts *two, const double *high, const double *low,
                                    int count) {
    double scratch[STENCIL_PAIRS_MAX];
    return stencil_two_counts_add(two, stencil_statistics_of(high, count, scratch).median,
                                  stencil_statistics_of(low, count, scratch).median);
}

double stencil_two_counts_sd(const stencil_two_counts *two) {
    if (two->high.count < 2)
        return NAN;
    return sqrt((two->high.squares + two->low.squares) / (two->high.count - 1)) / two->difference;
}
