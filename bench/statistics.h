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

/* Computes statistics of `count` >= 1 samples, with interpolated quantiles; overwrites scratch[count]. */
stencil_statistics stencil_statistics_of(const double *sample, int count, double *scratch);

/* Ratio of two sets of samples, b over a, with its confidence interval. */
typedef struct stencil_shift {
    double ratio;     /* Hodges-Lehmann estimate of b over a: the median of all b[j] / a[i] */
    double low, high; /* 99 % confidence interval of the ratio; 0 and infinity: too few samples */
} stencil_shift;

/* Computes the ratio of b to a with the confidence interval of the rank test of Mann and Whitney (Hollander
 * and Wolfe, Nonparametric Statistical Methods, 4.3, on logarithms): assumes only that the distributions
 * differ by a factor. Exact for few samples, by the normal approximation for many. With a sample that is not
 * positive, low is 0, high infinite and ratio NaN. Errors: NO_MEMORY. */
stencil_status stencil_shift_of(const double *a, int a_count, const double *b, int b_count,
                                stencil_shift *shift);

/* Running mean and sum of squared deviations (Welford) of the latencies of one kernel. */
typedef struct stencil_spread {
    double count, mean, squares;
} stencil_spread;

/* State of the two-repeat-count method: both latencies, in the row's unit times the counts' difference. */
typedef struct stencil_two_counts {
    double difference; /* difference of the repeat counts, r1 - r2 */
    bool warm;         /* the warm-up sample was taken */
    stencil_spread high, low;
} stencil_two_counts;

/* Adds a sample of `count` launch pairs: high[] and low[] are the total latencies of the kernels with the
 * higher and the lower repeat count. Returns (high - low) / difference, 000 Eq. 7, of the medians, which
 * ignore launches disturbed by the host. The first sample of a row is a warm-up and is not added. */
enum { STENCIL_PAIRS_MAX = 1000 };
double stencil_two_counts_add_pairs(stencil_two_counts *two, const double *high, const double *low,
                                    int count);

/* Returns the standard deviation of the two-repeat-count method, 000 Eq. 8; NaN: less than two samples. */
double stencil_two_counts_sd(const stencil_two_counts *two);

#ifdef __cplusplus
}
#endif
