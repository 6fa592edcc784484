#include "bench/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int count, double q) {
    const double at = q * (count - 1);
    const int low = (int)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

stencil_statistics stencil_statistics_of(const double *sample, int count, double *scratch) {
    memcpy(scratch, sample, (size_t)count * sizeof *sample);
    qsort(scratch, (size_t)count, sizeof *scratch, ascending);
    stencil_statistics s = {
        .count = count,
        .median = quantile(scratch, count, 0.5),
        .p5 = quantile(scratch, count, 0.05),
        .p95 = quantile(scratch, count, 0.95),
        .smallest = scratch[0],
        .largest = scratch[count - 1],
    };
    for (int i = 0; i < count; i++)
        scratch[i] = fabs(sample[i] - s.median);
    qsort(scratch, (size_t)count, sizeof *scratch, ascending);
    s.mad = quantile(scratch, count, 0.5);
    return s;
}
