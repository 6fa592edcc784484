/* Tiles and memory of the resident sweep, for its kernels and for the host that launches them. */
#pragma once

#include "kernels/points.h"

/* A block, of which a multiprocessor holds one, keeps a tile of 32 * cells columns and warps * rows rows,
 * `cells` beside each other in a lane, `rows` in a warp; how many warps, up to `warps`, is the plan's choice.
 * Rows are in registers. Where these do not suffice, `mixed` > 0 of them are in shared memory, evenly between
 * the others, so that the fma pipe and shared memory have something to do at the same time, and the outer
 * `radius` of a warp too, which other warps read there anyway. Beyond the first and the last row of a tile
 * come `radius` more, which are only read. */
enum { STENCIL_RESIDENT_SHAPES = 4 };
typedef struct stencil_resident_shape {
    int cells, rows, mixed, warps;
    bool plain; /* leaves no registers for what general problems need (stencil_variant.general) */
} stencil_resident_shape;

/* From small fields to large ones: as many cells as registers hold without spills. A mirrored side needs
 * twice the radius in a lane. rows 0: there is no such shape. (Kernels are compiled for them: no values of a
 * GPU.) */
STENCIL_CONSTANT stencil_resident_shape stencil_resident_shape_of(int radius, bool f64, int index) {
    const stencil_resident_shape shapes[2][STENCIL_RESIDENT_SHAPES] = {
        {{2, 5, 0, 12, false}, {4, 11, 0, 8, false}, {7, 21, 0, 8, false}, {6, 26, 9, 8, false}},
        {{2, 5, 0, 12, false}, {4, 11, 0, 8, false}, {7, 21, 7, 8, false}, {7, 25, 10, 8, true}}};
    const stencil_resident_shape far[2][STENCIL_RESIDENT_SHAPES] = {
        {{6, 4, 0, 8, false}, {6, 9, 0, 8, false}, {6, 14, 0, 8, false}, {0, 0, 0, 0, true}},
        {{6, 4, 0, 8, false}, {6, 6, 0, 8, false}, {6, 8, 0, 8, false}, {0, 0, 0, 0, true}}};
    return radius == 1 ? shapes[f64][index] : far[f64][index];
}

/* The tiles of a launch: a grid for each part, at the same places along x in all parts. Above the first and
 * below the last row of it may stand tiles of other parts, the last and the first of theirs: their words come
 * behind those of the part's own rows, where these parts store them. */
typedef struct stencil_resident {
    int32_t shape, warps;     /* of a block */
    int32_t tiles[2];         /* of a part along y and x; shape, warps and tiles 0: there are none */
    int32_t tiles_z, warps_z; /* in 3D along z (kernels/sweeps/resident3d.h); in 2D 1 */
    uint64_t *words;     /* tiles * 2 * ghosts cells of flagged words, those of other parts included, each
                            with the number of its exchange, of which there are even and odd ones; zeroed
                            once */
    uint64_t *beyond[2]; /* those of the part above and of the one below; NULL: the field ends, or goes round
                            within the part */
    uint32_t *exchanges; /* [own tiles]: how many a block has made in all launches */
} stencil_resident;

/* Returns the number of tiles of a part. */
STENCIL_ANYWHERE int32_t stencil_resident_tiles(const stencil_resident *r) {
    return r->tiles_z * r->tiles[0] * r->tiles[1];
}

/* The row of words of tiles of the part above, and of those below: seen from there, those are below and
 * above. */
STENCIL_ANYWHERE int32_t stencil_resident_row_beyond(int32_t rows, int side) {
    return side == 0 ? rows + 1 : rows;
}

/* Rows of words: own ones, and where the axis is cut those two. */
STENCIL_ANYWHERE int32_t stencil_resident_rows_of_words(int32_t rows, bool cut) {
    return rows + (cut ? 2 : 0);
}

/* An axis of a part, which tiles are laid along. Where it ends with boundary or mirrored cells, so does the
 * tile at that end, `radius` of them; where another part goes on, the tile ends with ghost cells. Those
 * between are spread evenly; along a periodic axis that is not cut all are. */
