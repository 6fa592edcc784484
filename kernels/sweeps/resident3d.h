/* Tiles and memory of the resident sweep in 3D, for its kernels and for the host that launches them. */
#pragma once

#include "kernels/sweeps/resident.h"

/* A block, of which a multiprocessor holds one, keeps a tile; a lane has STENCIL_BOX_CELLS cells beside each
 * other of `rows` rows and `planes` planes in registers, STENCIL_BOX_LANES lanes make a row of the tile. How
 * many warps stand beside each other along y and z, up to `warps` in all, is the plan's choice. Tiles are
 * whole: they have cells in common where the field has no whole number of them. rows 0: no such shape. */
enum { STENCIL_BOX_LANES = 16, STENCIL_BOX_CELLS = 2, STENCIL_BOX_SHAPES = 4 };
typedef struct stencil_box_shape {
    int rows, planes, warps;
    bool twin; /* two buffers in shared memory: new cells need not wait until all have read the old ones */
} stencil_box_shape;

/* From small fields to large ones. (Kernels are compiled for them: no values of a GPU.) */
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
    bool twin; /* it has two buffers */
} stencil_box_extent;
STENCIL_ANYWHERE stencil_box_extent stencil_box_extent_of(stencil_box_shape shape, int warps, int warps_z) {
    const stencil_box_extent extent = {{warps_z * shape.planes,
                                        warps / warps_z * (32 / STENCIL_BOX_LANES) * shape.rows,
                                        STENCIL_BOX_LANES * STENCIL_BOX_CELLS},
                                       shape.twin};
    return extent;
}

/* An axis of n cells, which whole tiles of `length` are laid along: they have no ghost cells in their length.
 */
STENCIL_ANYWHERE stencil_resident_axis stencil_box_axis(int64_t n, int64_t length, bool periodic,
                                                        int32_t tiles) {
    const stencil_resident_axis a = {n, length, tiles, 0, {0, 0}, periodic};
    return a;
}

/* Returns the distance from row to row of a tile in shared memory, in cells: lanes of two groups of rows read
 * from different banks, and cells of float64 below each other lie in different ones. */
STENCIL_CONSTANT int stencil_box_row(int radius, bool f64) {
    const int pad = (radius + STENCIL_BOX_CELLS - 1) / STENCIL_BOX_CELLS;
    return STENCIL_BOX_CELLS * (STENCIL_BOX_LANES + 2 * pad) + f64;
}

/* The words of a tile: slabs of cells that tiles beside it want, `radius` thick, two for each axis (z low, z
 * high, y low, ...), in groups of eight cells, which are a few words of 128 bits with the number of the
 * exchange in each (kernels/sweeps/resident3d_exchange.cuh); the second words of all groups lie behind the
 * first ones, at a distance that the compiler knows. */
enum {
    STENCIL_BOX_GROUP = 8,
    STENCIL_BOX_GROUPS = 1536, /* of a tile, at most */
    STENCIL_BOX_SLABS = 6,
    STENCIL_BOX_WORD_BYTES = 16,
    STENCIL_BOX_PLACE = 384
};
typedef struct stencil_box_memory {
    int32_t row, plane;                  /* cells from row to row, from plane to plane */
    int32_t slab[STENCIL_BOX_SLABS + 1]; /* the first group of each, and how many there are */
    int32_t edges;                /* ghost cells that come with none of the slabs beside the tile, at most */
    int32_t cells;                /* of the tile with its ghost cells */
    int32_t twin;                 /* to the second buffer, in cells; 0: there is one only */
    int32_t weights;              /* where they begin, in cells */
    int32_t sent, taken, corners; /* lists, in bytes: groups' cells and their words, ghost cells and theirs;
                                     those at edges */
    int32_t bytes;
} stencil_box_memory;

/* Words of a group; bytes of the words of a tile, for even and for odd exchanges. */
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
