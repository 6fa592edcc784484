/* What the resident sweep keeps where, for its kernels and for the host that launches them. */
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
    bool plain; /* leaves no registers for what general problems need (stencil_sweep_is_general()) */
} stencil_resident_shape;

/* From small fields to large ones: as many cells as registers hold without spills. A mirrored side needs
 * twice the radius in a lane. rows 0: there is no such shape. */
STENCIL_CONSTANT stencil_resident_shape stencil_resident_shape_of(int radius, bool f64, int index) {
    const stencil_resident_shape shapes[2][STENCIL_RESIDENT_SHAPES] = {
        {{2, 5, 0, 12, false}, {4, 11, 0, 8, false}, {6, 16, 5, 12, false}, {6, 26, 9, 8, false}},
        {{2, 5, 0, 12, false}, {4, 11, 0, 8, false}, {6, 24, 8, 8, false}, {7, 25, 10, 8, true}}};
    const stencil_resident_shape far[2][STENCIL_RESIDENT_SHAPES] = {
        {{6, 4, 0, 8, false}, {6, 9, 0, 8, false}, {6, 14, 0, 8, false}, {0, 0, 0, 0, true}},
        {{6, 4, 0, 8, false}, {6, 6, 0, 8, false}, {6, 8, 0, 8, false}, {0, 0, 0, 0, true}}};
    return radius == 1 ? shapes[f64][index] : far[f64][index];
}

/* How a launch lays its tiles. Along an axis with boundary or mirrored cells the first tile begins with them
 * and the last one ends with them, those between are spread evenly; along a periodic one all are. `reach`:
 * ghost cells of a tile beside its own, the radius times the steps from one exchange to the next. */
typedef struct stencil_resident {
    int32_t shape, warps;     /* of a block */
    int32_t tiles[2];         /* along y and x; shape, warps and tiles 0: there are none */
    int32_t tiles_z, warps_z; /* in 3D along z (kernels/sweeps/resident3d.h); in 2D 1 */
    uint64_t *words;          /* tiles * 2 * ghosts cells of flagged words, zeroed once */
    uint32_t *exchanges;      /* [tiles]: how many a block has made in all launches */
} stencil_resident;

/* How many tiles there are. */
STENCIL_ANYWHERE int32_t stencil_resident_tiles(const stencil_resident *r) {
    return r->tiles_z * r->tiles[0] * r->tiles[1];
}

STENCIL_ANYWHERE int64_t stencil_resident_begin(int64_t n, int64_t length, int radius, int reach, bool open,
                                                int64_t tiles, int64_t tile) {
    if (open)
        return n * tile / tiles - reach;
    return tiles == 1 ? -radius : (n + 2 * radius - length) * tile / (tiles - 1) - radius;
}

/* From where tile `tile` begins to where the one beside it does, on either side (step -1, 1). */
STENCIL_ANYWHERE int64_t stencil_resident_shift(int64_t n, int64_t length, int radius, int reach, bool open,
                                                int64_t tiles, int64_t tile, int step) {
    const int64_t other = (tile + step + tiles) % tiles, wrapped = tile + step - other; /* 0, or +-tiles */
    return stencil_resident_begin(n, length, radius, reach, open, tiles, other) + wrapped / tiles * n -
           stencil_resident_begin(n, length, radius, reach, open, tiles, tile);
}

/* The shared memory of a block: where each piece begins, in cells, behind STENCIL_RESIDENT_PLACE bytes. */
enum { STENCIL_RESIDENT_PLACE = 256 };
typedef struct stencil_resident_memory {
    int32_t edge;    /* the outer rows of each warp, twice: as they are, and as the next step makes them */
    int32_t mixed;   /* its rows between those in registers */
    int32_t stage;   /* ghost cells: rows above and below, then those of the rows at the left and right, where
                        cells for the tiles there lie before they are sent */
    int32_t fixed;   /* boundary cells of each row */
    int32_t weights; /* of all steps; in the general kernel of each one of a pass */
    int32_t source;  /* the source term of all cells, where there is one */
    int32_t ghosts;  /* cells of the stage */
    int32_t bytes;   /* of all, with the list of where each ghost cell comes from, which comes last */
} stencil_resident_memory;

STENCIL_ANYWHERE stencil_resident_memory stencil_resident_memory_of(stencil_resident_shape shape, int radius,
                                                                    bool f64, int warps, int reach,
                                                                    int weights, bool source) {
    stencil_resident_memory m = {0, 0, 0, 0, 0, 0, 0, 0};
    const int width = 32 * shape.cells, rows = warps * shape.rows;
    m.ghosts = 2 * reach * (width + rows);
    m.mixed = 2 * warps * 2 * radius * width;
    m.stage = m.mixed + warps * shape.mixed * width;
    m.fixed = m.stage + m.ghosts;
    m.weights = m.fixed + 2 * rows * radius;
    m.source = m.weights + weights;
    const int cells = m.source + (source ? rows * width : 0);
    m.bytes = STENCIL_RESIDENT_PLACE + cells * (f64 ? 8 : 4) + m.ghosts * 4;
    return m;
}
