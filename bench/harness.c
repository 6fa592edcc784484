/* Framework of benchmarks: resources to release, cases of rows, calibration, and sampling in turns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "bench/benchmark.h"

struct stencil_bench_case {
    stencil_bench_subject subject;
    stencil_two_counts two;
    void *what;
};

struct stencil_bench_kept {
    void (*release)(void *);
    void *thing;
};

void stencil_bench_end(stencil_bench *b) {
    for (int memory = 0; memory < 2 && !b->abandoned; memory++)
        for (int i = 0; i < b->kept_count; i++)
            if ((b->kept[i].release == free) == memory)
                b->kept[i].release(b->kept[i].thing);
    free(b->kept);
    free(b->cases);
    *b = (stencil_bench){0};
}

stencil_status stencil_bench_keep(stencil_bench *b, void (*release)(void *), void *thing) {
    struct stencil_bench_kept *kept = realloc(b->kept, (size_t)(b->kept_count + 1) * sizeof *kept);
    if (kept == NULL) {
        release(thing);
        FAIL(NO_MEMORY, "no memory for a benchmark");
    }
    b->kept = kept;
    kept[b->kept_count++] = (struct stencil_bench_kept){release, thing};
    return STENCIL_OK;
}

stencil_status stencil_bench_memory(stencil_bench *b, void *to, size_t bytes) {
    void *memory = calloc(1, bytes + 1);
    CHECK(memory != NULL, NO_MEMORY, "no memory for a benchmark");
    memcpy(to, &memory, sizeof memory);
    return stencil_bench_keep(b, free, memory);
}

static bool is_rate(const char *unit) {
    const char *per = strchr(unit, '/');
    return per != NULL && (strcmp(per, "/s") == 0 || strcmp(per, "/cycle") == 0);
}

stencil_status stencil_bench_add(stencil_bench *b, const stencil_bench_subject *subject, const void *what,
                                 size_t size) {
    stencil_bench_result *result = b->result;
    const size_t count = (size_t)result->row_count + 1;
    stencil_bench_row *rows = realloc(result->row, count * sizeof *rows);
    result->row = rows != NULL ? rows : result->row;
    struct stencil_bench_case *cases = realloc(b->cases, count * sizeof *cases);
    b->cases = cases != NULL ? cases : b->cases;
    CHECK(rows != NULL && cases != NULL, NO_MEMORY, "no memory for the results of %s", result->benchmark);
    stencil_bench_row *row = &rows[result->row_count];
    struct stencil_bench_case *c = &cases[result->row_count++];
    *row = (stencil_bench_row){.kind = subject->kind,
                               .unit = subject->unit,
                               .method = subject->method,
                               .higher_is_better = is_rate(subject->unit),
                               .iterations = 1};
    row->ratio = row->method_sd = row->predicted = row->sync_share = row->of_fastest = row->sync_measured =
        NAN;
    row->speedup = row->workers = row->t_o = row->t_c = row->t_s = NAN;
    row->kernels_s = row->skew_s = row->timer_error_s = NAN;
    snprintf(row->name, sizeof row->name, "%s", subject->name);
    snprintf(row->skipped, sizeof row->skipped, "%s", subject->skipped != NULL ? subject->skipped : "");
    for (int i = 0; i < STENCIL_BENCH_AXES_MAX; i++)
        if (subject->axis[i].name != NULL)
            row->axis[row->axis_count++] = subject->axis[i];
    *c = (struct stencil_bench_case){.subject = *subject, .two.difference = (double)subject->more};
    TRY(stencil_bench_memory(b, &c->what, size));
    if (size > 0)
        memcpy(c->what, what, size);
    return STENCIL_OK;
}

void *stencil_bench_what(const stencil_bench *b, int row) {
    return b->cases[row].what;
}

stencil_bench_row *stencil_bench_last(const stencil_bench *b) {
    return &b->result->row[b->result->row_count - 1];
}

/* Seconds of a calibrated sample, long against start-up costs and short for many samples; least fraction. */
static const double sample_usual_s = 0.1, sample_least = 0.3;

/* Sampling ends with less than LEAST samples of a row only after `slack` time-outs and slack_least_s. */
static const double slack = 4, slack_least_s = 1;

