#include "bench/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double quantile(const double *sorted, int count, double q) {
    const double at = q * (count - 1);
    const int low = (int)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

/* Ratios of a normal distribution: standard deviation / mad, and (p95 - p5) / standard deviation. */
static const double sd_per_mad = 1.4826, sd_p5_to_p95 = 3.2897;

static double relative_spread(const stencil_statistics *s) {
    const double sd = fmax(sd_per_mad * s->mad, (s->p95 - s->p5) / sd_p5_to_p95);
    if (s->count < 2)
        return NAN;
    if (sd == 0)
        return 0;
    return s->median != 0 ? sd / fabs(s->median) : NAN;
}

stencil_statistics stencil_statistics_of(const double *sample, int count, double *scratch) {
    memcpy(scratch, sample, (size_t)count * sizeof *sample);
    stencil_sort(scratch, (size_t)count);
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
    stencil_sort(scratch, (size_t)count);
    s.mad = quantile(scratch, count, 0.5);
    s.spread = relative_spread(&s);
    return s;
}

/* Limits of stencil_shift_of(): SHIFT_SAMPLES_MAX evenly spaced order statistics stand for more samples. */
enum { SHIFT_SAMPLES_MAX = 500, EXACT_RATIOS_MAX = 2500 };
static const double shift_tail = 0.005; /* probability of each tail outside the interval */
static const double normal_tail = 2.5758;

/* Number of smallest (and of largest) ratios outside the interval: the largest c with P(U <= c - 1) <= tail,
 * where U counts the pairs with b < a. The distribution of U follows by recursion: the largest sample is one
 * of the m with probability m / (m + n), and then adds n pairs. */
static stencil_status exact_outside(int m, int n, int *outside) {
    const size_t size = (size_t)m * (size_t)n + 1;
    double *p = calloc((size_t)(n + 1) * size, sizeof *p); /* p[j][u]: P(U = u) with i and j samples */
    CHECK(p != NULL, NO_MEMORY, "no memory to compare %d with %d samples", m, n);
    for (int j = 0; j <= n; j++)
        p[(size_t)j * size] = 1;
    for (int i = 1; i <= m; i++)
        for (int j = 1; j <= n; j++) {
            double *here = p + (size_t)j * size;
            const double *less = here - size; /* with i and j - 1 samples, already updated for this i */
            for (int u = i * j; u >= 0; u--)
                here[u] = (u >= j ? here[u - j] * i : 0) / (i + j) + less[u] * j / (i + j);
        }
    const double *law = p + (size_t)n * size;
    double sum = 0;
    for (*outside = 0; *outside < m * n + 1 && (sum += law[*outside]) <= shift_tail;)
        ++*outside;
    free(p);
    return STENCIL_OK;
}

/* Writes `kept` sorted logarithms of the samples to logarithm[count]; false: a sample is not positive. */
static bool take_logarithms(double *logarithm, const double *sample, int count, int kept) {
    memcpy(logarithm, sample, (size_t)count * sizeof *sample);
    stencil_sort(logarithm, (size_t)count);
    const bool positive = logarithm[0] > 0;
    for (int i = 0; i < kept && positive; i++)
        logarithm[i] = log(logarithm[(int64_t)i * count / kept]);
    return positive;
}

stencil_status stencil_shift_of(const double *a, int a_count, const double *b, int b_count,
                                stencil_shift *shift) {
    const int m = a_count < SHIFT_SAMPLES_MAX ? a_count : SHIFT_SAMPLES_MAX;
    const int n = b_count < SHIFT_SAMPLES_MAX ? b_count : SHIFT_SAMPLES_MAX;
    const size_t count = (size_t)m * (size_t)n;
    *shift = (stencil_shift){.ratio = NAN, .low = 0, .high = INFINITY};
    double *log_a = malloc(((size_t)a_count + (size_t)b_count + count) * sizeof *log_a);
    CHECK(log_a != NULL, NO_MEMORY, "no memory to compare %d with %d samples", a_count, b_count);
    double *log_b = log_a + a_count, *difference = log_b + b_count;
    stencil_status status = STENCIL_OK;
    if (take_logarithms(log_a, a, a_count, m) && take_logarithms(log_b, b, b_count, n)) {
        const double pairs = (double)count;
        int outside = (int)fmax(0, pairs / 2 - normal_tail * sqrt(pairs * (m + n + 1) / 12));
        if (count <= EXACT_RATIOS_MAX)
            status = exact_outside(m, n, &outside);
        for (size_t i = 0; i < count; i++)
            difference[i] = log_b[i % (size_t)n] - log_a[i / (size_t)n];
        stencil_sort(difference, count);
        shift->ratio = exp(quantile(difference, (int)count, 0.5));
        if (outside > 0 && status == STENCIL_OK) {
            shift->low = exp(difference[outside - 1]);
            shift->high = exp(difference[count - (size_t)outside]);
        }
    }
    free(log_a);
    return status;
}

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
