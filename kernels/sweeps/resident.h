/* Tiles and memory of the resident sweep, for its kernels and for the host that launches them. */
#pragma once

#include "kernels/points.h"

/* The shape of a tile, which a block keeps on its multiprocessor: 32 * cells columns and warps * rows rows,
 * `cells` adjacent ones in a lane, `rows` in a warp; the plan chooses how many warps, up to `warps`. Rows are
 * in registers. If `mixed` > 0, that many of a warp's inner rows are in shared memory, evenly spread so that
 * the fma pipe and shared memory work at the same time, and so are its outer `radius` rows, which other warps
 * read. `radius` more rows above and below a tile are only read. */
enum { STENCIL_RESIDENT_SHAPES = 4 };
typedef struct stencil_resident_shape {
    int cells, rows, mixed, warps;
    bool plain; /* has no registers left for general problems (stencil_variant.general) */
} stencil_resident_shape;

/* Returns tile shape `index`, ordered from small fields to large ones, with as many cells as registers hold
 * without spills. A mirrored side needs twice the radius in a lane. rows 0: no such shape. The shapes are
 * compiled into kernels. */
STENCIL_CONSTANT stencil_resident_shape stencil_resident_shape_of(int radius, bool f64, int index) {
    const stencil_resident_shape shapes[2][STENCIL_RESIDENT_SHAPES] = {
        {{2, 5, 0, 12, false}, {4, 11, 0, 8, false}, {7, 21, 0, 8, false}, {6, 26, 9, 8, false}},
        {{2, 5, 0, 12, false}, {4, 11, 0, 8, false}, {7, 21, 7, 8, false}, {7, 25, 10, 8, true}}};
    const stencil_resident_shape far[2][STENCIL_RESIDENT_SHAPES] = {
        {{6, 4, 0, 8, false}, {6, 9, 0, 8, false}, {6, 14, 0, 8, false}, {0, 0, 0, 0, true}},
        {{6, 4, 0, 8, false}, {6, 6, 0, 8, false}, {6, 8, 0, 8, false}, {0, 0, 0, 0, true}}};
    return radius == 1 ? shapes[f64][index] : far[f64][index];
}

/* The tiles of a launch: each part has a grid of tiles, with the same columns in all parts. Where a part
 * adjoins another one, tiles of that part are next to its first or last row of tiles, and store their words
 * after those of its tiles. */
typedef struct stencil_resident {
    int32_t shape, warps; /* tile shape; warps of a block */
    int32_t tiles[2];     /* tiles of a part along y and x; shape, warps and tiles 0: no tiles */
    int32_t tiles_z,
        warps_z;     /* tiles, and warps of a block, along z in 3D (kernels/sweeps/resident3d.h); 1 in 2D */
    uint64_t *words; /* flagged words, each with a ghost cell and the number of its exchange: `ghosts` for
                        each tile, tiles of adjacent parts included, and for even and for odd
                        exchanges; zeroed once */
    uint64_t *beyond[2]; /* words of the part above and of the part below; NULL: the field ends, or is
                            periodic within the part */
    uint32_t *exchanges; /* [tiles of the part]: exchanges that the tile's block has made in all launches */
    uint32_t checks;     /* checks that earlier launches of the run have made inside the loop */
    double *nodes;       /* 2D: nodes[row of the part][partial sum of the row][STENCIL_PARTIAL_NODES] of the
                            checked step */
    void *kept;          /* 2D: cells of all tiles after the checked step, as lanes hold them:
                            kept[block][warp][row * cells + cell][lane] */
} stencil_resident;

/* Returns the number of tiles of a part. */
STENCIL_ANYWHERE int32_t stencil_resident_tiles(const stencil_resident *r) {
    return r->tiles_z * r->tiles[0] * r->tiles[1];
}

/* Returns the row of words, in a part's memory, that tiles of the part above (side 0) or below (side 1)
 * write. */
STENCIL_ANYWHERE int32_t stencil_resident_row_beyond(int32_t rows, int side) {
    return side == 0 ? rows + 1 : rows;
}

/* Returns the rows of words of a part: one for each row of tiles, and if y is cut two for adjacent parts. */
STENCIL_ANYWHERE int32_t stencil_resident_rows_of_words(int32_t rows, bool cut) {
    return rows + (cut ? 2 : 0);
}

