/* Ghost cells: the part that owns an edge cell writes the cell's copies, into ghost cells of its own or of
 * the neighbouring part. No thread ever reads a ghost cell to fill another ghost cell. */
#pragma once

#include "kernels/cells.cuh"

namespace stencil {

/* Tells whether any cell in [low, high) along an axis is an edge cell, one that is copied; indices from
 * d.n[axis] on do not count. */
__device__ __forceinline__ bool at_edge(const stencil_domain &d, int axis, int low, int high) {
    return low < d.reach[axis][STENCIL_LOW] ||
           min(high, (int)d.n[axis]) > (int)d.n[axis] - d.reach[axis][STENCIL_HIGH];
}

/* Writes all copies of `count` cells (at most V) of row (z, y) from x on into buffer `to`: copies of all
 * these cells if the row is an edge row, of the cells at the row's ends, in every direction where a part
 * needs copies. */
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

/* Writes all copies of the vectors that a thread has stored at x into buffer `to`, in rows (where deep > 1,
 * planes) from (z, y) on. It reads the vectors back from memory, except for rows without an edge cell.
 * Inlined: a call would fetch the kernel's parameters from memory, and cost the streaming loop registers that
 * live across the call. */
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

/* The edge cells among [first, end) at a side of an axis, or all updated cells among them (side 0): the range
 * [low, high), the index `image` of the first copy, and the direction `step` of further copies. */
struct edge_cells {
    int low, high, step;
    int64_t image;

    __device__ __forceinline__ edge_cells(const stencil_domain &d, int axis, int side, int first, int end)
        : low(first), high(min(end, (int)d.n[axis])), step(1) {
        if (side < 0)
            high = min(high, d.reach[axis][STENCIL_LOW]);
        if (side > 0)
            low = max(low, (int)d.n[axis] - d.reach[axis][STENCIL_HIGH]);
        image = side == 0 ? low : stencil_image(&d, axis, side, low);
        if (side != 0 && d.mirror[axis][side < 0 ? STENCIL_LOW : STENCIL_HIGH])
            step = -1;
    }
    __device__ __forceinline__ int count() const {
        return max(high - low, 0);
    }
};

/* Copies `count` vectors, `cells` cells of each. Eight loads are in flight at once, since the latency of L2
 * is long. */
template <class T>
__device__ __forceinline__ void copy_vectors(const T *from, int64_t from_step, T *to, int64_t to_step,
                                             int count, int cells) {
    constexpr int V = vector_cells<T>, batch = 8;
#pragma unroll 1
    for (int i = 0; i < count; i += batch) {
        T value[batch][V];
#pragma unroll
        for (int k = 0; k < batch; k++)
            load_vector(from + (int64_t)min(i + k, count - 1) * from_step, value[k]);
#pragma unroll
        for (int k = 0; k < batch; k++) {
            T *const place = to + (int64_t)(i + k) * to_step;
            if (i + k < count && cells == V)
                store_vector(place, value[k]);
#pragma unroll
            for (int v = 0; v < V - 1; v++)
                if (i + k < count && cells < V && v < cells)
                    place[v] = value[k][v];
        }
    }
}

/* Writes all copies of a warp's long tile into buffer `to`: of `deep` planes of `high` rows from (z, y) on,
 * each lane's vector at its own x. Starts with more instructions than copy_rows(). All lanes of the warp call
 * it, with adjacent vectors, also lanes beyond the end of the row. Vectors without a row end are copied face
 * by face; of each vector with a row end, lanes copy different rows. Inlined: a call would fetch the kernel's
 * parameters from memory, and cost the streaming loop registers that live across the call. */
template <class T>
__device__ __forceinline__ void copy_tile(const stencil_domain &d, int to, int z, int y, int x, int deep,
                                          int high) {
    constexpr int V = vector_cells<T>, warp = 32;
    const T *u = static_cast<const T *>(d.u[to]);
    const int lane = (int)threadIdx.x % warp, cells = min(V, (int)d.n[STENCIL_X] - x);
    const bool ends = cells > 0 && at_edge(d, STENCIL_X, x, x + cells);
    unsigned left = __ballot_sync(~0u, ends);
    if (left != 0)
        __syncwarp(); /* lanes read what other lanes have stored */
#pragma unroll 1
    for (; left != 0; left &= left - 1) {
        const int end_x = x + (__ffs((int)left) - 1 - lane) * V;
        const int rows = min(high, (int)d.n[STENCIL_Y] - y);
#pragma unroll 1
        for (int i = lane; i < deep * rows; i += warp) {
            const int row_z = z + i / rows, row_y = y + i % rows;
            T value[V];
            load_vector(u + row_z * d.plane + row_y * d.row + end_x, value);
            write_copies(d, to, row_z, row_y, end_x, min(V, (int)d.n[STENCIL_X] - end_x), value);
        }
    }
    if (ends || cells <= 0)
        return;
#pragma unroll 1
    for (int direction = STENCIL_DIRECTION(-1, -1, 0); direction <= STENCIL_DIRECTION(1, 1, 0);
         direction += STENCIL_DIRECTION(0, 1, 0) - STENCIL_HERE) {
        const edge_cells planes(d, STENCIL_Z, direction / 9 - 1, z, z + deep),
            rows(d, STENCIL_Y, direction % 9 / 3 - 1, y, y + high);
        if (direction == STENCIL_HERE || planes.count() == 0 || rows.count() == 0)
            continue;
        const T *from = u + planes.low * d.plane + rows.low * d.row + x;
        T *image = static_cast<T *>(d.image[direction][to]) + planes.image * d.plane + rows.image * d.row + x;
        const bool across = planes.count() > rows.count(); /* batches go along the longer axis */
        const int64_t from_step = across ? d.plane : d.row, from_next = across ? d.row : d.plane,
                      to_step = across ? planes.step * d.plane : rows.step * d.row,
                      to_next = across ? rows.step * d.row : planes.step * d.plane;
        for (int i = 0; i < (across ? rows.count() : planes.count()); i++)
            copy_vectors(from + i * from_next, from_step, image + i * to_next, to_step,
                         across ? planes.count() : rows.count(), cells);
    }
}

} // namespace stencil
