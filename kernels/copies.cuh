/* The copies of edge cells behind a pass whose sweep does not make them. */
#pragma once

#include "kernels/ghosts.cuh"

namespace stencil {

/* Rows at the edges along y whole, of the others the vectors at both ends, in buffer `to` of a 2D part; by
 * all blocks. */
template <class T> __device__ void copy_edges(const stencil_domain &d, int to) {
    constexpr int V = vector_cells<T>;
    const int64_t nx = d.n[STENCIL_X], ny = d.n[STENCIL_Y], across = (nx + V - 1) / V;
    const int64_t top = min((int64_t)d.reach[STENCIL_Y][0], ny),
                  bottom = min((int64_t)d.reach[STENCIL_Y][1], ny - top),
                  left = min((d.reach[STENCIL_X][0] + V - 1) / (int64_t)V, across),
                  right = min(across - max((nx - d.reach[STENCIL_X][1]) / V, (int64_t)0), across - left);
    const int64_t rows = (top + bottom) * across, ends = d.reach[STENCIL_X][1] > 0 ? left + right : left;
    const int64_t count = rows + (ny - top - bottom) * ends;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x) {
        int64_t y, v;
        if (i < rows) {
            y = i / across, v = i % across;
            y = y < top ? y : ny - top - bottom + y;
        } else {
            y = top + (i - rows) / ends, v = (i - rows) % ends;
            v = v < left ? v : across - ends + v;
        }
        T value[V];
        load_vector(static_cast<const T *>(d.u[to]) + y * d.row + v * V, value);
        write_copies(d, to, 0, y, v * V, (int)min((int64_t)V, nx - v * V), value);
    }
}

} // namespace stencil
