/* Ghost cells: the owner of an edge cell writes its copies, into ghost cells of its own part or of the part
 * beyond. No thread ever reads a ghost cell to fill another. */
#pragma once

#include "kernels/cells.cuh"

namespace stencil {

/* Whether the cells [low, high) hold one at an edge; those beyond the end do not count. */
__device__ __forceinline__ bool at_edge(const stencil_domain &d, int axis, int low, int high) {
    return low < d.reach[axis][STENCIL_LOW] ||
           min(high, (int)d.n[axis]) > (int)d.n[axis] - d.reach[axis][STENCIL_HIGH];
}

/* Writes all copies of `count` cells of row (z, y) from x on, at most V, into buffer `to`: of the row, where
 * the row is at an edge, and of its ends, each in every direction where a part needs it. */
template <class T, int V = vector_cells<T>>
__device__ __forceinline__ void write_copies(const stencil_domain &d, int to, int64_t z, int64_t y, int64_t x,
                                             int count, const T *value) {
#pragma unroll 1
    for (int dz = -1; dz <= 1; dz++) {
        if (dz != 0 && !stencil_is_edge(&d, STENCIL_Z, dz, z))
            continue;
#pragma unroll 1
        for (int dy = -1; dy <= 1; dy++) {
            if (dy != 0 && !stencil_is_edge(&d, STENCIL_Y, dy, y))
                continue;
            const int64_t row = (dz == 0 ? z : stencil_image(&d, STENCIL_Z, dz, z)) * d.plane +
                                (dy == 0 ? y : stencil_image(&d, STENCIL_Y, dy, y)) * d.row;
            const int direction = STENCIL_DIRECTION(dz, dy, 0);
            if (direction != STENCIL_HERE) {
                T *const copy = static_cast<T *>(d.image[direction][to]) + row + x;
                if (V == vector_cells<T> && count == V) {
                    store_vector(copy, value);
                } else {
#pragma unroll
                    for (int v = 0; v < V; v++)
                        if (v < count)
                            copy[v] = value[v];
                }
            }
            if (!at_edge(d, STENCIL_X, (int)x, (int)x + count))
                continue;
            T *const low = static_cast<T *>(d.image[direction - 1][to]) + row;
            T *const high = static_cast<T *>(d.image[direction + 1][to]) + row;
#pragma unroll
            for (int v = 0; v < V; v++) {
                if (v < count && stencil_is_edge(&d, STENCIL_X, -1, x + v))
                    low[stencil_image(&d, STENCIL_X, -1, x + v)] = value[v];
                if (v < count && stencil_is_edge(&d, STENCIL_X, 1, x + v))
                    high[stencil_image(&d, STENCIL_X, 1, x + v)] = value[v];
            }
        }
    }
}

/* The same for the cells of a thread's rows and planes from (z, y, x) on, read back from what it has just
 * stored; rows without an edge are passed over before anything is read. Inlined: a call
 * would fetch the parameters of the kernel from memory, and cost the streaming loop registers that live
 * across it. */
template <class T>
__device__ __forceinline__ void copy_rows(const stencil_domain &d, int to, int z, int y, int x, int deep,
                                          int high) {
    const T *u = static_cast<const T *>(d.u[to]);
    const int cells = min(vector_cells<T>, (int)d.n[STENCIL_X] - x);
    const bool ends = at_edge(d, STENCIL_X, x, x + cells);
#pragma unroll 1
    for (int h = 0; h < deep * high; h++) {
        const int row_z = deep > 1 ? z + h : z, row_y = deep > 1 ? y : y + h;
        if (!ends && !at_edge(d, STENCIL_Z, row_z, row_z + 1) && !at_edge(d, STENCIL_Y, row_y, row_y + 1))
            continue;
        T value[vector_cells<T>];
        load_vector(u + row_z * d.plane + row_y * d.row + x, value);
        write_copies(d, to, row_z, row_y, x, cells, value);
    }
}

} // namespace stencil
