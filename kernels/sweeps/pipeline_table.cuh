/* The weights of classes in a pass of the pipeline sweep in 2D, which lanes read whose cells have several. */
#pragma once

#include "kernels/classes.cuh"
#include "kernels/sweeps/pipeline_warp.cuh"

namespace stencil {

/* Rows of weights of class 0 and of the classes of the palette: in shared memory, `Stride` numbers for each
 * class, where there are `Classes` at most; else those of the launch in device memory. Where cells have
 * weights of their own, all steps have the same ones. */
template <class P, class T, int Stride, int Classes> struct pipeline_table {
    const char *rows;        /* from of * row_bytes on: weights of the points of class `of` */
    int row_bytes, constant; /* place of a class's constant in its row */
    bool simple;             /* no class of the palette has a weight of 0 or a constant */

    __device__ __forceinline__ static bool fits(const stencil_kernel_args &s) {
        return s.class_passes.palette_count < Classes;
    }
    /* Returns the block's table. */
    __device__ __forceinline__ static pipeline_table &here() {
        __shared__ pipeline_table table;
        return table;
    }
    /* Writes the table, with all threads of the block, to a place in shared memory, with address `at`. */
    __device__ __forceinline__ static void put(const stencil_kernel_args &s, const char *place, uint32_t at) {
        constexpr int numbers = P::count + 2;
        const int classes = s.class_passes.palette_count;
        if (classes == 0)
            return;
        for (int i = threadIdx.x; fits(s) && i < (classes + 1) * numbers; i += blockDim.x) {
            const int of = i / numbers, k = i % numbers;
            const T *const row = weights_of<T>(s.domain, s.cycle[of]).weight;
            const T last = row[STENCIL_SOURCE_WEIGHT]; /* the source factor in class 0, else the constant */
            store_shared(at + (of * Stride + k) * (uint32_t)sizeof(T), k < P::count ? row[k]
                                                                       : (k == P::count) == (of == 0)
                                                                           ? last
                                                                           : T(k == P::count));
        }
        const bool simple = !any_tested_class<P, T>(s);
        if (threadIdx.x == 0)
            here() = fits(s) ? pipeline_table{place, Stride * (int)sizeof(T), P::count + 1, simple}
                             : outside(s, simple);
    }
    /* Returns the table of the launch in device memory. */
    __device__ __forceinline__ static pipeline_table outside(const stencil_kernel_args &s, bool simple) {
        return {reinterpret_cast<const char *>(weights_of<T>(s.domain, *s.cycle).weight),
                (int)sizeof(stencil_weights), STENCIL_SOURCE_WEIGHT, simple};
    }
    /* Tells whether rows of a class are made like plain ones, from the table in shared memory; called by a
     * warp. Points of weight 0, which are not read, keep them from it. */
    __device__ __forceinline__ static bool is_uniform(const stencil_kernel_args &s, uint32_t of) {
        bool zero = !fits(s);
        for (int k = (int)lane(); k < P::count; k += 32)
            zero = zero || __ldg(row_of_class<T>(s.classes, of) + k) == T(0);
        return !__any_sync(~0u, zero);
    }
    /* Returns the row of a class. */
    __device__ __forceinline__ const T *row_of(uint32_t of) const {
        return reinterpret_cast<const T *>(rows + (uint64_t)of * (uint32_t)row_bytes);
    }
};

} // namespace stencil
