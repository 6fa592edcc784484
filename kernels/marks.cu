/* The kernel that marks groups of cells, and bits of cells, by their classes. */
#include "kernels/address.cuh"
#include "kernels/table.h"

/* Makes the mark of a group, and its two words of bits; called by a warp, each lane of which has two of the
 * cells. Cells outside the range that has classes count for nothing: a group without others is plain. */
static __device__ void mark_group(const stencil_marking &m, int64_t z, int64_t y, int64_t group) {
    const int lane = (int)threadIdx.x % 32;
    const uint8_t *const row = m.classes.of + z * m.plane + y * m.row;
    uint32_t of[2], here[2], differs[2];
    bool counts[2];
    for (int k = 0; k < 2; k++) {
        const int64_t x = group * STENCIL_GROUP_CELLS + k * STENCIL_WORD_CELLS + lane;
        counts[k] = x >= m.classes.first && x < m.classes.end;
        of[k] = counts[k] ? row[x] : (uint32_t)STENCIL_CLASS_PLAIN;
        here[k] = __ballot_sync(~0u, counts[k]);
    }
    const int at = here[0] != 0 ? __ffs((int)here[0]) - 1 : here[1] != 0 ? __ffs((int)here[1]) - 1 : 0;
    const uint32_t first = __shfl_sync(~0u, here[0] != 0 ? of[0] : of[1], at);
    for (int k = 0; k < 2; k++)
        differs[k] = __ballot_sync(~0u, counts[k] && of[k] != first);
    if (lane == 0)
        const_cast<uint8_t *>(m.classes.mark)[z * m.classes.mark_plane + y * m.classes.mark_row + group] =
            (uint8_t)((differs[0] | differs[1]) != 0 ? (uint32_t)STENCIL_MARK_MIXED : first);
    uint32_t *const bits = const_cast<uint32_t *>(m.classes.bits) + z * m.classes.bits_plane +
                           y * m.classes.bits_row + group * 2;
    for (int k = 0; k < 2; k++) {
        const uint32_t word = __ballot_sync(~0u, of[k] != STENCIL_CLASS_PLAIN);
        if (lane == 0)
            bits[k] = word;
    }
}

static __global__ void __launch_bounds__(STENCIL_BLOCK_THREADS)
    mark(const __grid_constant__ stencil_marking m) {
    const int64_t groups = m.count[0] * m.count[1] * m.count[2], step = (int64_t)gridDim.x * blockDim.x / 32;
    for (int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; i < groups; i += step) {
        const int64_t row = i / m.count[STENCIL_X];
        mark_group(m, m.first[STENCIL_Z] + row / m.count[STENCIL_Y],
                   m.first[STENCIL_Y] + row % m.count[STENCIL_Y],
                   m.first[STENCIL_X] + i % m.count[STENCIL_X]);
    }
}

extern "C" const void *stencil_mark_kernel(void) {
    return stencil::kernel_address(&mark);
}
