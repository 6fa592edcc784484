#include "bench/method.h"

#include <math.h>

static void spread_add(stencil_spread *s, double value) {
    const double from_old = value - s->mean;
    s->count += 1;
    s->mean += from_old / s->count;
    s->squares += from_old * (value - s->mean);
}

double stencil_two_counts_add_pairs(stencil_two_counts *two, const double *high, const double *low,
                                    int count) {
    double scratch[STENCIL_PAIRS_MAX];
    const double most = stencil_statistics_of(high, count, scratch).median,
                 least = stencil_statistics_of(low, count, scratch).median;
    if (two->warm) {
        spread_add(&two->high, most);
        spread_add(&two->low, least);
    }
    two->warm = true;
    return (most - least) / two->difference;
}

double stencil_two_counts_sd(const stencil_two_counts *two) {
    if (two->high.count < 2)
        return NAN;
    return sqrt((two->high.squares + two->low.squares) / (two->high.count - 1)) / two->difference;
}
