/* Classes of cells on a GPU. A kernel that is compiled for classes (Classed) updates all cells of a vector
 * alike, and then gives those of other classes what these ask for. Groups of plain cells cost the load of a
 * mark. */
#pragma once

#include "kernels/residual.cuh"

namespace stencil {

/* Returns the address of the mark of the group that has cell x of row (z, y). */
__device__ __forceinline__ const uint8_t *mark_at(const stencil_classes &c, int z, int y, int x) {
    return c.mark + z * c.mark_plane + y * c.mark_row + x / STENCIL_GROUP_CELLS;
}

/* The classes of V consecutive cells, the mark of whose group is known: their bytes are loaded only where the
 * group is mixed. No kernel writes classes or marks, so all loads of them are __ldg(). */
template <int V> struct vector_classes {
    uint32_t of; /* a byte for each cell, the first one lowest */

    __device__ __forceinline__ vector_classes(const stencil_classes &c, uint32_t mark, int64_t at) {
        of = mark * 0x01010101u;
        if (mark != STENCIL_MARK_MIXED)
            return;
        if constexpr (V == 4)
            of = __ldg(reinterpret_cast<const uint32_t *>(c.of + at));
        else if constexpr (V == 2)
            of = __ldg(reinterpret_cast<const uint16_t *>(c.of + at));
        else
            of = __ldg(c.of + at);
    }
    /* Tells whether cell v keeps its value. */
    __device__ __forceinline__ bool keeps(int v) const {
        return (of >> (8 * v) & 0xffu) == STENCIL_CLASS_KEPT;
    }
    /* Puts the old values of the cells that keep theirs among the new ones. */
    template <class T> __device__ __forceinline__ void keep(const T *old, T *value) const {
#pragma unroll
        for (int v = 0; v < V; v++)
            value[v] = keeps(v) ? old[v] : value[v];
    }
};

} // namespace stencil
