/* Shapes of passes of the pipeline sweep on a GPU, for its kernels and for the host that launches them. */
#pragma once

#include "kernels/points.h"

/* The smallest compute capability whose code has copy engines that its threads wait for by mbarriers (90
 * for 9.0): kernels of passes of several steps are made of these. What a GPU is compiled for counts, not what
 * it is. */
#define STENCIL_PIPELINE_CAPABILITY 90

/* Shared memory that a block of these kernels has, at most: all that a multiprocessor of compute
 * capability 9.0 gives one, less some for what the compiler places there. Blocks of 2D passes take nearly all
 * of it. Kernels are compiled for it and for the shapes below, so they are no values of
 * solver/machine/tuning/. */
enum { STENCIL_PIPELINE_SHARED_BYTES = 227 * 1024 - 512 };

/* A block, of which a multiprocessor holds one, has so many warps that make steps. A line of rows has one for
 * each of its stages, and two that load and store: a block works on one line of eight stages or on two lines
 * of four. Each stage makes `levels` steps of a strip of 32 * cells columns, `cells` of them in a lane, and
 * hands on `rows` rows at once. */
enum {
    STENCIL_PIPELINE_WARPS = 8,
    STENCIL_PIPELINE_THREADS = 32 * (STENCIL_PIPELINE_WARPS + 4) /* registers are given to fours of warps */
};
typedef struct stencil_pipeline_shape {
    int stages, levels, cells, rows;
} stencil_pipeline_shape;

/* Passes of one kind have a kernel. PLAIN: the fastest. GENERAL: those that can do everything. They have the
 * weights of each step and rows of the source term in shared memory, and a row for each slot. CHECKED: those
 * whose last step is checked, and which are otherwise plain. The last warp of a line does not make steps, it
 * sums. */
typedef enum stencil_pipeline_kind {
    STENCIL_PIPELINE_PLAIN,
    STENCIL_PIPELINE_GENERAL,
    STENCIL_PIPELINE_CHECKED
} stencil_pipeline_kind;

/* As much as registers hold; measured on an H200, docs/log/2026-11-23.md. */
STENCIL_CONSTANT stencil_pipeline_shape stencil_pipeline_shape_of(stencil_rule rule, int radius, bool f64,
                                                                  stencil_pipeline_kind kind) {
    const stencil_pipeline_shape star[][2] = {{{4, 4, 21, 2}, {8, 2, 19, 3}}, {{4, 2, 21, 3}, {8, 1, 19, 3}}},
                                 box[][2] = {{{4, 4, 21, 2}, {8, 2, 21, 1}},
                                             {{4, 2, 21, 1}, {8, 1, 19, 1}},
                                             {{4, 1, 27, 1}, {4, 1, 11, 1}}};
    stencil_pipeline_shape shape = rule == STENCIL_STAR ? star[radius - 1][f64] : box[radius - 1][f64];
    if (kind == STENCIL_PIPELINE_GENERAL)
        shape.rows = 1;
    if (kind == STENCIL_PIPELINE_CHECKED)
        shape.stages--;
    return shape;
}

/* Steps of a pass at most, whatever its kind; and of one that is CHECKED. */
STENCIL_CONSTANT int stencil_pipeline_depth(stencil_rule rule, int radius, bool f64) {
    const stencil_pipeline_shape shape = stencil_pipeline_shape_of(rule, radius, f64, STENCIL_PIPELINE_PLAIN);
    return shape.stages * shape.levels;
}
STENCIL_CONSTANT int stencil_pipeline_checked(stencil_rule rule, int radius, bool f64) {
    const stencil_pipeline_shape shape =
        stencil_pipeline_shape_of(rule, radius, f64, STENCIL_PIPELINE_CHECKED);
    return shape.stages * shape.levels;
}

/* The tile that a block makes in 3D, plane after plane: warps * rows rows of 32 * cells columns. Each warp
 * makes all steps of a pass, `depth` at most, for its rows. So many planes are loaded `ahead` of the one that
 * is taken. */
