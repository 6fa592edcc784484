/* Tiles and memory of the resident sweep in 3D, for its kernels and for the host that launches them. */
#pragma once

#include "kernels/sweeps/resident.h"

/* The shape of a 3D tile, which a block keeps on its multiprocessor: a lane has STENCIL_BOX_CELLS adjacent
 * cells of `rows` rows and `planes` planes in registers, and STENCIL_BOX_LANES lanes make a row of the tile.
 * The plan chooses how many warps, up to `warps`, are along y and z. If tiles do not divide the field, they
 * overlap. rows 0: no such shape. */
enum { STENCIL_BOX_LANES = 16, STENCIL_BOX_CELLS = 2, STENCIL_BOX_SHAPES = 4 };
typedef struct stencil_box_shape {
    int rows, planes, warps;
    bool twin; /* two buffers in shared memory, so that new cells are stored before all old ones are read */
} stencil_box_shape;

/* Returns 3D tile shape `index`, ordered from small fields to large ones. The shapes are compiled into
 * kernels. */
STENCIL_CONSTANT stencil_box_shape stencil_box_shape_of(int radius, bool f64, int index) {
    const stencil_box_shape shapes[2][STENCIL_BOX_SHAPES] = {
        {{4, 2, 16, true}, {4, 4, 16, true}, {4, 8, 8, true}, {4, 8, 12, false}},
        {{4, 2, 16, true}, {4, 8, 8, false}, {0, 0, 0, false}, {0, 0, 0, false}}};
    const stencil_box_shape far[2][STENCIL_BOX_SHAPES] = {
        {{4, 4, 16, false}, {0, 0, 0, false}, {0, 0, 0, false}, {0, 0, 0, false}},
        {{4, 4, 12, false}, {0, 0, 0, false}, {0, 0, 0, false}, {0, 0, 0, false}}};
    return radius == 1 ? shapes[f64][index] : far[f64][index];
}

/* Cells of a tile along z, y and x. */
typedef struct stencil_box_extent {
    int32_t cells[3];
    bool twin; /* the tile has two buffers in shared memory */
} stencil_box_extent;
STENCIL_ANYWHERE stencil_box_extent stencil_box_extent_of(stencil_box_shape shape, int warps, int warps_z) {
    const stencil_box_extent extent = {{warps_z * shape.planes,
                                        warps / warps_z * (32 / STENCIL_BOX_LANES) * shape.rows,
                                        STENCIL_BOX_LANES * STENCIL_BOX_CELLS},
                                       shape.twin};
    return extent;
}

/* Tells whether tiles of a row of n cells begin at multiples of their length, half a group of cells whose
 * residual is a partial sum: then each tile sums its cells by itself, and steps are checked inside the loop.
 * The last two tiles have to begin a radius apart. */
STENCIL_ANYWHERE bool stencil_box_aligns(int64_t n, int radius) {
    const int64_t rest = n % (STENCIL_BOX_LANES * STENCIL_BOX_CELLS);
    return rest == 0 || rest >= radius;
}

/* Returns an axis of n cells covered by tiles of `length` cells, without ghost cells. aligned: the axis is x,
 * and stencil_box_aligns(). */
STENCIL_ANYWHERE stencil_resident_axis stencil_box_axis(int64_t n, int64_t length, bool periodic,
                                                        int32_t tiles, bool aligned) {
    const stencil_resident_axis a = {n, length, tiles, 0, {0, 0}, periodic, aligned};
    return a;
}

/* Returns the distance in cells from row to row of a tile in shared memory, chosen so that lanes of two
 * groups of rows, and float64 cells of adjacent rows, use different banks. */
STENCIL_CONSTANT int stencil_box_row(int radius, bool f64) {
    const int pad = (radius + STENCIL_BOX_CELLS - 1) / STENCIL_BOX_CELLS;
    return STENCIL_BOX_CELLS * (STENCIL_BOX_LANES + 2 * pad) + f64;
}

