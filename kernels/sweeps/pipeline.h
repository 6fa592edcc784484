/* Shapes of passes of the pipeline sweep on a GPU, for its kernels and for the host that launches them. */
#pragma once

#include "kernels/classes.h"

/* The smallest compute capability (90 for 9.0) whose code has asynchronous bulk copies with mbarriers, which
 * kernels of passes of several steps use. The capability that code is compiled for counts, not that of the
 * GPU. */
#define STENCIL_PIPELINE_CAPABILITY 90

/* The most shared memory that a block of the pipeline kernels has: all of a multiprocessor of compute
 * capability 9.0, less some for the compiler's variables. Blocks of 2D passes use nearly all of it. Kernels
 * are compiled with it, so it is not in solver/machine/tuning/. */
enum { STENCIL_PIPELINE_SHARED_BYTES = 227 * 1024 - 512 };

/* Bytes of a block's table of the weights of classes. */
enum { STENCIL_PIPELINE_TABLE_BYTES = 4096 };

/* The shape of a 2D pass. A block, alone on its multiprocessor, has STENCIL_PIPELINE_WARPS warps that make
 * steps, and works on one line of eight stages or on two lines of four; a stage is a warp, and a line has two
 * more warps that load and store, and two more that sum in a checked pass, or find the codes of rows in a
 * CLASSED one. A stage makes `levels`
 * steps of a strip of 32 * cells columns, `cells` for each lane, and passes on `rows` rows at once. */
enum { STENCIL_PIPELINE_WARPS = 8 };
typedef struct stencil_pipeline_shape {
    int stages, levels, cells, rows;
} stencil_pipeline_shape;

/* The kinds of passes, each with a kernel. PLAIN: the fastest. GENERAL: for all problems, with weights of
 * each step and rows of the source term in shared memory, and one row for each slot. CHECKED: as PLAIN, but
 * the residual of a step is summed, the last one that some stage makes in the pass. FIXED: as PLAIN,
 * with cells that keep their values. CLASSED: as GENERAL, with cells of all classes. */
typedef enum stencil_pipeline_kind {
    STENCIL_PIPELINE_PLAIN,
    STENCIL_PIPELINE_GENERAL,
    STENCIL_PIPELINE_CHECKED,
    STENCIL_PIPELINE_FIXED,
    STENCIL_PIPELINE_CLASSED
} stencil_pipeline_kind;

/* Returns the shape of 2D passes, as large as registers allow; measured on an H200, docs/log/2026-11-23.md.
 */
STENCIL_CONSTANT stencil_pipeline_shape stencil_pipeline_shape_of(stencil_rule rule, int radius, bool f64,
                                                                  stencil_pipeline_kind kind) {
    const stencil_pipeline_shape star[][2] = {{{4, 4, 21, 2}, {8, 2, 19, 3}}, {{4, 2, 21, 3}, {8, 1, 19, 3}}},
                                 box[][2] = {{{4, 4, 21, 2}, {8, 2, 21, 1}},
                                             {{4, 2, 21, 1}, {8, 1, 19, 1}},
                                             {{4, 1, 27, 1}, {4, 1, 11, 1}}};
    stencil_pipeline_shape shape = rule == STENCIL_STAR ? star[radius - 1][f64] : box[radius - 1][f64];
    if (kind == STENCIL_PIPELINE_GENERAL || kind == STENCIL_PIPELINE_CLASSED)
        shape.rows = 1;
    if (kind == STENCIL_PIPELINE_CLASSED && shape.levels == 4) /* the instruction cache holds two levels */
        shape.stages = 8, shape.levels = 2;
    if (kind == STENCIL_PIPELINE_CHECKED && shape.rows > 2) /* slots are fewer and wait for more warps */
        shape.rows = 2;
    if (kind == STENCIL_PIPELINE_CHECKED && shape.cells > 20) /* registers are fewer, or hold more */
        shape.cells -= 2;
    return shape;
}

/* Returns the most steps of a 2D pass (depth). */
STENCIL_CONSTANT int stencil_pipeline_depth(stencil_rule rule, int radius, bool f64) {
    const stencil_pipeline_shape shape = stencil_pipeline_shape_of(rule, radius, f64, STENCIL_PIPELINE_PLAIN);
    return shape.stages * shape.levels;
}

/* The tile that a block makes in 3D, plane after plane: warps * rows rows of 32 * cells columns. Each warp
 * makes all steps of a pass, `depth` at most, for its rows. Planes are loaded `ahead` iterations before they
 * are used. */