typedef struct stencil_pipeline_tile_shape {
    int depth, cells, rows, warps, ahead;
} stencil_pipeline_tile_shape;

/* Columns of a tile begin where a vector does, which a lane loads and stores at once. Those that it stores
 * begin and end where a sector does, the least that memory writes: of a sector that two blocks write at
 * different times each writes a part, and memory reads the rest. */
enum { STENCIL_PIPELINE_VECTOR_BYTES = 16, STENCIL_PIPELINE_SECTOR_BYTES = 32 };

/* As much as registers and shared memory hold; measured, docs/log/2026-11-25.md. GENERAL: with weights of
 * each level and the source term, which take registers, too. */
STENCIL_CONSTANT stencil_pipeline_tile_shape stencil_pipeline_tile_of(stencil_rule rule, int radius, bool f64,
                                                                      bool general) {
    const stencil_pipeline_tile_shape star[][2] = {{{4, 4, 4, 8, 2}, {4, 2, 4, 8, 2}},
                                                   {{2, 4, 5, 8, 2}, {2, 2, 5, 8, 2}}},
                                      box[] = {{3, 4, 5, 8, 2}, {3, 2, 5, 8, 2}},
                                      more_star[][2] = {{{3, 4, 4, 8, 2}, {3, 2, 4, 8, 2}},
                                                        {{2, 2, 7, 8, 2}, {2, 2, 4, 8, 2}}},
                                      more_box[] = {{3, 4, 4, 8, 2}, {2, 2, 4, 8, 2}};
    if (general)
        return rule == STENCIL_STAR ? more_star[radius - 1][f64] : more_box[f64];
    return rule == STENCIL_STAR ? star[radius - 1][f64] : box[f64];
}

/* Tiles along an axis: where the first one begins, how far it is to the next one, and how many there are.
 * They are `extent` cells long and store all but `margin` cells at each end, as many as a pass reaches or
 * more; at the ends of the part they read `beside`. Tiles begin at multiples of `vector` cells, what they
 * store at multiples of `sector`. */
typedef struct stencil_pipeline_tiles {
    int64_t first, step, count, margin;
} stencil_pipeline_tiles;
STENCIL_CONSTANT int64_t stencil_pipeline_up(int64_t cells, int64_t unit) {
    return (cells + unit - 1) / unit * unit;
}
STENCIL_CONSTANT stencil_pipeline_tiles stencil_pipeline_tiles_of(int64_t n, const int beside[2],
                                                                  int64_t reach, int64_t extent,
                                                                  int64_t vector, int64_t sector) {
    const int64_t margin = stencil_pipeline_up(reach, vector), least = margin % sector,
                  before = least + (beside[0] > least ? stencil_pipeline_up(beside[0] - least, sector) : 0),
                  step = (extent - 2 * margin) / sector * sector, left = n + beside[1] - extent + before;
    const stencil_pipeline_tiles tiles = {-before, step, left <= 0 ? 1 : 1 + (left + step - 1) / step,
                                          margin};
    return tiles;
}

/* The shares of blocks in the tiles of a part. Where that keeps nine of ten busy, each makes `whole` tiles,
 * and blocks share the planes of each further tile in `chunks` pieces: so all go through the same planes at
 * about the same time. Else (chunks 0) all tiles' planes follow each other, and each block has as many. */
typedef struct stencil_pipeline_shares {
    int64_t planes; /* of a tile */
    int more;       /* that beginning one takes */
    int tiles, blocks, whole, chunks;
} stencil_pipeline_shares;
STENCIL_CONSTANT stencil_pipeline_shares stencil_pipeline_share(int tiles, int64_t planes, int more,
                                                                int blocks) {
    const int whole = tiles / blocks, rest = tiles % blocks, chunks = rest > 0 ? blocks / rest : 1,
              turns = whole * chunks + (rest > 0);
    const bool busy = (int64_t)10 * tiles * chunks >= (int64_t)9 * blocks * turns;
    const stencil_pipeline_shares shares = {planes, more, tiles, blocks, whole, busy ? chunks : 0};
    return shares;
}
/* Piece k of a block: some planes of a tile; of none where it has no such piece, but perhaps further ones.
 * false: it has no more. */
