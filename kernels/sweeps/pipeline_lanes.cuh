/* The classes of a lane's cells in a row of a pass of the pipeline sweep in 2D, and what all stages know of a
 * row. */
#pragma once

#include "kernels/sweeps/pipeline_table.cuh"

namespace stencil {

/* The kind of a row. A warp finds it out from the row's bits and classes, and leaves it before these, for all
 * stages. */
struct pipeline_row {
    static constexpr uint32_t bytes = 16, has_special = 0x100;
    uint32_t word; /* a code (stencil_row_kind), and a flag: some cells have a class with a weight of 0 or a
                      constant */

    __device__ __forceinline__ static pipeline_row load(uint32_t at) {
        return {__shfl_sync(~0u, load_shared_word(at), 0)}; /* so that branches are the warp's */
    }
    __device__ __forceinline__ void store(uint32_t at) const {
        if (lane() == 0)
            store_shared_word(at, word);
        __syncwarp();
    }
    __device__ __forceinline__ uint32_t code() const {
        return word & 0xffu;
    }
};

/* The classes of a lane's cells, four in a word. */
template <int Cells> struct pipeline_lane {
    static constexpr int words = (Cells + 3) / 4;
    static constexpr uint32_t all_cells = (1u << Cells) - 1;
    uint32_t word[words];

    /* All cells have one class. */
    __device__ __forceinline__ void set(uint32_t of) {
#pragma unroll
        for (int i = 0; i < words; i++)
            word[i] = of * 0x01010101u;
    }
    /* Loads classes; at: address of that of the first cell. */
    __device__ __forceinline__ void load(uint32_t at) {
        const uint32_t from = at & ~3u, bits = (at & 3) * 8;
        uint32_t low = load_shared_word(from);
#pragma unroll
        for (int i = 0; i < words; i++) {
            const uint32_t high = load_shared_word(from + 4 * (uint32_t)(i + 1));
            word[i] = (uint32_t)((low | (uint64_t)high << 32) >> bits);
            low = high;
        }
    }
    /* Tells whether all cells have class `of`. */
    __device__ __forceinline__ bool all_are(uint32_t of) const {
        constexpr uint32_t last = Cells % 4 == 0 ? ~0u : (1u << 8 * (Cells % 4)) - 1;
        uint32_t differ = 0;
#pragma unroll
        for (int i = 0; i < words; i++)
            differ |= (word[i] ^ of * 0x01010101u) & (i + 1 < words ? ~0u : last);
        return differ == 0;
    }
    __device__ __forceinline__ uint32_t of_cell(int v) const {
        return __byte_perm(word[v / 4], 0, 0x4440 + v % 4); /* one instruction, where a shift takes two */
    }
    /* Returns a bit for each cell of class `of`: bytes that are 0 are those whose bit 7 no sum sets. */
    __device__ __forceinline__ uint32_t cells_of(uint32_t of) const {
        uint32_t cells = 0;
#pragma unroll
        for (int i = 0; i < words; i++) {
            const uint32_t x = word[i] ^ of * 0x01010101u,
                           zero = ~(((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x | 0x7f7f7f7fu);
            cells |= (zero >> 7) * 0x01020408u >> 24 << 4 * i;
        }
        return cells & all_cells;
    }
};

} // namespace stencil
