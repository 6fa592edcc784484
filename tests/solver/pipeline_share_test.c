/* Shares of lines of warps in rows that take different times, held against all shares that there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/machine/tuning.h"
#include "solver/plan/sweeps/pipeline_share.h"

/* The next number of a sequence (splitmix64). */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A part of a few strips, whose rows have kinds that are drawn. */
typedef struct drawn {
    stencil_share_rows rows;
    stencil_row_kind kind[512];
    uint32_t cost[512];
} drawn;

static void draw_rows(drawn *d, uint64_t seed) {
    static const stencil_row_kind kinds[] = {
        STENCIL_CLASS_PLAIN, STENCIL_CLASS_KEPT,          7,
        STENCIL_ROW_SOME,    STENCIL_MARK_MIXED | 1 << 8, STENCIL_MARK_MIXED | 3 << 8};
    uint64_t state = seed;
    const int reach = 1 + (int)(draw(&state) % 3), above = draw(&state) % 2 == 0 ? 1 : reach,
              ny = 3 + (int)(draw(&state) % 12);
    memset(d, 0, sizeof *d);
    d->rows = (stencil_share_rows){.strips = {.ny = ny, .reach = reach, .count = 1 + (int)(draw(&state) % 3)},
                                   .above = above,
                                   .lag = reach + (int)(draw(&state) % 2),
                                   .before = (int)(draw(&state) % 3),
                                   .ahead = (int)(draw(&state) % 2),
                                   .kind = d->kind};
    const int count = d->rows.strips.count * stencil_share_count(&d->rows);
    stencil_row_kind kind = STENCIL_CLASS_PLAIN;
    for (int i = 0; i < count; i++) {
        if (draw(&state) % 3 == 0)
            kind = kinds[draw(&state) % 6];
        d->kind[i] = kind;
    }
}

/* Returns the cost of a line's rows, those before and after its own included, row by row. */
static uint64_t cost_of(const drawn *d, const int64_t own[2]) {
    const int count = stencil_share_count(&d->rows), reach = d->rows.strips.reach;
    uint64_t cost = 0;
    int y[2], from;
    for (int strip = 0; strip < d->rows.strips.count; strip++) {
        const int64_t here = (int64_t)strip * (d->rows.strips.ny + reach);
        if (own[0] >= here + d->rows.strips.ny + reach)
            continue;
        if (!stencil_pipeline_strip_rows(&d->rows.strips, own, strip, d->rows.above, y, &from))
            break;
        for (int row = from; y[1] > y[0] && row < y[1] + d->rows.lag; row++) {
            const uint32_t *sum = d->cost + strip * (count + 1) + row + reach;
            cost += row + reach < count ? sum[1] - sum[0] : STENCIL_SHARE_UNIT;
        }
    }
    return cost;
}

/* The least cost of the line that costs most, over all ways to divide what is left from row `at` on. */
static uint64_t least(const drawn *d, int64_t at, int64_t lines) {
    const int64_t strip = d->rows.strips.ny + d->rows.strips.reach, all = d->rows.strips.count * strip;
    uint64_t best = UINT64_MAX;
    if (lines == 1)
        return cost_of(d, (const int64_t[]){at, all});
    for (int64_t next = at; next <= all; next++) {
        if (next % strip > 0 && next % strip <= d->rows.strips.reach)
            continue;
        const uint64_t first = cost_of(d, (const int64_t[]){at, next});
        const uint64_t rest = first < best ? least(d, next, lines - 1) : best,
                       most = first > rest ? first : rest;
        best = most < best ? most : best;
    }
    return best;
}

static void shares_cover_all_rows_and_cost_the_least(void **state) {
    stencil_tuning tuning;
    drawn d;
    int64_t begin[6];
    (void)state;
    stencil_tuning_find(&tuning, "");
    for (uint64_t seed = 1; seed <= 300; seed++) {
        draw_rows(&d, seed);
        stencil_share_costs(&d.rows, &tuning, d.cost);
        for (int64_t lines = 1; lines <= 3; lines++) {
            const uint64_t cost = stencil_share_lines(&d.rows, d.cost, lines, begin);
            uint64_t most = 0;
            assert_int_equal(begin[0], 0);
            assert_int_equal(begin[lines], d.rows.strips.count * (d.rows.strips.ny + d.rows.strips.reach));
            for (int64_t i = 0; i < lines; i++) {
                assert_true(begin[i] <= begin[i + 1]);
                const uint64_t own = cost_of(&d, begin + i);
                most = own > most ? own : most;
            }
            assert_int_equal(cost, most);
            assert_int_equal(cost, least(&d, 0, lines));
        }
    }
}

/* Rows that are all plain are divided evenly, and a row is as dear as what its stage has beside it. */
static void rows_cost_what_their_neighbours_make_of_them(void **state) {
    stencil_tuning tuning;
    drawn d;
    (void)state;
    stencil_tuning_find(&tuning, "");
    memset(&d, 0, sizeof d);
    d.rows = (stencil_share_rows){.strips = {.ny = 20, .reach = 2, .count = 1},
                                  .above = 1,
                                  .lag = 2,
                                  .before = 4,
                                  .ahead = 1,
                                  .kind = d.kind};
    d.kind[10] = STENCIL_ROW_SOME;
    stencil_share_costs(&d.rows, &tuning, d.cost);
    for (int i = 0; i < stencil_share_count(&d.rows); i++)
        assert_int_equal(d.cost[i + 1] - d.cost[i],
                         i >= 10 - 1 && i <= 10 + 4 ? (uint32_t)(tuning.row_fixed * STENCIL_SHARE_UNIT + 0.5)
                                                    : (uint32_t)STENCIL_SHARE_UNIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_cover_all_rows_and_cost_the_least),
                                       cmocka_unit_test(rows_cost_what_their_neighbours_make_of_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
