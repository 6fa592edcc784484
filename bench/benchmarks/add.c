/* The methods' own check (000 section 9.4; Zhang et al., A Study of Synchronization Methods in Modern GPUs,
 * Table 1): the latency of a float addition by the GPU's clock, and by the CPU's clock from two repeat
 * counts. Where both agree, the second method can be trusted with barriers that the first cannot see. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/benchmarks/method.h"
#include "bench/clock.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include "bench/benchmarks/add_kernels.h"

/* Differences of the two repeat counts: from the paper's table, and one that no jitter of the CPU's clock
 * reaches. BASE: the lower count, some 30 us. A kernel that is over before the host begins to wait for it
 * would be timed too long, and by how much depends on the host. */
enum { LARGE = 1 << 20, BASE = 1 << 14, CASES_MAX = 16 };
static const int differences[] = {2048, 5120, 10240, 51200, LARGE};
static const double agreement = 0.02;

typedef struct add_case {
    bool cpu; /* by the CPU's clock */
    int64_t repeats;
    stencil_two_counts two; /* in cycles */
} add_case;

typedef struct bench {
    int gpu;
    stencil_add_seen *seen; /* device */
    add_case cases[CASES_MAX];
} bench;

/* One launch, waited for. */
static stencil_status launch(const bench *b, int64_t repeats, double *time_s) {
    int64_t loops = repeats / STENCIL_ADDS_UNROLLED;
    float one = 1;
    stencil_add_seen *seen = b->seen;
    void *arguments[] = {&loops, &one, &seen};
    const dim3 single = {1, 1, 1};
    const double start_s = stencil_clock_s();
    TRY_CUDA(cudaLaunchKernel(stencil_add_kernel(), single, single, arguments, 0, NULL));
    TRY_CUDA(cudaDeviceSynchronize());
    *time_s = stencil_clock_s() - start_s;
    return STENCIL_OK;
}

/* Pairs of launches in a sample: the jitter of a launch is divided by the repeats, so few repeats need many
 * pairs. */
static int pairs_of(int64_t repeats) {
    enum { MOST_AT = 2048, FEWEST = 2 };
    const int64_t pairs = (int64_t)STENCIL_PAIRS_MAX * MOST_AT / repeats;
    return pairs > STENCIL_PAIRS_MAX ? STENCIL_PAIRS_MAX : pairs < FEWEST ? FEWEST : (int)pairs;
}

/* What the last launch saw; counting by one in float is exact up to 2^24. */
static stencil_status look(const bench *b, int64_t repeats, double *cycles) {
    stencil_add_seen seen;
    TRY_CUDA(cudaMemcpy(&seen, b->seen, sizeof seen, cudaMemcpyDeviceToHost));
    CHECK(seen.sum == (float)repeats, INTERNAL, "add: %lld additions of 1 gave %g", (long long)repeats,
          (double)seen.sum);
    *cycles = (double)seen.cycles;
    return STENCIL_OK;
}

static stencil_status sample_by_gpu(const bench *b, const add_case *c, double *value) {
    double time_s;
    TRY(launch(b, c->repeats, &time_s));
    TRY(look(b, c->repeats, value));
    *value /= (double)c->repeats;
    return STENCIL_OK;
}

static stencil_status sample_by_cpu(const bench *b, add_case *c, double *value) {
    double hz, cycles, high[STENCIL_PAIRS_MAX], low[STENCIL_PAIRS_MAX];
    const int pairs = pairs_of(c->repeats);
    TRY(stencil_clock_seen(STENCIL_BACKEND_GPU, b->gpu, &hz));
    for (int i = 0; i < pairs; i++) {
        TRY(launch(b, BASE, &low[i]));
        TRY(launch(b, BASE + c->repeats, &high[i]));
        low[i] *= hz;
        high[i] *= hz;
    }
    TRY(look(b, BASE + c->repeats, &cycles));
    *value = stencil_two_counts_add_pairs(&c->two, high, low, pairs);
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    add_case *c = &b->cases[row];
    return c->cpu ? sample_by_cpu(b, c, value) : sample_by_gpu(b, c, value);
}

