/* The kernel that packs cells of a part into messages to other ranks, and unpacks those from there. */
#include "kernels/address.cuh"
#include "kernels/packing.h"
#include "kernels/table.h"

/* `W` is a word as large as a cell, since the bits of a NaN stay. Neighbouring threads have neighbouring
 * cells of the messages, which cross the bus to the host. */
template <class W>
static __global__ void __launch_bounds__(STENCIL_BLOCK_THREADS)
    pack(const __grid_constant__ stencil_packing m) {
    const int64_t step = (int64_t)gridDim.x * STENCIL_BLOCK_THREADS;
    const stencil_packed_box *box = m.box, *const last = m.box + m.count - 1;
    for (int64_t i = (int64_t)blockIdx.x * STENCIL_BLOCK_THREADS + threadIdx.x; i < m.cells; i += step) {
        while (box < last && i >= box[1].before)
            box++;
        const int64_t at = i - box->before, row = at / box->n[2], z = row / box->n[1];
        W *const cell = static_cast<W *>(m.part) + box->cell + z * m.plane + (row - z * box->n[1]) * m.row +
                        (at - row * box->n[2]),
                 *const packed =
                     reinterpret_cast<W *>(static_cast<char *>(box->message) + (m.odd ? box->odd : 0)) + at;
        if (m.unpacks)
            *cell = *packed;
        else
            *packed = *cell;
    }
}

extern "C" const void *stencil_pack_kernel(stencil_precision precision) {
    return precision == STENCIL_FLOAT64 ? stencil::kernel_address(&pack<uint64_t>)
                                        : stencil::kernel_address(&pack<uint32_t>);
}
