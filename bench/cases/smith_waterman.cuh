/* Local alignment of two sequences with affine gaps (T. Smith and M. Waterman, 1981; O. Gotoh, 1982). With
 * similarity s(a, b) = 2 for the same letter and -1 for others, a gap of k letters costing 3 + (k - 1):
 *
 *   e(i, j) = max(h(i, j-1) - 3, e(i, j-1) - 1)     f(i, j) = max(h(i-1, j) - 3, f(i-1, j) - 1)
 *   h(i, j) = max(0, h(i-1, j-1) + s(a_i, b_j), e(i, j), f(i, j))
 *
 * h is 0 before the first row and column, e and f have no value there. The results are the
 * largest h, its first cell, row by row, and for every cell the origins of h, e and f, from which the
 * alignment can be traced back.
 *
 * Each phase computes an anti-diagonal of tiles of 128 x 128 cells; a block has columns of tiles. Lane t of a
 * tile has row t, and computes the cell in column s - t in step s. A tile passes its last row to the tile
 * below, which the same block computes next, and its last column and the best cell of its row of tiles so far
 * to the tile on the right: a block depends only on the previous block. */
#pragma once

#include "bench/cases/case.h"

enum {
    smith_waterman_lanes = 128,
    smith_waterman_resident = 0,
    SW_TILE = smith_waterman_lanes, /* rows, and columns, of a tile */
    SW_SAME = 2,
    SW_OTHER = -1,
    SW_OPEN = 3,
    SW_EXTEND = 1,
    SW_NONE = -1000000000 /* a score below all scores that can occur */
};

/* Origin of a cell's h, and flags that are set when its e or f extends a gap. */
enum { SW_STOP, SW_DIAGONAL, SW_E, SW_F, SW_E_GOES_ON = 4, SW_F_GOES_ON = 8 };

/* A score and its cell, as index i * columns + j. */
typedef struct smith_waterman_best {
    int64_t score, at;
} smith_waterman_best;

typedef struct smith_waterman_arguments {
    int64_t rows, columns;           /* number of letters of a, of b */
    int64_t tile_rows, tile_columns; /* number of tiles vertically, horizontally */
    const uint8_t *a, *b;
    int32_t *bottom_h, *bottom_f;  /* [columns]: last row of the latest tile of each column */
    int32_t *right_h, *right_e;    /* [tile_columns][rows]: last cell column of each tile */
    smith_waterman_best *row_best; /* [tile_columns][tile_rows]: best in a row of tiles so far */
    smith_waterman_best *best;     /* [1]: best score of all cells */
    uint8_t *from;                 /* [rows][columns]: origin of each cell's h, e and f */
} smith_waterman_arguments;

typedef struct smith_waterman_shared {
    int32_t h[3][SW_TILE], f[2][SW_TILE];   /* each lane's h, f in recent steps, by step % 3, step % 2 */
    int32_t e[SW_TILE];                     /* e of each lane's latest cell */
    int32_t left[SW_TILE + 1];              /* h of the column left of the tile, from one row above on */
    int32_t top_h[SW_TILE], top_f[SW_TILE]; /* h and f of the row above the tile */
    smith_waterman_best best[SW_TILE];      /* best cell of each lane */
    uint8_t a[SW_TILE], b[SW_TILE], from[SW_TILE][SW_TILE];
} smith_waterman_shared;

enum { smith_waterman_shared_bytes = sizeof(smith_waterman_shared) };

/* A tile: its indices among tiles, its first cell, and its numbers of rows and columns. */
typedef struct smith_waterman_tile {
    int64_t i, j, row, column, rows, columns;
} smith_waterman_tile;

STENCIL_ANYWHERE int64_t smith_waterman_phases(const smith_waterman_arguments *w) {
    return w->tile_rows + w->tile_columns - 1;
}

STENCIL_ANYWHERE smith_waterman_best sw_better(smith_waterman_best x, smith_waterman_best y) {
    return y.score > x.score || (y.score == x.score && y.at < x.at) ? y : x;
}

/* Loads a tile's letters, and the edges of tiles to its left and above, into shared memory. */
STENCIL_ANYWHERE void sw_open_tile(const smith_waterman_arguments *w, const smith_waterman_tile *tile,
                                   smith_waterman_shared *s) {
    const smith_waterman_best none = {0, 0};
    const int64_t before = (tile->j - 1) * w->rows + tile->row; /* index into right_h and right_e */
    CASE_SYNC();
    CASE_LANES(t, SW_TILE) {
        const bool row = t < tile->rows, column = t < tile->columns;
        s->left[t + 1] = row && tile->j > 0 ? w->right_h[before + t] : 0;
        s->e[t] = row && tile->j > 0 ? w->right_e[before + t] : SW_NONE;
        s->top_h[t] = column && tile->i > 0 ? w->bottom_h[tile->column + t] : 0;
        s->top_f[t] = column && tile->i > 0 ? w->bottom_f[tile->column + t] : SW_NONE;
        s->a[t] = row ? w->a[tile->row + t] : 0;
        s->b[t] = column ? w->b[tile->column + t] : 0;
        s->best[t] = none;
        if (t == 0)
            s->left[0] = tile->i > 0 && tile->j > 0 ? w->right_h[before - 1] : 0;
    }
    CASE_SYNC();
}

