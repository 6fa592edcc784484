#include "bench/cases/smith_waterman.cuh"

#include "bench/cases/problem.h"

enum { LETTERS = 4, PERIOD = 3, MUTATION_ONE_IN = 16 };

/* Fills sequence a with random letters, repetitive in the middle third, and b with a copy of a from its first
 * eighth on, one letter in 16 changed, left out or doubled, then random letters. */
static void fill(uint8_t *a, int64_t rows, uint8_t *b, int64_t columns) {
    uint64_t state = 5;
    for (int64_t i = 0; i < rows; i++) {
        const bool again = i >= rows / 3 && i < rows / 3 * 2 && i >= PERIOD;
        a[i] = again ? a[i - PERIOD] : (uint8_t)(stencil_case_random(&state) % LETTERS);
    }
    for (int64_t j = 0, i = rows / 8; j < columns; j++) {
        const uint64_t random = stencil_case_random(&state), letter = random >> 32 & 3;
        const uint64_t mutation = random % (3 * MUTATION_ONE_IN);
        i += mutation == 0;
        b[j] = mutation == 1 || i >= rows - rows / 8 ? (uint8_t)letter : a[i];
        i += mutation != 2;
    }
}

static stencil_status make(stencil_case_problem *p) {
    smith_waterman_arguments *w = (smith_waterman_arguments *)p->arguments;
    w->rows = p->n;
    w->columns = p->n - p->n / 4;
    w->tile_rows = (w->rows + SW_TILE - 1) / SW_TILE;
    w->tile_columns = (w->columns + SW_TILE - 1) / SW_TILE;
    p->items = w->tile_columns * smith_waterman_lanes;
    TRY(CASE_ADD_ARRAY(p, smith_waterman, a, INPUT, w->rows));
    TRY(CASE_ADD_ARRAY(p, smith_waterman, b, INPUT, w->columns));
    TRY(CASE_ADD_ARRAY(p, smith_waterman, bottom_h, SCRATCH, w->columns));
    TRY(CASE_ADD_ARRAY(p, smith_waterman, bottom_f, SCRATCH, w->columns));
    TRY(CASE_ADD_ARRAY(p, smith_waterman, right_h, SCRATCH, w->tile_columns * w->rows));
    TRY(CASE_ADD_ARRAY(p, smith_waterman, right_e, SCRATCH, w->tile_columns * w->rows));
    TRY(CASE_ADD_ARRAY(p, smith_waterman, row_best, SCRATCH, w->tile_columns * w->tile_rows));
    TRY(CASE_ADD_ARRAY(p, smith_waterman, best, RESULT, 1));
    TRY(CASE_ADD_ARRAY(p, smith_waterman, from, RESULT, w->rows * w->columns));
    fill(p->array[0].memory, w->rows, p->array[1].memory, w->columns);
    return STENCIL_OK;
}

/* Computes the alignment row by row, with h and f of one row in the arrays bottom_h and bottom_f. */
static void plain(const stencil_case_problem *p) {
    const smith_waterman_arguments *w = (const smith_waterman_arguments *)p->arguments;
    smith_waterman_best *best = stencil_case_expected(p, "best");
    uint8_t *from = stencil_case_expected(p, "from");
    int32_t *h = w->bottom_h, *f = w->bottom_f;
    for (int64_t j = 0; j < w->columns; j++) {
        h[j] = 0;
        f[j] = SW_NONE;
    }
    for (int64_t i = 0; i < w->rows; i++) {
        int32_t corner = 0, left = 0, e = SW_NONE;
        for (int64_t j = 0; j < w->columns; j++, from++) {
            const int32_t similar = corner + (w->a[i] == w->b[j] ? SW_SAME : SW_OTHER);
            int how = 0;
            if (e - SW_EXTEND > left - SW_OPEN)
                how |= SW_E_GOES_ON;
            e = (how & SW_E_GOES_ON ? e - SW_EXTEND : left - SW_OPEN);
            if (f[j] - SW_EXTEND > h[j] - SW_OPEN)
                how |= SW_F_GOES_ON;
            f[j] = (how & SW_F_GOES_ON ? f[j] - SW_EXTEND : h[j] - SW_OPEN);
            corner = h[j];
            left = similar;
            if (left <= 0 && e <= 0 && f[j] <= 0)
                left = 0;
            else if (left >= e && left >= f[j])
                how |= SW_DIAGONAL;
            else if (e >= f[j])
                how |= SW_E, left = e;
            else
                how |= SW_F, left = f[j];
            h[j] = left;
            *from = (uint8_t)how;
            if (left > best->score)
                *best = (smith_waterman_best){left, i * w->columns + j};
        }
    }
}

STENCIL_CASE_BODY(smith_waterman, .least = 1, .most_level = 24,
                  .size = {{512, 2048, 2}, {1 << 12, 1 << 15, 2}}, .make = make, .plain = plain);
