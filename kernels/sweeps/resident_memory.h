/* The shared memory of a tile of the resident sweep with what its exchanges need besides, for its kernels and
 * for the host that launches them. */
#pragma once

#include "kernels/sweeps/resident.h"

/* From column to column of the stage: odd, so that lanes with cells of several use several banks. */
STENCIL_ANYWHERE int32_t stencil_resident_stage_column(int32_t rows) {
    return rows | 1;
}

/* Words of stencil_resident_memory's last piece: before the list of where ghost rows come from, lists of
 * where ghost rows, ghost columns and the rows of the tile are. */
STENCIL_ANYWHERE int32_t stencil_resident_places(int32_t rows, int32_t reach) {
    return 4 * reach + rows;
}

STENCIL_ANYWHERE stencil_resident_memory stencil_resident_tile_memory(stencil_resident_shape shape,
                                                                      int radius, bool f64, int warps,
                                                                      int reach, int weights, bool source) {
    stencil_resident_memory m = stencil_resident_memory_of(shape, radius, f64, warps, reach, weights, source);
    const int rows = warps * shape.rows, more = 2 * reach * (stencil_resident_stage_column(rows) - rows);
    m.weights += more;
    m.source += more;
    m.bytes += more * (f64 ? 8 : 4) + stencil_resident_places(rows, reach) * (int32_t)sizeof(uint32_t);
    return m;
}