enum { ITERATIONS_MAX = 100000000, GROWTH_MAX = 64 };

/* Tells whether a row is neither skipped nor a statement. */
static bool is_measured(const stencil_bench_row *row) {
    return row->skipped[0] == '\0' && row->outcome[0] == '\0';
}

static stencil_status check_wanted(const stencil_bench *b) {
    return stencil_bench_check_wanted(b->options, b->result->benchmark);
}

/* Samples b->row: sets *value to the seconds of `iterations` iterations, or to a value in the row's unit. */
static stencil_status sample(stencil_bench *b, int64_t iterations, double *value) {
    struct stencil_bench_case *c = &b->cases[b->row];
    const stencil_bench_subject *s = &c->subject;
    const int64_t count = s->count > 0 ? s->count : iterations;
    double high[STENCIL_PAIRS_MAX], low[STENCIL_PAIRS_MAX];
    int pairs = 0;
    TRY(check_wanted(b));
    if (s->more == 0)
        return s->sample(b, c->what, count, value);
    do {
        TRY(s->sample(b, c->what, count, &low[pairs]));
        TRY(s->sample(b, c->what, count + s->more, &high[pairs]));
    } while (++pairs < s->pairs);
    *value = stencil_two_counts_add_pairs(&c->two, high, low, pairs);
    return STENCIL_OK;
}

/* Sets the iterations of a sample of b->row: as given in the options, or as many as last the seconds of the
 * subject, at least 0.3 of them. The first sample warms up: page faults, kernel loading, clocks. */
static stencil_status calibrate(stencil_bench *b, int64_t *iterations) {
    const stencil_bench_subject *s = &b->cases[b->row].subject;
    const int64_t asked = b->options->iterations;
    const double wanted_s = s->sample_s > 0 ? s->sample_s : sample_usual_s;
    double time_s;
    TRY(sample(b, 1, &time_s));
    *iterations = asked > 0 ? asked : 1;
    while (asked == 0 && s->sample_s >= 0) {
        TRY(sample(b, *iterations, &time_s));
        const double factor = time_s > 0 ? wanted_s / time_s : GROWTH_MAX;
        if (*iterations >= ITERATIONS_MAX || factor <= 1 ||
            (*iterations > 1 && time_s >= sample_least * wanted_s))
            break;
        *iterations = (int64_t)ceil((double)*iterations * fmin(factor, GROWTH_MAX));
    }
    *iterations = asked == 0 && *iterations < s->least ? s->least : *iterations;
    if (s->shared != NULL && *s->shared < *iterations)
        *s->shared = *iterations;
    return STENCIL_OK;
}

static stencil_status calibrate_rows(stencil_bench *b) {
    stencil_bench_row *const row = b->result->row;
    for (b->row = b->taken; b->row < b->result->row_count; b->row++)
        if (is_measured(&row[b->row]) && b->cases[b->row].subject.count == 0)
            TRY(calibrate(b, &row[b->row].iterations));
    for (int i = b->taken; i < b->result->row_count; i++)
        if (b->cases[i].subject.shared != NULL)
            row[i].iterations = *b->cases[i].subject.shared;
    b->calibrated = true;
    return STENCIL_OK;
}

static void show_progress(const stencil_bench *b) {
    const stencil_bench_row *row = &b->result->row[b->row];
    char what[192];
    snprintf(what, sizeof what, "%s: %s", b->result->benchmark, row->name);
    for (int i = 0; i < row->axis_count; i++)
        stencil_text_add(what, sizeof what, ", %.24s %lld", row->axis[i].name,
                         (long long)row->axis[i].number);
    stencil_text_add(what, sizeof what, ", sample %lld", (long long)row->sample_count + 1);
    if (b->options->progress != NULL)
        b->options->progress(what);
}

