#include <math.h>
#include <string.h>

#include "base/words.h"
#include "bench/bench.h"

/* Relative difference below which two predicted times count as equal. */
static const double apart = 0.01;

static double time_of(const stencil_ranking *r, const stencil_bench_row *row) {
    return r->predicted ? row->predicted : row->statistics.median;
}

/* Tells whether a row has samples, kind and axis of the ranking; sets *place to its position on the axis. */
static bool is_ranked(const stencil_ranking *r, const stencil_bench_row *row, int64_t *place) {
    return row->sample_count > 0 && (r->kind == NULL || strcmp(row->kind, r->kind) == 0) &&
           stencil_bench_axis(row, r->axis, place);
}

/* Returns the measured row with a name (NULL: the fastest) at a position of the axis; NULL: no such row. */
static const stencil_bench_row *row_at(const stencil_ranking *r, const char *name, int64_t place) {
    const stencil_bench_row *found = NULL;
    for (const stencil_bench_row *row = r->result->row; row < r->result->row + r->result->row_count; row++) {
        int64_t here;
        if (is_ranked(r, row, &here) && here == place && (name == NULL || strcmp(row->name, name) == 0) &&
            (found == NULL || time_of(r, row) < time_of(r, found)))
            found = row;
    }
    return found;
}

/* Returns the next larger measured position on the axis; `place` itself at the last position. */
static int64_t next_place(const stencil_ranking *r, int64_t place) {
    int64_t next = INT64_MAX, here;
    for (const stencil_bench_row *row = r->result->row; row < r->result->row + r->result->row_count; row++)
        if (is_ranked(r, row, &here) && here > place && here < next)
            next = here;
    return next < INT64_MAX ? next : place;
}

/* Tells whether the row with a name is within the noise of the fastest row at a position of the axis. */
static bool is_as_fast(const stencil_ranking *r, const char *name, int64_t place) {
    const stencil_bench_row *row = row_at(r, name, place), *best = row_at(r, NULL, place);
    if (row == NULL || row == best)
        return row != NULL;
    const double noise = r->predicted ? apart : hypot(row->statistics.spread, best->statistics.spread);
    return time_of(r, row) <= time_of(r, best) * (1 + (noise > 0 ? noise : 0)); /* NaN counts as 0 */
}

/* Returns the name of the row that is among the fastest from position `place` to the largest one, *last. */
static const char *holder_from(const stencil_ranking *r, int64_t place, int64_t *last) {
    const char *holder = row_at(r, NULL, place)->name;
    *last = place - 1;
    for (int i = -1; i < r->result->row_count; i++) { /* starts with the fastest row */
        const char *name = i < 0 ? holder : r->result->row[i].name;
        int64_t to = place - 1, next = place;
        while (next > to && is_as_fast(r, name, next)) {
            to = next;
            next = next_place(r, to);
        }
        if (to > *last) {
            *last = to;
            holder = name;
        }
    }
    return holder;
}

/* Returns the position where row b becomes as fast as row a, the fastest row at `from` but not at `to`. */
static int64_t crossing(const stencil_ranking *r, const char *a, const char *b, int64_t from, int64_t to) {
    const stencil_bench_row *row[] = {row_at(r, a, from), row_at(r, b, from), row_at(r, a, to),
                                      row_at(r, b, to)};
    if (row[1] == NULL || row[2] == NULL)
        return from;
    const double before = log(time_of(r, row[0]) / time_of(r, row[1]));
    const double behind = log(time_of(r, row[2]) / time_of(r, row[3]));
    if (!(before < 0 && behind > 0))
        return from;
    const double at = (double)from * pow((double)to / (double)from, before / (before - behind));
    const double unit = pow(10, floor(log10(at)) - 1); /* rounded to two digits */
    return (int64_t)(round(at / unit) * unit + 0.5);
}

/* Appends the number of positions where the spread of the fastest row is unknown or too large. */
static void add_doubt(const stencil_ranking *r, char text[STENCIL_BENCH_NOTE_SIZE]) {
    int places = 0, uncertain = 0;
    for (int64_t place = 0, next; (next = next_place(r, place)) > place; place = next, places++) {
        const stencil_bench_row *best = row_at(r, NULL, next);
        uncertain += best->noisy || isnan(best->statistics.spread);
    }
    if (uncertain > 0)
        stencil_text_add(text, STENCIL_BENCH_NOTE_SIZE,
                         "; not certain at %d of %d sizes: too few or noisy samples", uncertain, places);
}

void stencil_bench_crossovers(const stencil_ranking *r, char text[STENCIL_BENCH_NOTE_SIZE]) {
    const char *before = NULL, *since = "";
    int64_t last = 0, first = next_place(r, 0);
    text[0] = '\0';
    if (next_place(r, first) == first)
        return;
    for (int64_t place = first; place > last; place = next_place(r, last)) {
        const int64_t held = last;
        const char *holder = holder_from(r, place, &last);
        if (before != NULL)
            stencil_text_add(text, STENCIL_BENCH_NOTE_SIZE, "%s %lld%s, %s", since,
                             (long long)crossing(r, before, holder, held, place), r->shape,
                             next_place(r, last) == last ? "then " : "");
        stencil_text_add(text, STENCIL_BENCH_NOTE_SIZE, "`%s`", holder);
        since = before == NULL ? " up to" : " from there to";
        before = holder;
    }
    if (strstr(text, " up to") == NULL)
        stencil_text_add(text, STENCIL_BENCH_NOTE_SIZE, " at all sizes");
    if (!r->predicted)
        add_doubt(r, text);
}
