#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const stencil_verdict_names[STENCIL_VERDICT_COUNT] = {"same",    "faster", "slower", "unclear",
                                                                  "changed", "new",    "gone"};

/* Tells whether two rows have the same axes and positions, in any order. */
static bool same_place(const stencil_bench_row *a, const stencil_bench_row *b) {
    bool same = a->axis_count == b->axis_count;
    for (int i = 0; i < a->axis_count && same; i++) {
        int64_t number;
        same = stencil_bench_axis(b, a->axis[i].name, &number) && number == a->axis[i].number;
    }
    return same;
}

static const stencil_bench_row *find_row(const stencil_bench_result *result, const stencil_bench_row *row) {
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *other = &result->row[i];
        if (strcmp(other->kind, row->kind) == 0 && strcmp(other->name, row->name) == 0 &&
            strcmp(other->unit, row->unit) == 0 && same_place(other, row))
            return other;
    }
    return NULL;
}

static bool is_there(const stencil_bench_row *row) {
    return row != NULL && (row->sample_count > 0 || row->outcome[0] != '\0');
}

static stencil_verdict judge(const stencil_shift *shift, bool higher_is_better, double margin) {
    const double low = higher_is_better ? 1 / shift->high : shift->low;
    const double high = higher_is_better ? 1 / shift->low : shift->high;
    if (low > 1 + margin)
        return STENCIL_VERDICT_SLOWER;
    if (high < 1 / (1 + margin))
        return STENCIL_VERDICT_FASTER;
    if (low >= 1 / (1 + margin) && high <= 1 + margin)
        return STENCIL_VERDICT_SAME;
    return STENCIL_VERDICT_UNCLEAR;
}

/* Tells whether two outcomes agree up to a colon; measured numbers follow the colon. */
static bool same_outcome(const char *a, const char *b) {
    const size_t length = strcspn(a, ":");
    return length == strcspn(b, ":") && strncmp(a, b, length) == 0;
}

static stencil_status compare_rows(stencil_comparison *c, double margin) {
    const stencil_bench_row *then = c->then, *now = c->now;
    c->shift.ratio = NAN;
    if (!is_there(then) || !is_there(now))
        c->verdict = is_there(now) ? STENCIL_VERDICT_NEW : STENCIL_VERDICT_GONE;
    else if (then->outcome[0] != '\0' || now->outcome[0] != '\0')
        c->verdict =
            same_outcome(then->outcome, now->outcome) ? STENCIL_VERDICT_SAME : STENCIL_VERDICT_CHANGED;
    else {
        TRY(stencil_shift_of(then->sample, (int)then->sample_count, now->sample, (int)now->sample_count,
                             &c->shift));
        c->verdict = judge(&c->shift, now->higher_is_better, margin);
    }
    return STENCIL_OK;
}

void stencil_bench_check_comparable(const stencil_bench_result *then, const stencil_bench_result *now,
                                    char why[192]) {
    why[0] = '\0';
    if (then->failed[0] != '\0' || now->failed[0] != '\0')
        snprintf(why, 192, "it failed %s", now->failed[0] != '\0' ? "now" : "then");
    else if (then->skipped[0] != '\0' || now->skipped[0] != '\0')
        snprintf(why, 192, "it was skipped %s", now->skipped[0] != '\0' ? "now" : "then");
    else if (then->backend != now->backend)
        snprintf(why, 192, "it was measured on a %s then",
                 then->backend == STENCIL_BACKEND_GPU ? "GPU" : "CPU");
    for (int i = 0; i < now->parameter_count && why[0] == '\0'; i++)
        for (int k = 0; k < then->parameter_count; k++) {
            const stencil_bench_parameter *a = &now->parameter[i], *b = &then->parameter[k];
            if (strcmp(a->name, b->name) != 0 || (a->number == b->number && strcmp(a->text, b->text) == 0))
                continue;
            if (a->text[0] != '\0' || b->text[0] != '\0')
                snprintf(why, 192, "%s is %s, was %s", a->name, a->text, b->text);
            else
                snprintf(why, 192, "%s is %lld, was %lld", a->name, (long long)a->number,
                         (long long)b->number);
        }
}

stencil_status stencil_bench_compare(const stencil_bench_result *then, const stencil_bench_result *now,
                                     double margin, stencil_comparison **comparison, int *count,
                                     char why[192]) {
    *count = 0;
    *comparison = calloc((size_t)(then->row_count + now->row_count + 1), sizeof **comparison);
    CHECK(*comparison != NULL, NO_MEMORY, "no memory to compare two results");
    stencil_bench_check_comparable(then, now, why);
    if (why[0] != '\0')
        return STENCIL_OK;
    for (int i = 0; i < now->row_count + then->row_count; i++) {
        const bool is_old = i >= now->row_count; /* rows of `then` that `now` lacks */
        const stencil_bench_row *row = is_old ? &then->row[i - now->row_count] : &now->row[i];
        stencil_comparison c = {.now = is_old ? NULL : row, .then = is_old ? row : find_row(then, row)};
        if ((!is_there(c.now) && !is_there(c.then)) || (is_old && find_row(now, row) != NULL))
            continue;
        TRY(compare_rows(&c, margin));
        (*comparison)[(*count)++] = c;
    }
    return STENCIL_OK;
}