/* Takes a sample of b->row and stores it in the row, or drops it as a warm-up where `keep` is false. */
static stencil_status take_sample(stencil_bench *b, bool keep) {
    stencil_bench_row *row = &b->result->row[b->row];
    double value = 0;
    show_progress(b);
    TRY(sample(b, row->iterations, &value));
    if (!is_measured(row) || !keep)
        return STENCIL_OK; /* the sampler may have skipped or stated the row */
    CHECK(isfinite(value), INTERNAL, "%s: a sample of %s is not a number", b->result->benchmark, row->name);
    double *samples = realloc(row->sample, (size_t)(row->sample_count + 1) * sizeof *samples);
    CHECK(samples != NULL, NO_MEMORY, "no memory for the samples of %s", row->name);
    row->sample = samples;
    samples[row->sample_count++] =
        b->cases[b->row].subject.count > 0 ? value : value / (double)row->iterations;
    return STENCIL_OK;
}

/* States row b->stated in the child process started for this row. */
static stencil_status state_here(stencil_bench *b) {
    b->row = b->stated - 1;
    CHECK(b->row >= 0 && b->row < b->result->row_count && b->cases[b->row].subject.state != NULL, USAGE,
          "%s has no row %d to state", b->result->benchmark, b->stated);
    return b->cases[b->row].subject.state(b, b->cases[b->row].what);
}

static stencil_status state_in_child(stencil_bench *b, const stencil_bench_subject *subject) {
    stencil_bench_row *row = &b->result->row[b->row];
    stencil_bench_result answer = {0};
    bool timed_out;
    TRY(check_wanted(b));
    show_progress(b);
    const stencil_status status =
        stencil_bench_in_child(b, b->result->benchmark, b->row + 1, subject->limit_s, &answer, &timed_out);
    const bool stated =
        status == STENCIL_OK && b->row < answer.row_count && answer.row[b->row].outcome[0] != '\0';
    char outcome[sizeof row->outcome];
    const stencil_bench_lanes lanes =
        stated ? answer.row[b->row].lanes : (stencil_bench_lanes){.known = false};
    snprintf(outcome, sizeof outcome, "%s",
             timed_out ? "deadlocks"
             : stated  ? answer.row[b->row].outcome
                       : "ends its process");
    stencil_bench_result_destroy(&answer);
    TRY(check_wanted(b)); /* the end of an interrupted process gives no outcome */
    memcpy(row->outcome, outcome, sizeof outcome);
    row->lanes = lanes;
    return subject->may_end_process ? STENCIL_OK : status;
}

/* Sets the row's statistics and tells whether the spread of its samples is at most max_noise. */
static bool is_quiet(const stencil_bench *b, stencil_bench_row *row, double *scratch) {
    row->statistics = stencil_statistics_of(row->sample, (int)row->sample_count, scratch);
    return row->statistics.spread <= b->options->max_noise; /* false for NaN */
}

static bool is_done(const stencil_bench *b, stencil_bench_row *row, int64_t most, double *scratch) {
    if (!is_measured(row) || row->sample_count >= most)
        return true;
    return b->options->samples == 0 && row->sample_count >= STENCIL_BENCH_SETTLE && is_quiet(b, row, scratch);
}

/* Tells whether sampling must end for lack of time. Iteration `round` over the rows samples each unfinished
 * row once, so all of them have at least `round` samples. */
static bool is_over(const stencil_bench *b, double start_s, int64_t round) {
    const double time_s = stencil_clock_s() - start_s, timeout_s = b->options->timeout_s;
    const double most_s = fmax(slack * timeout_s, slack_least_s);
    return time_s > (round >= STENCIL_BENCH_LEAST ? timeout_s : most_s) && round > 0;
}

static stencil_status take_rounds(stencil_bench *b, int64_t most, double *scratch) {
    const double start_s = stencil_clock_s();
    const int rows = b->result->row_count - b->taken;
    bool more = true;
    for (int64_t round = 0; more; round++) {
        more = false;
        for (int i = 0; i < rows; i++) {
            b->row = b->taken + (int)((i + round) % rows);
            if (is_done(b, &b->result->row[b->row], most, scratch))
                continue;
            if (is_over(b, start_s, round))
                return STENCIL_OK;
            TRY(take_sample(b, true));
            more = true;
        }
    }
    return STENCIL_OK;
}

