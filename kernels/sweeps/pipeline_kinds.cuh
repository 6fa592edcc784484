/* The kinds of the rows of all strips of a pass of the pipeline sweep in 2D for classes of cells. The host
 * divides rows among lines by what they cost (solver/plan/sweeps/pipeline_share.h). */
#pragma once

#include "kernels/sweeps/pipeline_classed.cuh"
#include "kernels/table.h"

namespace stencil {

template <class P, class T, stencil_pipeline_kind Kind> struct pipeline_kinds : pipeline_classed<P, T, Kind> {
    using base = pipeline_classed<P, T, Kind>;
    using typename base::line, typename base::stage_strip, typename base::strip_place;

    /* Returns the first column that a strip reads, as walk() does. */
    __device__ static int first_column(const stencil_pipeline_strips &s, int strip) {
        return strip == 0             ? -s.beside[0]
               : strip == s.count - 1 ? s.nx + s.beside[1] - s.width
                                      : s.first + (strip - 1) * s.step - s.reach;
    }
    /* Copies the bits and the classes of a row, from column x on, to `entry`, as the loader of a pass does.
     */
    __device__ static void load(const stencil_kernel_args &s, int64_t row, int y, int x, char *entry) {
        const uint32_t *const bits =
            s.classes.bits + y * s.classes.bits_row + (x & -128) / STENCIL_WORD_CELLS;
        reinterpret_cast<uint32_t *>(entry)[lane()] = bits[lane()];
        for (int i = (int)lane(); i < base::classes_bytes; i += 32)
            entry[base::bits_bytes + base::header_bytes + i] = (char)s.classes.of[y * row + (x & -16) + i];
        __syncwarp();
    }
    /* Finds the kind of row y of a strip; called by a warp. */
    __device__ static stencil_row_kind find(const stencil_kernel_args &s, const line &l, int strip, int y,
                                            char *entry) {
        const int x = first_column(l.strips, strip), low = l.closed[0][0] ? 0 : -l.reach,
                  high = l.ny + (l.closed[0][1] ? 0 : l.reach);
        const bool ends[2] = {l.closed[1][0] && strip == 0, l.closed[1][1] && strip == l.strips.count - 1};
        stage_strip a = {s, l, strip_place(x, ends[0], ends[1]), 0, 0, 0};
        a.left = lane() == 0 && ends[0], a.right = lane() == 31 && ends[1];
        a.begin = low - base::classes_ahead, a.count = high - low;
        a.low = l.closed[0][0] ? low : INT_MIN / 2, a.high = l.closed[0][1] ? high : INT_MAX / 2;
        __syncwarp();
        if (y >= low && y < high)
            load(s, l.row, y, x, entry);
        if (!a.has_bits(y - base::classes_ahead))
            return (stencil_row_kind)(a.is_outside(y) ? base::row_some : base::row_plain);
        const uint32_t at = shared_address(entry);
        if constexpr (!base::varied)
            return (stencil_row_kind)base::code_of(a, y - base::classes_ahead, at);
        const uint32_t code = base::find_row(a, at, base::row_plain);
        if (code != base::row_mixed)
            return (stencil_row_kind)code;
        const bool special =
            (pipeline_row::load(at + base::bits_bytes).word & pipeline_row::has_special) != 0;
        return (stencil_row_kind)(code | (special ? 2u : 1u) << 8);
    }
    __device__ static void run(const stencil_kernel_args &s) {
        enum { WARPS = STENCIL_BLOCK_THREADS / 32 };
        __shared__ line l;
        __shared__ __align__(16) char entry[WARPS][base::class_row_bytes];
        if (threadIdx.x == 0)
            base::start(s, {0, s.class_passes.steps, 0}, l, 0);
        if constexpr (base::varied) {
            const bool simple = !any_tested_class<P, T>(s);
            if (threadIdx.x == 0 && s.class_passes.palette_count > 0)
                base::table::here() = base::table::outside(s, simple);
        }
        __syncthreads();
        const int rows = l.ny + 2 * l.reach, warp = (int)threadIdx.x / 32;
        const int64_t count = (int64_t)l.strips.count * rows;
        for (int64_t i = (int64_t)blockIdx.x * WARPS + warp; i < count; i += (int64_t)gridDim.x * WARPS) {
            const stencil_row_kind kind = find(s, l, (int)(i / rows), (int)(i % rows) - l.reach, entry[warp]);
            if (lane() == 0)
                s.class_passes.kind[i] = kind;
        }
    }
};

template <class Kinds>
__global__ void __launch_bounds__(STENCIL_BLOCK_THREADS)
    kinds_kernel(const __grid_constant__ stencil_kernel_args s) {
#if STENCIL_HAS_BULK_COPIES
    Kinds::run(s);
#else
    __trap();
#endif
}

} // namespace stencil