typedef struct stencil_pipeline_piece {
    int tile;
    int64_t planes[2];
} stencil_pipeline_piece;
STENCIL_ANYWHERE bool stencil_pipeline_piece_of(const stencil_pipeline_shares *s, int block, int k,
                                                stencil_pipeline_piece *piece) {
    if (s->chunks > 0) {
        const int rest = s->tiles - s->whole * s->blocks, last = rest > 0 && block < rest * s->chunks;
        const int chunks = k < s->whole ? 1 : s->chunks, chunk = k < s->whole || rest == 0 ? 0 : block / rest;
        piece->tile = k * s->blocks + (k < s->whole || rest == 0 ? block : block % rest);
        piece->planes[0] = s->planes * chunk / chunks;
        piece->planes[1] = s->planes * (chunk + 1) / chunks;
        return k < s->whole + last;
    }
    const int64_t each = s->planes + s->more, all = s->tiles * each, share = all / s->blocks,
                  over = all % s->blocks, begin = share * block + (block < over ? block : over),
                  end = begin + share + (block < over);
    piece->tile = (int)(begin / each) + k;
    const int64_t here = piece->tile * each, offset = begin > here ? begin - here - s->more : 0;
    piece->planes[0] = offset > 0 ? offset : 0;
    piece->planes[1] = here + each <= end ? s->planes : end - here - s->more;
    return here < end;
}

/* Strips of columns, of passes in 2D: `width` read and a multiple of `unit` kept, and the rows that lines
 * share out: those of all strips one after the other, of each strip also `reach` rows that a line makes
 * before its own.
 */
typedef struct stencil_pipeline_strips {
    int nx, ny, reach, width;
    int beside[2];          /* columns read beside the updated ones of the part */
    int first, step, count; /* columns kept of strip 0, and of each further one; how many strips */
} stencil_pipeline_strips;
STENCIL_ANYWHERE stencil_pipeline_strips stencil_pipeline_strips_of(int nx, int ny, const int beside[2],
                                                                    int reach, int width, int unit) {
    const int first = (width - beside[0] - reach) / unit * unit, step = (width - 2 * reach) / unit * unit,
              rest = nx - first - (width - reach - beside[1]);
    const stencil_pipeline_strips strips = {
        nx,
        ny,
        reach,
        width,
        {beside[0], beside[1]},
        first,
        step,
        nx + beside[0] + beside[1] == width ? 1 : 2 + (rest > 0 ? (rest + step - 1) / step : 0)};
    return strips;
}
/* Rows [0] … [1] - 1 are those of one line of `lines`. */
STENCIL_ANYWHERE void stencil_pipeline_share_rows(const stencil_pipeline_strips *s, int64_t lines,
                                                  int64_t line, int64_t rows[2]) {
    const int64_t all = (int64_t)s->count * (s->ny + s->reach), share = all / lines, more = all % lines;
    rows[0] = share * line + (line < more ? line : more);
    rows[1] = rows[0] + share + (line < more);
}
/* A line's share of a strip: kept rows y[0] … y[1] - 1, of which there may be none, and the first row that
 * it loads, `above` of which are there beyond the part. false: its rows end before the strip. */
STENCIL_ANYWHERE bool stencil_pipeline_strip_rows(const stencil_pipeline_strips *s, const int64_t rows[2],
                                                  int strip, int above, int y[2], int *from) {
    const int64_t here = (int64_t)strip * (s->ny + s->reach), next = here + s->ny + s->reach;
    const int offset = rows[0] > here ? (int)(rows[0] - here) : 0;
    y[0] = offset > s->reach ? offset - s->reach : 0;
    y[1] = next <= rows[1] ? s->ny : (int)(rows[1] - here) - s->reach;
    *from = y[0] - s->reach > -above ? y[0] - s->reach : -above;
    return here < rows[1];
}