/* Marks rows without samples as skipped after an interruption. */
static void skip_rest(stencil_bench *b) {
    for (int i = b->taken; i < b->result->row_count; i++) {
        stencil_bench_row *row = &b->result->row[i];
        if (is_measured(row) && row->sample_count == 0)
            snprintf(row->skipped, sizeof row->skipped, STENCIL_BENCH_NOT_REACHED);
    }
}

stencil_status stencil_bench_take_planted(stencil_bench *b) {
    stencil_error first = {0};
    for (b->row = b->taken; b->row < b->result->row_count; b->row++) {
        stencil_bench_row *row = &b->result->row[b->row];
        double value;
        if (!is_measured(row))
            continue;
        const stencil_status status = sample(b, 1, &value);
        if (status == STENCIL_INTERRUPTED)
            skip_rest(b);
        if (status != STENCIL_OK && status != STENCIL_INTERNAL)
            return status;
        snprintf(row->outcome, sizeof row->outcome, "%s",
                 status == STENCIL_OK ? "the planted fault was not found" : "finds the planted fault");
        CHECK(status != STENCIL_OK, INTERNAL, "%s, %s: the planted fault was not found", b->result->benchmark,
              row->name);
        if (first.message[0] == '\0')
            first = *stencil_error_last();
    }
    b->taken = b->result->row_count;
    return first.message[0] != '\0' ? stencil_error_adopt(&first) : STENCIL_OK;
}

static stencil_status take_all(stencil_bench *b, int64_t most, double *scratch) {
    stencil_bench_row *const row = b->result->row;
    for (b->row = b->taken; b->row < b->result->row_count; b->row++)
        if (b->cases[b->row].subject.state != NULL && is_measured(&row[b->row]))
            TRY(state_in_child(b, &b->cases[b->row].subject));
    if (!b->calibrated)
        TRY(calibrate_rows(b));
    for (b->row = b->taken; b->row < b->result->row_count; b->row++)
        if (is_measured(&row[b->row]) && b->cases[b->row].subject.count > 0)
            TRY(take_sample(b, false));
    return take_rounds(b, most, scratch);
}

/* Verifies b->row by its function or by sampling with b->verifying set. */
static stencil_status verify(stencil_bench *b, const struct stencil_bench_case *c) {
    double dropped;
    if (c->subject.verify != NULL)
        return c->subject.verify(b, c->what);
    b->verifying = c->subject.verified > 0;
    const stencil_status status =
        b->verifying ? c->subject.sample(b, c->what, c->subject.verified, &dropped) : STENCIL_OK;
    b->verifying = false;
    return status;
}

stencil_status stencil_bench_take(stencil_bench *b) {
    const int64_t asked = b->options->samples, most = asked > 0 ? asked : STENCIL_BENCH_AUTO_MAX;
    stencil_bench_row *const row = b->result->row;
    double *scratch;
    if (b->stated > 0)
        return state_here(b);
    TRY(stencil_bench_memory(b, &scratch, (size_t)most * sizeof *scratch));
    const stencil_status taken = take_all(b, most, scratch);
    if (taken != STENCIL_OK && taken != STENCIL_INTERRUPTED)
        return taken;
    const stencil_error interrupted = taken != STENCIL_OK ? *stencil_error_last() : (stencil_error){0};
    if (taken == STENCIL_INTERRUPTED)
        skip_rest(b);
    for (b->row = b->taken; b->row < b->result->row_count; b->row++) {
        if (!is_measured(&row[b->row]))
            row[b->row].sample_count = 0;
        if (row[b->row].sample_count > 0)
            row[b->row].noisy = !is_quiet(b, &row[b->row], scratch);
    }
    stencil_bench_fill_ratios(b->result, b->taken);
    for (b->row = b->taken; b->row < b->result->row_count; b->row++) {
        const struct stencil_bench_case *c = &b->cases[b->row];
        if (!is_measured(&row[b->row]))
            continue;
        if (c->subject.more > 0)
            row[b->row].method_sd = stencil_two_counts_sd(&c->two);
        TRY(verify(b, c));
    }
    b->taken = b->result->row_count;
    b->calibrated = false;
    return taken != STENCIL_OK ? stencil_error_adopt(&interrupted) : STENCIL_OK;
}
