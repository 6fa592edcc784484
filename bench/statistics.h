/* Statistics of repeated measurements. */
#pragma once

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stencil_statistics {
    int count;
    double median, mad; /* median absolute deviation from the median */
    double p5, p95, smallest, largest;
    /* Standard deviation over |median| of a normal distribution as wide as the samples: the larger one of
     * 1.4826 * mad and (p95 - p5) / 3.29, so neither a broad middle nor tails are missed. NaN: unknown (one
     * sample, or a median of 0 among other values). */
    double spread;
} stencil_statistics;

/* Computes the statistics of `count` >= 1 samples, which are left as they are (a sorted copy is made in
 * scratch[count]). Quantiles are interpolated linearly between order statistics. */
stencil_statistics stencil_statistics_of(const double *sample, int count, double *scratch);

/* The distance of two sets of samples, a and b. */
typedef struct stencil_shift {
    double ratio;     /* Hodges-Lehmann estimate of b over a: the median of all b[j] / a[i] */
    double low, high; /* where that ratio is with a probability of 99 %; 0 and infinity: too few samples */
} stencil_shift;

/* Ratio of b to a with the confidence interval that belongs to the rank test of Mann and Whitney (Hollander
 * and Wolfe, Nonparametric Statistical Methods, 4.3, on logarithms): no assumption about the distributions
 * but that they differ by a factor. Exact for few samples, by the normal approximation for many. Samples of
 * which one is not positive have no ratio: low is 0, high infinite, ratio NaN. NO_MEMORY. */
stencil_status stencil_shift_of(const double *a, int a_count, const double *b, int b_count,
                                stencil_shift *shift);

/* Mean and squared deviations of one of the two kernels (Welford). */
typedef struct stencil_spread {
    double count, mean, squares;
} stencil_spread;

/* The two-repeat-count method: what it keeps for a row, both latencies, in the row's unit times the
 * difference of the counts. */
typedef struct stencil_two_counts {
    double difference; /* r1 - r2 */
    bool warm;         /* the first sample was taken */
    stencil_spread high, low;
} stencil_two_counts;

/* One sample of `count` pairs of launches: the total latencies of the kernels with the higher and the lower
 * repeat count. Returns (high - low) / difference, 000 Eq. 7, of the medians of each kind: a launch in which
 * the host was interrupted counts for no more than another one. The first sample of a row is its warm-up,
 * which the framework drops and which does not count here either. */
enum { STENCIL_PAIRS_MAX = 1000 };
double stencil_two_counts_add_pairs(stencil_two_counts *two, const double *high, const double *low,
                                    int count);

/* Standard deviation of the result, 000 Eq. 8; NaN with less than two samples. */
double stencil_two_counts_sd(const stencil_two_counts *two);

#ifdef __cplusplus
}
#endif