/* In 2D a tile sums the residual of a checked step in nodes, each of STENCIL_NODE_CELLS adjacent cells from a
 * multiple of that in the field on: nodes of the tree of a partial sum (kernels/residual.h). The tiles of a
 * row have all nodes between them if adjacent tiles have node - 1 columns in common that are valid after the
 * step: 2 (reach - radius * step) >= STENCIL_NODE_CELLS - 1, with the steps since the last exchange. */
enum { STENCIL_NODE_CELLS = 4, STENCIL_PARTIAL_NODES = 64 / STENCIL_NODE_CELLS };

/* Returns how many steps, at the end of as many as ghost cells suffice for, may not be checked. */
STENCIL_ANYWHERE int32_t stencil_resident_late(int radius) {
    return (STENCIL_NODE_CELLS - 1 + 2 * radius - 1) / (2 * radius);
}
/* Returns the width of the ghost cells of tiles for passes of up to `depth` steps: at least the first step of
 * a pass may be checked. */
STENCIL_ANYWHERE int32_t stencil_resident_reach(int radius, int depth) {
    const int least = 1 + stencil_resident_late(radius);
    return radius * (depth > least ? depth : least);
}
/* Returns the last step of a pass that may be checked. */
STENCIL_ANYWHERE int32_t stencil_resident_latest(int radius, int reach) {
    return reach / radius - stencil_resident_late(radius);
}

/* An axis of a part, covered by tiles. At an end with boundary or mirrored cells the outer tile includes
 * `radius` of them; at an end next to another part it includes ghost cells. Other tiles are spread evenly; on
 * a periodic axis that is not cut all tiles are. */
typedef struct stencil_resident_axis {
    int64_t n, length; /* cells of the part, and of a tile, along the axis */
    int32_t tiles;
    int32_t reach;      /* ghost cells at each end of a tile: radius times the steps of a pass */
    int32_t outside[2]; /* cells that the outer tiles have beyond the part's ends: radius or reach */
    bool round;         /* the axis is periodic: the first tile adjoins the last one */
    bool aligned;       /* tiles begin at multiples of their length, but one at the end of the axis */
} stencil_resident_axis;

/* Returns an axis of a part of n cells, with no tiles yet. closed: the part ends there with boundary or
 * mirrored cells. cut: the axis has several parts. */
STENCIL_ANYWHERE stencil_resident_axis stencil_resident_axis_of(int64_t n, int64_t length, int radius,
                                                                int reach, const bool closed[2], bool cut) {
    const stencil_resident_axis a = {
        n,    length, 0, reach, {closed[0] ? radius : reach, closed[1] ? radius : reach}, !closed[0] && !cut,
        false};
    return a;
}

STENCIL_ANYWHERE int64_t stencil_resident_begin(const stencil_resident_axis *a, int64_t tile) {
    if (a->aligned)
        return a->round || tile < a->tiles - 1 ? tile * a->length : a->n - a->length;
    if (a->round)
        return a->n * tile / a->tiles - a->reach;
    const int64_t span = a->n + a->outside[0] + a->outside[1] -
                         a->length; /* distance from the begin of the first tile to that of the last tile */
    return (a->tiles == 1 ? 0 : span * tile / (a->tiles - 1)) - a->outside[0];
}

/* Returns the distance from the begin of tile `tile` to that of the next (step 1) or previous one (step -1),
 * which may be another part's. */
STENCIL_ANYWHERE int64_t stencil_resident_shift(const stencil_resident_axis *a, int64_t tile, int step) {
    int64_t other = tile + step, around = 0;
    if (!a->round && (other < 0 || other == a->tiles))
        return step * (a->length - 2 * a->reach);
    if (other < 0 || other == a->tiles)
        other -= step * a->tiles, around = step * a->n;
    return stencil_resident_begin(a, other) + around - stencil_resident_begin(a, tile);
}

/* The layout of a block's shared memory: offsets in cells, counted from byte STENCIL_RESIDENT_PLACE. The
 * bytes before hold a tile's data and, last, tables of the warps. */