typedef struct stencil_resident_axis {
    int64_t n, length; /* cells of the part, and of a tile */
    int32_t tiles;
    int32_t reach;      /* ghost cells of a tile beside its own, the radius times the steps of a pass */
    int32_t outside[2]; /* of a tile beyond the ends of the part: the radius, or reach */
    bool round;         /* the first tile is beside the last one */
} stencil_resident_axis;

/* An axis without tiles yet, of a part of n cells. closed: the part ends there with boundary or mirrored
 * cells. cut: the axis has several parts. */
STENCIL_ANYWHERE stencil_resident_axis stencil_resident_axis_of(int64_t n, int64_t length, int radius,
                                                                int reach, const bool closed[2], bool cut) {
    const stencil_resident_axis a = {
        n, length, 0, reach, {closed[0] ? radius : reach, closed[1] ? radius : reach}, !closed[0] && !cut};
    return a;
}

STENCIL_ANYWHERE int64_t stencil_resident_begin(const stencil_resident_axis *a, int64_t tile) {
    if (a->round)
        return a->n * tile / a->tiles - a->reach;
    const int64_t span = a->n + a->outside[0] + a->outside[1] - a->length; /* from the first to the last */
    return (a->tiles == 1 ? 0 : span * tile / (a->tiles - 1)) - a->outside[0];
}

/* Returns the distance from the begin of tile `tile` to that of the one beside it, on either side (step -1,
 * 1), also where that is another part's. */
STENCIL_ANYWHERE int64_t stencil_resident_shift(const stencil_resident_axis *a, int64_t tile, int step) {
    int64_t other = tile + step, around = 0;
    if (!a->round && (other < 0 || other == a->tiles))
        return step * (a->length - 2 * a->reach);
    if (other < 0 || other == a->tiles)
        other -= step * a->tiles, around = step * a->n;
    return stencil_resident_begin(a, other) + around - stencil_resident_begin(a, tile);
}

/* The shared memory of a block: where each piece begins, in cells, behind STENCIL_RESIDENT_PLACE bytes, of
 * which tables of the warps are the last. */
enum { STENCIL_RESIDENT_TABLES = 12 * 48, STENCIL_RESIDENT_PLACE = 256 + STENCIL_RESIDENT_TABLES };
typedef struct stencil_resident_memory {
    int32_t edge;    /* the outer rows of each warp, twice: as they are, and as the next step makes them */
    int32_t mixed;   /* its rows between those in registers */
    int32_t stage;   /* ghost cells: rows above and below, then those of the rows at the left and right, where
                        cells for the tiles there lie before they are sent */
    int32_t weights; /* of all steps; in the general kernel of each one of a pass */
    int32_t source;  /* the source term of all cells, where there is one */
    int32_t ghosts;  /* cells of the stage */
    int32_t bytes;   /* of all, with the list of where ghost rows come from, which comes last */
} stencil_resident_memory;

/* The distance from column to column of the stage. It is odd, so that lanes with cells of several use several
 * banks. */
STENCIL_ANYWHERE int32_t stencil_resident_stage_column(int32_t rows) {
    return rows | 1;
}

/* Lists of where ghost rows, ghost columns and the rows of the tile are, in words; they lie before that of
 * where ghost rows come from. */
STENCIL_ANYWHERE int32_t stencil_resident_places(int32_t rows, int32_t reach) {
    return 4 * reach + rows;
}

STENCIL_ANYWHERE stencil_resident_memory stencil_resident_memory_of(stencil_resident_shape shape, int radius,
                                                                    bool f64, int warps, int reach,
                                                                    int weights, bool source) {
    stencil_resident_memory m = {0, 0, 0, 0, 0, 0, 0};
    const int width = 32 * shape.cells, rows = warps * shape.rows;
    m.ghosts = 2 * reach * (width + rows);
    m.mixed = 2 * warps * 2 * radius * width;
    m.stage = m.mixed + warps * shape.mixed * width;
    m.weights = m.stage + 2 * reach * (width + stencil_resident_stage_column(rows));
    m.source = m.weights + weights;
    const int cells = m.source + (source ? rows * width : 0);
    m.bytes = STENCIL_RESIDENT_PLACE + cells * (f64 ? 8 : 4) +
              (2 * width + stencil_resident_places(rows, reach)) * (int32_t)sizeof(uint32_t);
    return m;
}
