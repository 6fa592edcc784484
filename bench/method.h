/* Published ways of timing that several benchmarks share: their names, and the arithmetic of the
 * two-repeat-count method. Internal to bench/. */
#ifndef STENCIL_BENCH_METHOD_H
#define STENCIL_BENCH_METHOD_H

#include "bench/benchmark.h"

/* As they are named in the output. "000": L. Zhang et al., A Study of Single and Multi-device Synchronization
 * Methods in Nvidia GPUs. */
#define STENCIL_METHOD_GPU_CLOCK  "GPU clock on a dependent chain (Wong 2010)"
#define STENCIL_METHOD_SM_CLOCK   "GPU clock of each multiprocessor, first start to last end"
#define STENCIL_METHOD_TWO_COUNTS "two repeat counts, CPU clock (000 Eq. 7, 8)"
#define STENCIL_METHOD_FUSION     "kernel fusion with sleep (000 Eq. 6)"

/* Repeats of an instruction or barrier: 512, and 5120 more in the second kernel (Zhang et al., A Study of
 * Synchronization Methods in Modern GPUs, section 3.4). */
enum { STENCIL_REPEATS = 512, STENCIL_REPEATS_MORE = 5120 };

/* Difference of the two repeat counts: what the user asks for, or as published. */
static inline int64_t stencil_repeats_more(const stencil_bench_options *options) {
    return options->repeats > 0 ? options->repeats : (int64_t)STENCIL_REPEATS_MORE;
}

/* The next multiple of what a kernel unrolls. */
static inline int64_t stencil_round_up(int64_t repeats, int64_t unrolled) {
    return (repeats + unrolled - 1) / unrolled * unrolled;
}

/* Blocks and threads that are measured on one multiprocessor. */
enum { STENCIL_BLOCKS_MAX = 32, STENCIL_BLOCK_THREADS_MAX = 1024, STENCIL_SM_THREADS_MAX = 2048 };

/* The next shape that fits on a multiprocessor: twice the threads, or twice the blocks of least_threads
 * again. Begins behind 0 blocks; false behind the last one. */
static inline bool stencil_next_shape(int *blocks, int *threads, int most_blocks, int least_threads) {
    const bool more = *blocks > 0 && 2 * *threads <= STENCIL_BLOCK_THREADS_MAX &&
                      2 * *threads * *blocks <= STENCIL_SM_THREADS_MAX;
    *blocks = more ? *blocks : *blocks > 0 ? 2 * *blocks : 1;
    *threads = more ? 2 * *threads : least_threads;
    return *blocks <= most_blocks;
}

/* Mean and squared deviations of one of the two kernels (Welford). */
typedef struct stencil_spread {
    double count, mean, squares;
} stencil_spread;

/* What the method keeps for a row: both latencies, in the row's unit times the difference of the counts. */
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

#endif
