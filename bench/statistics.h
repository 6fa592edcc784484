/* Statistics of repeated measurements. */
#ifndef STENCIL_BENCH_STATISTICS_H
#define STENCIL_BENCH_STATISTICS_H

#include "base/base.h"

typedef struct stencil_statistics {
    int count;
    double median, mad; /* median absolute deviation from the median */
    double p5, p95, smallest, largest;
} stencil_statistics;

/* Of `count` >= 1 samples, which are left as they are (a sorted copy is made in scratch[count]).
 * Quantiles are interpolated linearly between order statistics. */
stencil_statistics stencil_statistics_of(const double *sample, int count, double *scratch);

#endif