static stencil_status add_case_row(bench *b, stencil_bench_result *result, bool cpu, int64_t repeats) {
    int row;
    TRY(stencil_bench_add_row(result, cpu ? "CPU clock" : "GPU clock", "float add", "cycles", &row));
    stencil_bench_set_axis(result, row, "repeats", repeats);
    result->row[row].method = cpu ? STENCIL_METHOD_TWO_COUNTS : STENCIL_METHOD_GPU_CLOCK;
    b->cases[row] = (add_case){.cpu = cpu, .repeats = repeats, .two.difference = (double)repeats};
    return STENCIL_OK;
}

/* How sure the median of a row is, as a part of it: two standard errors of the median of so many samples from
 * a normal distribution as wide as they are. */
static double doubt_of(const stencil_statistics *s) {
    return 2 * 1.2533 * s->spread / sqrt(s->count);
}

/* What two latencies that lie `apart` of each other say, as far as the second one is known. */
static const char *verdict(double apart, double doubt) {
    if (apart <= agreement)
        return "agree";
    return apart - doubt > agreement ? "disagree" : "unclear";
}

/* States how far apart the two rows of each difference are. */
static stencil_status state_agreement(const bench *b, stencil_bench_result *result) {
    const int rows = result->row_count;
    for (int cpu = 0; cpu < rows; cpu++) {
        if (!b->cases[cpu].cpu)
            continue;
        const int gpu = cpu - 1; /* added just before */
        int row;
        TRY(stencil_bench_add_row(result, "agreement", "float add", "cycles", &row));
        stencil_bench_set_axis(result, row, "repeats", b->cases[cpu].repeats);
        const double by_cpu = result->row[cpu].statistics.median, by_gpu = result->row[gpu].statistics.median,
                     apart = fabs(by_cpu / by_gpu - 1);
        stencil_bench_row *r = &result->row[row];
        snprintf(r->outcome, sizeof r->outcome, "%s: GPU %.3f, CPU %.3f, %.2f %% apart (limit %g %%)",
                 verdict(apart, doubt_of(&result->row[cpu].statistics)), by_gpu, by_cpu, 100 * apart,
                 100 * agreement);
    }
    return STENCIL_OK;
}

static stencil_status measure(bench *b, const stencil_bench_options *options, stencil_bench_result *result) {
    TRY_CUDA(cudaSetDevice(options->gpu[0]));
    TRY_CUDA(cudaMalloc((void **)&b->seen, sizeof *b->seen));
    TRY(add_case_row(b, result, false, STENCIL_REPEATS));
    const int count = options->repeats > 0 ? 1 : (int)(sizeof differences / sizeof *differences);
    for (int i = 0; i < count; i++) {
        int64_t repeats = differences[i];
        if (options->repeats > 0) /* what is unrolled, rounded up; counting by one stays exact */
            repeats = (options->repeats + STENCIL_ADDS_UNROLLED - 1) / STENCIL_ADDS_UNROLLED *
                      STENCIL_ADDS_UNROLLED;
        CHECK(repeats <= 8 * LARGE, USAGE, "--repeats: add makes at most %d", 8 * LARGE);
        TRY(add_case_row(b, result, false, repeats));
        TRY(add_case_row(b, result, true, repeats));
    }
    TRY(stencil_bench_measure_values(result, options, sample, b));
    for (int row = 0; row < result->row_count; row++)
        if (b->cases[row].cpu)
            result->row[row].method_sd = stencil_two_counts_sd(&b->cases[row].two);
    TRY(state_agreement(b, result));
    stencil_bench_add_note(result,
                           "Repeats: additions in the kernel (GPU clock), or that the second kernel "
                           "makes more than the first, which makes %d (CPU clock).",
                           BASE);
    stencil_bench_add_note(result, "Cycles by the CPU's clock: seconds times the clock that a kernel of 5 ms "
                                   "saw just before. Verified: the sum of every launch looked at.");
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    (void)machine;
    bench b = {.gpu = options->gpu[0]};
    const stencil_status status = measure(&b, options, result);
    cudaFree(b.seen);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_add = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};
