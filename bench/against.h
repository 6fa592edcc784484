/* Is it as fast as it was? Verdicts over two results of the same benchmark. */
#ifndef STENCIL_BENCH_AGAINST_H
#define STENCIL_BENCH_AGAINST_H

#include "bench/bench.h"

/* Let the cost be the samples, or their inverse where higher is better, and [low, high] the 99 % interval of
 * its ratio, now over then (stencil_shift_of()); margin m. */
typedef enum stencil_verdict {
    STENCIL_VERDICT_SAME,    /* the interval is within [1 / (1 + m), 1 + m] */
    STENCIL_VERDICT_FASTER,  /* all of it is under 1 / (1 + m) */
    STENCIL_VERDICT_SLOWER,  /* all of it is above 1 + m */
    STENCIL_VERDICT_UNCLEAR, /* neither: too much noise, or too few samples */
    STENCIL_VERDICT_CHANGED, /* a statement that differs */
    STENCIL_VERDICT_NEW,     /* not measured then */
    STENCIL_VERDICT_GONE,    /* measured then, not now */
    STENCIL_VERDICT_COUNT
} stencil_verdict;

/* "same", "faster", … */
const char *stencil_verdict_text(stencil_verdict verdict);

/* One row, then and now. */
typedef struct stencil_comparison {
    const stencil_bench_row *then, *now; /* NULL: not there */
    stencil_verdict verdict;
    stencil_shift shift; /* of the samples, now over then; ratio NaN: nothing to compare */
} stencil_comparison;

/* Compares all rows of `now` and those of `then` that are not among them. *comparison (owned by the caller,
 * freed with free()) is [*count]. Where the results cannot be compared (another back-end, a parameter that
 * differs, one of them failed), why[0] is not '\0' and there is nothing else. NO_MEMORY. */
stencil_status stencil_bench_compare(const stencil_bench_result *then, const stencil_bench_result *now,
                                     double margin, stencil_comparison **comparison, int *count,
                                     char why[192]);

#endif
