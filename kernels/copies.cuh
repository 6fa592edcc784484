/* The copies of edge cells into ghost cells, after a pass whose sweep does not write these copies. */
#pragma once

#include "kernels/ghosts.cuh"
#include "kernels/quotients.cuh"

namespace stencil {

/* The units of `unit` cells that contain edge cells, at the low and at the high edge of an axis with `n`
 * units. */
struct edge_units {
    int64_t low, high;
    __device__ edge_units(const stencil_domain &d, int axis, int64_t n, int64_t unit) {
        const int64_t first = (d.n[axis] - d.reach[axis][1]) / unit;
        low = min((d.reach[axis][0] + unit - 1) / unit, n);
        high = d.reach[axis][1] > 0 ? min(n - max(first, (int64_t)0), n - low) : 0;
    }
    __device__ int64_t count() const {
        return low + high;
    }
    /* Returns the position along the axis, 0 … n - 1, of edge unit i, 0 … count() - 1. */
    __device__ int64_t at(int64_t i, int64_t n) const {
        return i < low ? i : n - count() + i;
    }
};

/* Writes the copies of all edge cells of buffer `to` of a part, with all blocks: of whole planes at the edges
 * along z, of whole rows at the edges along y, and of the vectors at both ends of all other rows. */
template <class T> __device__ __forceinline__ void copy_edges(const stencil_domain &d, int to) {
    constexpr int V = vector_cells<T>;
    const int64_t nx = d.n[STENCIL_X], ny = d.n[STENCIL_Y], nz = d.n[STENCIL_Z], across = (nx + V - 1) / V;
    const edge_units ze(d, STENCIL_Z, nz, 1), ye(d, STENCIL_Y, ny, 1), xe(d, STENCIL_X, across, V);
    const int64_t plane = ny * across, planes = ze.count() * plane, rows = ye.count() * across,
                  rest = rows + (ny - ye.count()) * xe.count(), count = planes + (nz - ze.count()) * rest;
    const quotients planes_of(plane), rest_of(rest), rows_of(across), ends_of(xe.count());
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x) {
        int64_t z, y, v;
        if (i < planes) {
            z = ze.at(planes_of.of(i), nz), y = rows_of.of(planes_of.rest(i)), v = rows_of.rest(i);
        } else {
            const int64_t k = rest_of.rest(i - planes);
            z = ze.low + rest_of.of(i - planes);
            if (k < rows) {
                y = ye.at(rows_of.of(k), ny), v = rows_of.rest(k);
            } else {
                y = ye.low + ends_of.of(k - rows);
                v = xe.at(ends_of.rest(k - rows), across);
            }
        }
        T value[V];
        load_vector(static_cast<const T *>(d.u[to]) + z * d.plane + y * d.row + v * V, value);
        write_copies(d, to, z, y, v * V, (int)min((int64_t)V, nx - v * V), value);
    }
}

} // namespace stencil