typedef struct stencil_pipeline_tile_shape {
    int depth, cells, rows, warps, ahead;
} stencil_pipeline_tile_shape;

/* Columns of a 3D tile begin at a multiple of a vector, which a lane loads and stores at once. Stored columns
 * begin and end at multiples of a sector, the unit of memory writes: a sector that two blocks store in part
 * has to be read by memory first. */
enum { STENCIL_PIPELINE_VECTOR_BYTES = 16, STENCIL_PIPELINE_SECTOR_BYTES = 32 };

/* Returns the tile shape of 3D passes, as large as registers and shared memory allow; measured,
 * docs/log/2026-11-25.md. general: with weights of each level and a source term, which also take registers.
 */
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

/* Tiles along an axis: begin of the first one, distance to the next, and count. They are `extent` cells long
 * and store all but `margin` cells at each end, at least as many as a pass reaches; outer tiles also read
 * `beside` cells beyond the part. Tiles begin at multiples of `vector` cells, stored cells at multiples of
 * `sector`. */
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

/* Division of a part's tiles among blocks. If nine of ten blocks stay busy that way, each block
 * makes `whole` tiles, and the planes of each remaining tile are divided among `chunks` blocks, so that all
 * blocks make the same planes at about the same time. Otherwise (chunks 0) the planes of all tiles form one
 * sequence, of which each block has an equal share. */
typedef struct stencil_pipeline_shares {
    int64_t planes; /* planes of a tile */
    int more;       /* extra planes that a block makes at the start of a tile */
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
/* Finds piece k of a block: some planes of a tile, possibly none although further pieces follow. Returns
 * false if the block has no more pieces. */
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

/* Strips of columns of 2D passes: `width` columns are read, a multiple of `unit` is stored. The rows of all
 * strips form one sequence that is divided among lines; each strip counts `reach` more rows, which a line
 * makes before the stored ones. */
typedef struct stencil_pipeline_strips {
    int nx, ny, reach, width;
    int beside[2];          /* columns read beyond the left and right side of the part */
    int first, step, count; /* columns stored of strip 0, and of each further strip; number of strips */
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
/* Finds rows[0] … rows[1] - 1, the share of line `line` of `lines` in the rows of all strips. */
STENCIL_ANYWHERE void stencil_pipeline_share_rows(const stencil_pipeline_strips *s, int64_t lines,
                                                  int64_t line, int64_t rows[2]) {
    const int64_t all = (int64_t)s->count * (s->ny + s->reach); /* a GPU divides 32 bits much quicker */
    const int64_t share = all <= INT32_MAX ? (int64_t)((uint32_t)all / (uint32_t)lines) : all / lines,
                  more = all - share * lines;
    rows[0] = share * line + (line < more ? line : more);
    rows[1] = rows[0] + share + (line < more);
}
/* Finds a line's share of a strip: stored rows y[0] … y[1] - 1, possibly none, and the first row to load, at
 * most `above` rows before the part. Returns false if the line's rows end before the strip. */
STENCIL_ANYWHERE bool stencil_pipeline_strip_rows(const stencil_pipeline_strips *s, const int64_t rows[2],
                                                  int strip, int above, int y[2], int *from) {
    const int64_t here = (int64_t)strip * (s->ny + s->reach), next = here + s->ny + s->reach;
    const int offset = rows[0] > here ? (int)(rows[0] - here) : 0;
    y[0] = offset > s->reach ? offset - s->reach : 0;
    y[1] = next <= rows[1] ? s->ny : (int)(rows[1] - here) - s->reach;
    *from = y[0] - s->reach > -above ? y[0] - s->reach : -above;
    return here < rows[1];
}

/* The kind of a row of a strip, in a pass for classes of cells: a code, and the number of groups of cells of
 * a lane in which cells have weights of their own, twice that where some of the palette's weights are 0 or
 * classes have constants. The code is PLAIN, the class of all cells, if they have
 * weights that are all read, SOME where some cells keep their values and all others are plain, MIXED where
 * cells have several classes, or KEPT. */
typedef uint16_t stencil_row_kind;
enum { STENCIL_ROW_SOME = STENCIL_CLASS_DRIVEN };
STENCIL_ANYWHERE uint32_t stencil_row_code(stencil_row_kind kind) {
    return kind & 0xffu;
}
STENCIL_ANYWHERE int stencil_row_groups(stencil_row_kind kind) {
    return kind >> 8;
}
