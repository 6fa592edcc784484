/* What every benchmark needs around its steps: things kept until it ends, the case behind each row, samples
 * of one count or two. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/method.h"

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

stencil_status stencil_bench_add(stencil_bench *b, const stencil_bench_subject *subject, const void *what,
                                 size_t size) {
    int row;
    TRY(stencil_bench_add_row(b->result, subject->kind, subject->name, subject->unit, &row));
    b->result->row[row].method = subject->method;
    for (int i = 0; i < STENCIL_BENCH_AXES_MAX && subject->axis[i].name != NULL; i++)
        stencil_bench_set_axis(b->result, row, subject->axis[i].name, subject->axis[i].number);
    struct stencil_bench_case *cases = realloc(b->cases, (size_t)(row + 1) * sizeof *cases);
    CHECK(cases != NULL, NO_MEMORY, "no memory for the results of %s", b->result->benchmark);
    b->cases = cases;
    cases[row] = (struct stencil_bench_case){.subject = *subject, .two.difference = (double)subject->more};
    TRY(stencil_bench_memory(b, &cases[row].what, size));
    if (size > 0)
        memcpy(cases[row].what, what, size);
    return STENCIL_OK;
}

stencil_status stencil_bench_state(stencil_bench *b, const stencil_bench_subject *subject, const char *format,
                                   ...) {
    va_list arguments;
    TRY(stencil_bench_add(b, subject, NULL, 0));
    stencil_bench_row *row = stencil_bench_last(b);
    va_start(arguments, format);
    vsnprintf(row->outcome, sizeof row->outcome, format, arguments);
    va_end(arguments);
    return STENCIL_OK;
}

void *stencil_bench_what(const stencil_bench *b, int row) {
    return b->cases[row].what;
}

stencil_bench_row *stencil_bench_last(const stencil_bench *b) {
    return &b->result->row[b->result->row_count - 1];
}

static stencil_status sample(void *context, int row, int64_t iterations, double *value) {
    stencil_bench *b = context;
    struct stencil_bench_case *c = &b->cases[row];
    const stencil_bench_subject *s = &c->subject;
    const int64_t count = b->calibrated ? iterations : s->count > 0 ? s->count : 1;
    double high[STENCIL_PAIRS_MAX], low[STENCIL_PAIRS_MAX];
    int pairs = 0;
    b->row = row;
    if (s->more == 0)
        return s->sample(b, c->what, count, value);
    do {
        TRY(s->sample(b, c->what, count, &low[pairs]));
        TRY(s->sample(b, c->what, count + s->more, &high[pairs]));
    } while (++pairs < s->pairs);
    *value = stencil_two_counts_add_pairs(&c->two, high, low, pairs);
    return STENCIL_OK;
}

stencil_status stencil_bench_calibrate_rows(stencil_bench *b) {
    b->calibrated = true;
    for (int i = 0; i < b->result->row_count; i++)
        if (stencil_bench_is_measured(&b->result->row[i]))
            TRY(stencil_bench_calibrate(sample, b, i, b->options->iterations, &b->result->row[i].iterations));
    return STENCIL_OK;
}

stencil_status stencil_bench_take(stencil_bench *b) {
    TRY((b->calibrated ? stencil_bench_measure : stencil_bench_measure_values)(b->result, b->options, sample,
                                                                               b));
    for (b->row = 0; b->row < b->result->row_count; b->row++) {
        const struct stencil_bench_case *c = &b->cases[b->row];
        if (!stencil_bench_is_measured(&b->result->row[b->row]))
            continue;
        if (c->subject.more > 0)
            b->result->row[b->row].method_sd = stencil_two_counts_sd(&c->two);
        if (c->subject.verify != NULL)
            TRY(c->subject.verify(b, c->what));
    }
    return STENCIL_OK;
}
