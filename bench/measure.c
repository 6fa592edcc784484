/* Sampling: how long a sample is, and in which order they are taken. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmark.h"

/* Long enough for the clock and for what one iteration of a sample costs extra, short enough for many
 * samples. */
static const double sample_least_s = 0.05, sample_target_s = 0.4;

enum { ITERATIONS_MAX = 100000000, GROWTH_MAX = 64 };

stencil_status stencil_bench_calibrate(stencil_bench_sampler sampler, void *context, int row, int64_t asked,
                                       int64_t *iterations) {
    double time_s;
    TRY(sampler(context, row, 1, &time_s)); /* cold: page faults, kernel loading, clocks */
    *iterations = asked > 0 ? asked : 1;
    while (asked == 0) {
        TRY(sampler(context, row, *iterations, &time_s));
        const double factor = time_s > 0 ? sample_target_s / time_s : GROWTH_MAX;
        if (*iterations >= ITERATIONS_MAX || factor <= 1 || (*iterations > 1 && time_s >= sample_least_s))
            break;
        *iterations = (int64_t)ceil((double)*iterations * fmin(factor, GROWTH_MAX));
    }
    return STENCIL_OK;
}

static stencil_status reserve(stencil_bench_result *result, int64_t samples) {
    for (int i = 0; i < result->row_count; i++) {
        stencil_bench_row *row = &result->row[i];
        if (row->skipped[0] != '\0')
            continue;
        row->sample = calloc((size_t)samples, sizeof *row->sample);
        CHECK(row->sample != NULL, NO_MEMORY, "no memory for the samples of %s", result->benchmark);
    }
    return STENCIL_OK;
}

static stencil_status sample_row(stencil_bench_result *result, const stencil_bench_options *options,
                                 int index, int64_t round, stencil_bench_sampler sampler, void *context) {
    stencil_bench_row *row = &result->row[index];
    char what[128];
    snprintf(what, sizeof what, "%s: %s, sample %lld of %lld", result->benchmark, row->name,
             (long long)round + 1, (long long)options->samples);
    if (options->progress != NULL)
        options->progress(options->context, what);
    double time_s = 0;
    TRY(sampler(context, index, row->iterations, &time_s));
    row->sample[row->sample_count++] = time_s / (double)row->iterations;
    return STENCIL_OK;
}

static stencil_status fill_statistics(stencil_bench_result *result, int64_t samples) {
    double *scratch = malloc((size_t)samples * sizeof *scratch);
    CHECK(scratch != NULL, NO_MEMORY, "no memory for the samples of %s", result->benchmark);
    for (int i = 0; i < result->row_count; i++) {
        stencil_bench_row *row = &result->row[i];
        if (row->sample_count > 0)
            row->statistics = stencil_statistics_of(row->sample, (int)row->sample_count, scratch);
    }
    free(scratch);
    return STENCIL_OK;
}

void stencil_bench_fill_ratios(stencil_bench_result *result) {
    double best = 0;
    for (int i = 0; i < result->row_count; i++)
        if (strcmp(result->row[i].kind, "copy") == 0)
            best = fmax(best, stencil_bench_bytes_per_s(&result->row[i]));
    for (int i = 0; i < result->row_count; i++) {
        const double rate = stencil_bench_bytes_per_s(&result->row[i]);
        result->row[i].ratio = best > 0 && rate > 0 ? rate / best : NAN;
    }
}

stencil_status stencil_bench_measure(stencil_bench_result *result, const stencil_bench_options *options,
                                     stencil_bench_sampler sampler, void *context) {
    TRY(reserve(result, options->samples));
    const double start_s = stencil_clock_s();
    for (int64_t round = 0; round < options->samples; round++) {
        if (round >= STENCIL_BENCH_SAMPLES_LEAST && stencil_clock_s() - start_s > options->max_s)
            break;
        for (int i = 0; i < result->row_count; i++) {
            const int index = (int)((i + round) % result->row_count);
            if (result->row[index].skipped[0] == '\0')
                TRY(sample_row(result, options, index, round, sampler, context));
        }
    }
    TRY(fill_statistics(result, options->samples));
    stencil_bench_fill_ratios(result);
    return STENCIL_OK;
}
