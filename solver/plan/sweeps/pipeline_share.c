#include "solver/plan/sweeps/pipeline_share.h"

/* Returns the cost of a row that is made as part of rows that are alike, or not. */
static uint32_t cost_of(const stencil_tuning *tuning, bool f64, stencil_row_kind kind, bool alike) {
    const double kept = f64 ? tuning->row_kept_f64 : tuning->row_kept_f32,
                 row = !alike                                          ? tuning->row_fixed
                       : stencil_row_code(kind) == STENCIL_CLASS_KEPT  ? kept
                       : stencil_row_code(kind) != STENCIL_CLASS_PLAIN ? tuning->row_class
                                                                       : 1,
                 cost = row + tuning->row_mixed * stencil_row_groups(kind);
    return (uint32_t)(cost * STENCIL_SHARE_UNIT + 0.5);
}

void stencil_share_costs(const stencil_share_rows *rows, const stencil_tuning *tuning, uint32_t *cost) {
    const int count = stencil_share_count(rows);
#pragma omp parallel for schedule(static)
    for (int strip = 0; strip < rows->strips.count; strip++) {
        const stencil_row_kind *kind = rows->kind + (int64_t)strip * count;
        uint32_t *sum = cost + (int64_t)strip * (count + 1);
        int since = 0; /* all rows from this one to the last one looked at are alike */
        sum[0] = 0;
        for (int i = 0, looked = 0; i < count; i++) {
            for (; looked < count && looked <= i + rows->ahead; looked++) {
                const uint32_t code = stencil_row_code(kind[looked]);
                if (code == STENCIL_ROW_SOME || code == STENCIL_MARK_MIXED)
                    since = looked + 1;
                else if (looked > 0 && code != stencil_row_code(kind[looked - 1]) && since < looked)
                    since = looked;
            }
            const int first = i < rows->before ? 0 : i - rows->before;
            sum[i + 1] = sum[i] + cost_of(tuning, rows->f64, kind[i], since <= first);
        }
    }
}

/* Returns the cost of a line's piece of a strip, of which it stores rows y0 … y1 - 1. */
static uint64_t piece_cost(const stencil_share_rows *rows, const uint32_t *cost, int strip, int y0, int y1) {
    const int count = stencil_share_count(rows), reach = rows->strips.reach,
              from = y0 - reach > -rows->above ? y0 - reach : -rows->above, end = y1 + rows->lag + reach,
              more = end > count ? end - count : 0;
    const uint32_t *sum = cost + (int64_t)strip * (count + 1);
    return (uint64_t)(sum[end - more] - sum[from + reach]) + (uint64_t)more * STENCIL_SHARE_UNIT;
}

/* Returns the most rows from y0 on, up to row y1 of the strip, that cost `most` at most. */
static int rows_within(const stencil_share_rows *rows, const uint32_t *cost, int strip, int y0,
                       uint64_t most) {
    int low = y0, high = rows->strips.ny;
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        if (piece_cost(rows, cost, strip, y0, middle) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Gives each line in turn as many rows as cost `most` at most. Returns whether all rows have a line. */
static bool fill_lines(const stencil_share_rows *rows, const uint32_t *cost, int64_t lines, uint64_t most,
                       int64_t *begin) {
    const stencil_pipeline_strips *s = &rows->strips;
    int strip = 0, y = 0;
    for (int64_t line = 0; line <= lines; line++) {
        uint64_t left = most;
        begin[line] = (int64_t)strip * (s->ny + s->reach) + (y > 0 ? s->reach + y : 0);
        while (line < lines && strip < s->count) {
            const int end = rows_within(rows, cost, strip, y, left);
            if (end == y)
                break;
            left -= piece_cost(rows, cost, strip, y, end);
            y = end == s->ny ? 0 : end;
            strip += end == s->ny;
            if (y > 0)
                break;
        }
    }
    return strip == s->count;
}

uint64_t stencil_share_lines(const stencil_share_rows *rows, const uint32_t *cost, int64_t lines,
                             int64_t *begin) {
    uint64_t low = 0, high = 1;
    while (!fill_lines(rows, cost, lines, high, begin))
        low = high, high *= 2;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (fill_lines(rows, cost, lines, middle, begin))
            high = middle;
        else
            low = middle;
    }
    fill_lines(rows, cost, lines, high, begin);
    return high;
}
