/* Benchmark `add`, a check of the timing methods (000 section 9.4; Zhang et al., A Study of Synchronization
 * Methods in Modern GPUs, Table 1): latency of a float addition by the GPU's clock, and by the CPU's clock
 * from two repeat counts. If both agree, the second may be trusted with barriers that no GPU clock sees. */
#include <math.h>
#include <stdio.h>

#include "bench/benchmarks/sm.cuh"

enum { UNROLLED = 512 };

/* Dependent additions of 1, a value unknown to the compiler, starting from 0. The additions are volatile, so
 * that they stay between the two clock reads. Sums are exact up to 2^24. */
struct float_add : stencil::sm_operation {
    float sum = 0, one;
    __device__ explicit float_add(const stencil::sm_arguments &a) : one((float)a.size) {}
    __device__ void once() {
        asm volatile("add.f32 %0, %0, %1;" : "+f"(sum) : "f"(one));
    }
    __device__ unsigned wrong(int64_t times) {
        return sum != (float)times;
    }
};

/* Differences of the two repeat counts: those of the paper's table, and LARGE, beyond all jitter of the CPU's
 * clock. BASE, the lower count, takes 30 us: a kernel that ends before the host waits is timed too long. */
enum { LARGE = 1 << 20, BASE = 1 << 14 };
static const int differences[] = {2048, 5120, 10240, 51200, LARGE};
static const double agreement = 0.02;

struct add_case {
    stencil::sm_case sm;
    bool cpu; /* timed by the CPU's clock */
    int64_t repeats;
    int pairs, launches; /* launch pairs in a sample; launches so far */
    double hz;           /* GPU clock at the beginning of the sample */
};

/* Returns the number of launch pairs in a sample. The jitter of a launch is divided by the repeats, so few
 * repeats need many pairs. */
static int pairs_of(int64_t repeats) {
    enum { MOST_AT = 2048, FEWEST = 2 };
    const int64_t pairs = (int64_t)STENCIL_PAIRS_MAX * MOST_AT / repeats;
    return pairs > STENCIL_PAIRS_MAX ? STENCIL_PAIRS_MAX : pairs < FEWEST ? FEWEST : (int)pairs;
}

/* Times a launch and the wait for its end, in cycles of the GPU clock measured at the start of the sample.
 * The results of a sample are verified after its last launch. */
static stencil_status sample_by_cpu(stencil_bench *b, void *what, int64_t repeats, double *value) {
    add_case *c = static_cast<add_case *>(what);
    const stencil::sm_timing *timing = c->sm.timing;
    if (c->launches % (2 * c->pairs) == 0)
        TRY(stencil_device_clock(b, timing->gpu.gpu, &c->hz));
    const double start_s = stencil_clock_s();
    TRY(stencil_launch(timing->gpu, c->sm.kernel, 1, 1,
                       stencil::sm_arguments{repeats, c->sm.size, timing->device}));
    TRY_CUDA(cudaDeviceSynchronize());
    *value = (stencil_clock_s() - start_s) * c->hz;
    if (++c->launches % (2 * c->pairs) != 0)
        return STENCIL_OK;
    TRY(stencil_device_read(&timing->gpu, timing->host, timing->device, sizeof *timing->host));
    CHECK(timing->host->wrong == 0, INTERNAL, "add: the sum of %lld additions is wrong", (long long)repeats);
    return STENCIL_OK;
}

static stencil_status add(stencil_bench *b, const stencil::sm_timing *timing, bool cpu, int64_t repeats) {
    const add_case c = {
        {timing, stencil::time_operation<float_add, UNROLLED>, "float add", .threads = 1, .size = 1},
        cpu,
        repeats,
        pairs_of(repeats)};
    return STENCIL_BENCH_ADD(b, c, cpu ? "CPU clock" : "GPU clock", c.sm.name, "cycles",
                             cpu ? STENCIL_METHOD_TWO_COUNTS : STENCIL_METHOD_GPU_CLOCK,
                             .sample = cpu ? sample_by_cpu : stencil::sm_sample,
                             .axis = {{"repeats", repeats}}, .count = cpu ? (int64_t)BASE : repeats,
                             .more = cpu ? repeats : 0, .pairs = c.pairs);
}

/* Returns two standard errors of the median over the median, as for normally distributed samples. */
static double doubt_of(const stencil_statistics *s) {
    return 2 * 1.2533 * s->spread / sqrt(s->count);
}

/* Returns the verdict on two latencies whose relative difference is `apart`, uncertain by `doubt`. */
static const char *verdict(double apart, double doubt) {
    if (apart <= agreement)
        return "agree";
    return apart - doubt > agreement ? "disagree" : "unclear";
}

/* Adds a statement for each repeat count: the relative difference of the latencies by both clocks. */
static stencil_status state_agreement(stencil_bench *b) {
    const int rows = b->result->row_count;
    for (int cpu = 0; cpu < rows; cpu++) {
        const add_case *c = static_cast<add_case *>(stencil_bench_what(b, cpu));
        if (!c->cpu)
            continue;
        const stencil_bench_row *row_of_cpu = &b->result->row[cpu]; /* the row of the GPU's clock precedes */
        const stencil_statistics by_cpu = row_of_cpu->statistics;   /* a copy: adding a row moves the rows */
        const double by_gpu = row_of_cpu[-1].statistics.median, apart = fabs(by_cpu.median / by_gpu - 1);
        TRY(STENCIL_BENCH_ADD(b, *c, "agreement", "float add", "cycles", .axis = {{"repeats", c->repeats}}));
        stencil_bench_row *row = stencil_bench_last(b);
        snprintf(row->outcome, sizeof row->outcome, "%s: GPU %.3f, CPU %.3f, %.2f %% apart (limit %g %%)",
                 verdict(apart, doubt_of(&by_cpu)), by_gpu, by_cpu.median, 100 * apart, 100 * agreement);
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_add(stencil_bench *b) {
    const int64_t asked = b->options->repeats;
    const int count = asked > 0 ? 1 : (int)(sizeof differences / sizeof *differences);
    stencil::sm_timing timing;
    TRY(stencil::sm_begin(b, &timing, 0));
    TRY(add(b, &timing, false, STENCIL_REPEATS));
    for (int i = 0; i < count; i++) {
        /* The user's repeats are rounded up to whole unrolled loops; the limit keeps sums exact. */
        const int64_t repeats = asked > 0 ? stencil_round_up(asked, UNROLLED) : differences[i];
        CHECK(repeats <= 8 * LARGE, USAGE, "--repeats: add makes at most %d", 8 * LARGE);
        TRY(add(b, &timing, false, repeats));
        TRY(add(b, &timing, true, repeats));
    }
    stencil_bench_note(b,
                       "Repeats: additions in the kernel (GPU clock), or that the second kernel makes more "
                       "than the first, which makes %d (CPU clock).",
                       BASE);
    stencil_bench_note(b, "Cycles by the CPU's clock: seconds times the clock that a kernel of 5 ms saw just "
                          "before. Verified: the sum of every launch looked at.");
    TRY(stencil_bench_take(b));
    return state_agreement(b);
}