/* Computes the cell in row t and column j of a tile, in step t + j, by lane t. */
STENCIL_ANYWHERE void sw_make_cell(const smith_waterman_arguments *w, const smith_waterman_tile *tile,
                                   smith_waterman_shared *s, uint32_t t, uint32_t j) {
    const uint32_t step = t + j, last = (step + 2) % 3, before = (step + 1) % 3;
    const int32_t left = j == 0 ? s->left[t + 1] : s->h[last][t];
    const int32_t up = t == 0 ? s->top_h[j] : s->h[last][t - 1];
    const int32_t corner = j == 0 ? s->left[t] : t == 0 ? s->top_h[j - 1] : s->h[before][t - 1];
    const int32_t up_f = t == 0 ? s->top_f[j] : s->f[(step + 1) % 2][t - 1];
    const bool e_goes_on = s->e[t] - SW_EXTEND > left - SW_OPEN, f_goes_on = up_f - SW_EXTEND > up - SW_OPEN;
    const int32_t e = e_goes_on ? s->e[t] - SW_EXTEND : left - SW_OPEN;
    const int32_t f = f_goes_on ? up_f - SW_EXTEND : up - SW_OPEN;
    const int32_t diagonal = corner + (s->a[t] == s->b[j] ? SW_SAME : SW_OTHER);
    int32_t h = diagonal > 0 ? diagonal : 0, from = diagonal > 0 ? SW_DIAGONAL : SW_STOP;
    from = e > h ? SW_E : from;
    h = e > h ? e : h;
    from = f > h ? SW_F : from;
    h = f > h ? f : h;
    s->h[step % 3][t] = h;
    s->f[step % 2][t] = f;
    s->e[t] = e;
    s->from[t][j] = (uint8_t)(from | (e_goes_on ? SW_E_GOES_ON : 0) | (f_goes_on ? SW_F_GOES_ON : 0));
    if (h > s->best[t].score) {
        s->best[t].score = h;
        s->best[t].at = (tile->row + t) * w->columns + tile->column + j;
    }
    if (j + 1 == tile->columns) {
        w->right_h[tile->j * w->rows + tile->row + t] = h;
        w->right_e[tile->j * w->rows + tile->row + t] = e;
    }
    if (t + 1 == tile->rows) {
        w->bottom_h[tile->column + j] = h;
        w->bottom_f[tile->column + j] = f;
    }
}

/* Updates the best cell of a row of tiles by a tile's best cell and, in its last tile, that of all rows. */
STENCIL_ANYWHERE void sw_hand_on_best(const smith_waterman_arguments *w, const smith_waterman_tile *tile,
                                      smith_waterman_shared *s) {
    for (uint32_t half = SW_TILE / 2; half > 0; half /= 2) {
        CASE_SYNC();
        CASE_LANES(t, half) {
            if (t < half)
                s->best[t] = sw_better(s->best[t], s->best[t + half]);
        }
    }
    CASE_LANES(t, 1) {
        if (t == 0) {
            smith_waterman_best best = s->best[0];
            if (tile->j > 0)
                best = sw_better(best, w->row_best[(tile->j - 1) * w->tile_rows + tile->i]);
            w->row_best[tile->j * w->tile_rows + tile->i] = best;
            if (tile->j + 1 == w->tile_columns)
                w->best[0] = tile->i > 0 ? sw_better(w->best[0], best) : best;
        }
    }
}

STENCIL_ANYWHERE void sw_make_tile(const smith_waterman_arguments *w, const smith_waterman_tile *tile,
                                   smith_waterman_shared *s) {
    sw_open_tile(w, tile, s);
    for (int64_t step = 0; step < tile->rows + tile->columns - 1; step++) {
        CASE_LANES(t, SW_TILE) {
            if (t < tile->rows && step >= t && step - t < tile->columns)
                sw_make_cell(w, tile, s, t, (uint32_t)step - t);
        }
        CASE_SYNC();
    }
    for (int64_t i = 0; i < tile->rows; i++) {
        CASE_LANES(t, SW_TILE) {
            if (t < tile->columns)
                w->from[(tile->row + i) * w->columns + tile->column + t] = s->from[i][t];
        }
    }
    sw_hand_on_best(w, tile, s);
}

STENCIL_ANYWHERE void smith_waterman_phase(const smith_waterman_arguments *w, int64_t phase,
                                           stencil_case_block block) {
    smith_waterman_shared *s = (smith_waterman_shared *)block.shared;
    CASE_GROUPS(j, w->tile_columns, block) {
        smith_waterman_tile tile = {phase - j, j, SW_TILE * (phase - j), SW_TILE * j, SW_TILE, SW_TILE};
        if (tile.i < 0 || tile.i >= w->tile_rows)
            continue;
        if (w->rows - tile.row < SW_TILE)
            tile.rows = w->rows - tile.row;
        if (w->columns - tile.column < SW_TILE)
            tile.columns = w->columns - tile.column;
        sw_make_tile(w, &tile, s);
    }
}
