/* Rims: the owner of an edge cell writes its copies. Nobody ever reads a rim to fill another. */
#ifndef STENCIL_KERNELS_RIMS_CUH
#define STENCIL_KERNELS_RIMS_CUH

#include "kernels/sweep.h"

namespace stencil {

/* Whether cell i of an axis has a copy, and where. n >= 2*reach + 1 holds, so it has at most one. */
__device__ __forceinline__ bool image_of(const stencil_domain &d, int axis, int64_t i, int64_t *image) {
    const int64_t n = d.n[axis];
    const bool low = i < d.reach[axis], high = i >= n - d.reach[axis];
    if (d.rim[axis] == STENCIL_RIM_PERIODIC)
        *image = low ? i + n : i - n;
    else
        *image = low ? -1 - i : 2 * n - 1 - i;
    return low || high;
}

__device__ __forceinline__ bool at_edge(const stencil_domain &d, int axis, int64_t low, int64_t high) {
    return low < d.reach[axis] || high > d.n[axis] - d.reach[axis];
}

/* Writes all copies of cell (z, y, x): one per edge it stands at, and those of edges and corners. */
template <class T>
__device__ void write_copies(const stencil_domain &d, T *u, int64_t z, int64_t y, int64_t x, T value) {
    int64_t iz[2] = {z, 0}, iy[2] = {y, 0}, ix[2] = {x, 0};
    const int cz = 1 + image_of(d, STENCIL_Z, z, &iz[1]);
    const int cy = 1 + image_of(d, STENCIL_Y, y, &iy[1]);
    const int cx = 1 + image_of(d, STENCIL_X, x, &ix[1]);
#pragma unroll
    for (int k = 1; k < 8; k++) {
        const int a = k >> 2, b = (k >> 1) & 1, c = k & 1;
        if (a < cz && b < cy && c < cx)
            u[iz[a] * d.plane + iy[b] * d.row + ix[c]] = value;
    }
}

} // namespace stencil
#endif