/* The words of a 3D tile, with the slabs of cells that adjacent tiles read: `radius` thick, two for each axis
 * (z low, z high, y low, ...). A group of eight cells is a few words of 128 bits, each with the number of the
 * exchange (kernels/sweeps/resident3d_exchange.cuh); word k of all groups is contiguous, at a constant
 * distance from word k - 1. */
enum {
    STENCIL_BOX_GROUP = 8,
    STENCIL_BOX_GROUPS = 1536, /* most groups of a tile */
    STENCIL_BOX_SLABS = 6,
    STENCIL_BOX_WORD_BYTES = 16,
    STENCIL_BOX_PLACE = 448
};
typedef struct stencil_box_memory {
    int32_t row, plane;                  /* cells from row to row, and from plane to plane */
    int32_t slab[STENCIL_BOX_SLABS + 1]; /* first group of each slab; last entry: number of groups */
    int32_t edges;   /* most ghost cells at edges and corners, which adjacent tiles do not send */
    int32_t cells;   /* cells of the tile, ghost cells included */
    int32_t twin;    /* distance to the second buffer of cells; 0: there is only one */
    int32_t weights; /* where weights begin, in cells */
    int32_t sent, taken,
        corners; /* where lists begin, in bytes: groups to send, groups to receive, ghost cells at edges */
    int32_t bytes;
} stencil_box_memory;

/* Returns the words of a group of cells (words), and the bytes of a tile's words for even and odd exchanges
 * (word_bytes). */
STENCIL_CONSTANT int stencil_box_words(bool f64) {
    return f64 ? 5 : 3;
}
STENCIL_CONSTANT int64_t stencil_box_word_bytes(bool f64) {
    return 2 * stencil_box_words(f64) * STENCIL_BOX_GROUPS * STENCIL_BOX_WORD_BYTES;
}

STENCIL_ANYWHERE stencil_box_memory stencil_box_memory_of(const stencil_box_extent *tile, int radius,
                                                          bool star, bool f64, int weights) {
    stencil_box_memory m = {0, 0, {0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0};
    const int size = f64 ? 8 : 4, z = tile->cells[0], y = tile->cells[1], x = tile->cells[2],
              wide = 2 * radius;
    const int slab[3] = {radius * y * x, radius * z * x, radius * z * y};
    m.row = stencil_box_row(radius, f64);
    m.plane = (y + wide) * m.row;
    for (int s = 0; s < STENCIL_BOX_SLABS; s++)
        m.slab[s + 1] = m.slab[s] + slab[s / 2] / STENCIL_BOX_GROUP;
    m.edges = star ? 0 : (z + wide) * (y + wide) * (x + wide) - z * y * x - 2 * (slab[0] + slab[1] + slab[2]);
    m.cells = (z + wide) * m.plane;
    m.twin = tile->twin ? m.cells : 0;
    m.weights = m.cells + m.twin;
    m.sent = (STENCIL_BOX_PLACE + (m.weights + weights) * size + 15) / 16 * 16;
    m.taken = m.sent + m.slab[STENCIL_BOX_SLABS] * 16;
    m.corners = m.taken + m.slab[STENCIL_BOX_SLABS] * 16;
    m.bytes = m.corners + m.edges * 8;
    return m;
}

/* Returns where a tile's data on cells that have classes begin, in bytes, after the memory of all tiles. For
 * each plane of a lane there is a byte for each thread, with a bit for each cell that keeps its value; in
 * general kernels as many bytes follow for cells that have weights of their own, and as many with the class
 * of the first one of these; then words for each warp, with a bit for each of its planes
 * (resident3d_tile.cuh). stencil_box_classes_bytes(): how many bytes. */
enum { STENCIL_BOX_MARKS = 4 };
STENCIL_ANYWHERE int32_t stencil_box_classes_at(const stencil_box_memory *m) {
    return (m->bytes + 15) / 16 * 16;
}
STENCIL_ANYWHERE int32_t stencil_box_classes_bytes(stencil_box_shape shape, int warps, bool general) {
    return warps * (32 * shape.planes * (general ? 3 : 1) + STENCIL_BOX_MARKS * (int32_t)sizeof(uint32_t));
}