enum { STENCIL_RESIDENT_TABLES = 12 * 48, STENCIL_RESIDENT_PLACE = 384 + STENCIL_RESIDENT_TABLES };
typedef struct stencil_resident_memory {
    int32_t edge;  /* two buffers of each warp's outer rows: old and new */
    int32_t mixed; /* inner rows of the warps that are not in registers */
    int32_t stage; /* ghost cells: rows above and below, then columns at the left and right; cells to be sent
                      wait there, too */
    int32_t weights; /* weights of all steps; in the general kernel, weights of each step of a pass */
    int32_t source;  /* source term of all cells, if there is one */
    int32_t rows;    /* all rows, if warps make some of them there (resident_rows.cuh); then also: */
    int32_t table;   /* the weights of classes */
    int32_t classes; /* classes of all cells, a byte for each; for the cells of a lane in a row whole words */
    int32_t ghosts;  /* number of ghost cells in the stage */
    int32_t bytes;   /* bytes in all, with the list of where ghost rows come from, which is last */
} stencil_resident_memory;

/* Returns the rows of ghost cells of the stage, all adjacent, that are free while a pass makes its steps:
 * tiles keep only the `radius` rows next to their own there. first: the first of them. */
STENCIL_ANYWHERE int32_t stencil_resident_free_rows(int radius, int reach, int32_t *first) {
    *first = radius;
    return 2 * (reach - radius);
}

/* Returns the distance, in cells, between columns of staged ghost cells. It is odd, so that lanes that access
 * different columns use different banks. */
STENCIL_ANYWHERE int32_t stencil_resident_stage_column(int32_t rows) {
    return rows | 1;
}

/* Returns the length in words of the lists of positions of ghost rows, ghost columns and rows of a tile. They
 * come before the list of where ghost rows come from. */
STENCIL_ANYWHERE int32_t stencil_resident_places(int32_t rows, int32_t reach) {
    return 4 * reach + rows;
}

/* Returns the bytes of shared memory that a tile has more where cells have classes: for each row a byte for
 * each lane, with a bit for each of its cells that keeps its value; for each warp a word, with a bit for each
 * row that has such cells, and in general kernels another one for rows with cells that have weights of their
 * own. They come before the lists of positions. */
STENCIL_ANYWHERE int32_t stencil_resident_kept_bytes(stencil_resident_shape shape, int warps, bool general) {
    return (warps * (shape.rows * 32 + (int32_t)sizeof(uint32_t) * (general ? 2 : 1)) + 15) / 16 * 16;
}

/* Returns the cells of a class in the table of the weights of classes: its weights, the factor of the source
 * term, and its constant. Their number is odd, so that lanes with different classes read different banks. */
STENCIL_CONSTANT int stencil_resident_of_class(int points) {
    return (points + 2) | 1;
}

/* Returns the words with the classes of the cells of a lane in a row. */
STENCIL_CONSTANT int stencil_resident_words(int cells) {
    return (cells + 3) / 4;
}

/* classes: cells of the table of the weights of classes; 0: no cells have weights of their own. */
STENCIL_ANYWHERE stencil_resident_memory stencil_resident_memory_of(stencil_resident_shape shape, int radius,
                                                                    bool f64, int warps, int reach,
                                                                    int weights, bool source, int classes) {
    stencil_resident_memory m = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const int width = 32 * shape.cells, rows = warps * shape.rows;
    m.ghosts = 2 * reach * (width + rows);
    m.mixed = 2 * warps * 2 * radius * width;
    m.stage = m.mixed + warps * shape.mixed * width;
    m.weights = m.stage + 2 * reach * (width + stencil_resident_stage_column(rows));
    m.source = m.weights + weights;
    m.rows = m.source + (source ? rows * width : 0);
    m.table = m.rows + (classes > 0 ? rows * width : 0);
    m.classes = m.table + classes;
    const int words = rows * 32 * stencil_resident_words(shape.cells),
              cells = m.classes + (classes > 0 ? f64 ? (words + 1) / 2 : words : 0);
    m.bytes = STENCIL_RESIDENT_PLACE + cells * (f64 ? 8 : 4) +
              (2 * width + stencil_resident_places(rows, reach)) * (int32_t)sizeof(uint32_t);
    return m;
}
