/* Sampling: how long a sample is, in which order they are taken, and when there are enough. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmark.h"

/* Long enough for the clock and for what one iteration of a sample costs extra, short enough for many
 * samples. */
static const double sample_least_s = 0.03, sample_target_s = 0.1;

/* Where even LEAST samples take so many time-outs, and this time, one of each row has to do. */
static const double patience = 4, patience_least_s = 1;

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

/* A measurement under way. */
typedef struct sampling {
    stencil_bench_result *result;
    const stencil_bench_options *options;
    stencil_bench_sampler sampler;
    bool values; /* the sampler gives them, in place of times */
    void *context;
    double start_s;
    double *scratch; /* [most] */
    int64_t most;    /* samples of a row */
} sampling;

bool stencil_bench_is_measured(const stencil_bench_row *row) {
    return row->skipped[0] == '\0' && row->outcome[0] == '\0';
}

static stencil_status take(sampling *s, int index, double *value) {
    const stencil_bench_row *row = &s->result->row[index];
    TRY(s->sampler(s->context, index, row->iterations, value));
    if (!s->values)
        *value /= (double)row->iterations;
    return STENCIL_OK;
}

static void show_progress(const sampling *s, int index) {
    const stencil_bench_row *row = &s->result->row[index];
    char what[192];
    int used = snprintf(what, sizeof what, "%s: %s", s->result->benchmark, row->name);
    for (int i = 0; i < row->axis_count; i++)
        used += snprintf(what + used, sizeof what - (size_t)used, ", %.24s %lld", row->axis[i].name,
                         (long long)row->axis[i].number);
    snprintf(what + used, sizeof what - (size_t)used, ", sample %lld", (long long)row->sample_count + 1);
    if (s->options->progress != NULL)
        s->options->progress(s->options->context, what);
}

static stencil_status sample_row(sampling *s, int index) {
    stencil_bench_row *row = &s->result->row[index];
    double value = 0;
    show_progress(s, index);
    TRY(take(s, index, &value));
    if (!stencil_bench_is_measured(row))
        return STENCIL_OK; /* the sampler found out that it cannot be */
    CHECK(isfinite(value), INTERNAL, "%s: a sample of %s is not a number", s->result->benchmark, row->name);
    double *samples = realloc(row->sample, (size_t)(row->sample_count + 1) * sizeof *samples);
    CHECK(samples != NULL, NO_MEMORY, "no memory for the samples of %s", row->name);
    row->sample = samples;
    samples[row->sample_count++] = value;
    return STENCIL_OK;
}

static bool is_quiet(const sampling *s, const stencil_bench_row *row) {
    const stencil_statistics statistics =
        stencil_statistics_of(row->sample, (int)row->sample_count, s->scratch);
    return statistics.spread <= s->options->max_noise; /* NaN: no */
}

static bool is_done(const sampling *s, const stencil_bench_row *row) {
    if (!stencil_bench_is_measured(row) || row->sample_count >= s->most)
        return true;
    return s->options->samples == 0 && row->sample_count >= STENCIL_BENCH_SETTLE && is_quiet(s, row);
}

/* A round takes one sample of every row that is not done, so after `round` rounds all have as many. */
static bool is_over(const sampling *s, int64_t round) {
    const double time_s = stencil_clock_s() - s->start_s;
    const double most_s = fmax(patience * s->options->timeout_s, patience_least_s);
    return time_s > (round >= STENCIL_BENCH_LEAST ? s->options->timeout_s : most_s) && round > 0;
}

static stencil_status take_rounds(sampling *s) {
    const int rows = s->result->row_count;
    bool more = true;
    for (int64_t round = 0; more; round++) {
        more = false;
        for (int i = 0; i < rows; i++) {
            const int index = (int)((i + round) % rows);
            if (is_done(s, &s->result->row[index]))
                continue;
            if (is_over(s, round))
                return STENCIL_OK;
            TRY(sample_row(s, index));
            more = true;
        }
    }
    return STENCIL_OK;
}

static void fill_statistics(const sampling *s) {
    for (int i = 0; i < s->result->row_count; i++) {
        stencil_bench_row *row = &s->result->row[i];
        if (!stencil_bench_is_measured(row))
            row->sample_count = 0;
        if (row->sample_count == 0)
            continue;
        row->statistics = stencil_statistics_of(row->sample, (int)row->sample_count, s->scratch);
        row->noisy = !(row->statistics.spread <= s->options->max_noise);
    }
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

static stencil_status measure(sampling *s) {
    s->start_s = stencil_clock_s();
    s->most = s->options->samples > 0 ? s->options->samples : STENCIL_BENCH_AUTO_MAX;
    s->scratch = malloc((size_t)s->most * sizeof *s->scratch);
    CHECK(s->scratch != NULL, NO_MEMORY, "no memory for the samples of %s", s->result->benchmark);
    const stencil_status status = take_rounds(s);
    if (status == STENCIL_OK) {
        fill_statistics(s);
        stencil_bench_fill_ratios(s->result);
    }
    free(s->scratch);
    return status;
}

stencil_status stencil_bench_measure(stencil_bench_result *result, const stencil_bench_options *options,
                                     stencil_bench_sampler sampler, void *context) {
    sampling s = {.result = result, .options = options, .sampler = sampler, .context = context};
    return measure(&s);
}

stencil_status stencil_bench_measure_values(stencil_bench_result *result,
                                            const stencil_bench_options *options,
                                            stencil_bench_sampler sampler, void *context) {
    sampling s = {
        .result = result, .options = options, .sampler = sampler, .values = true, .context = context};
    double dropped;
    for (int i = 0; i < result->row_count; i++)
        if (stencil_bench_is_measured(&result->row[i])) {
            show_progress(&s, i);
            TRY(take(&s, i, &dropped));
        }
    return measure(&s);
}
