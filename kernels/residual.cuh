/* The residual on the device; the order of summation is defined in residual.h. */
#pragma once

#include "kernels/sweep.h"

namespace stencil {

constexpr int block_threads = STENCIL_COMBINE_LANES; /* threads of a block of every kernel */

__device__ __forceinline__ double combine(double a, double b, stencil_norm norm) {
    if (norm == STENCIL_NORM_L2)
        return __dadd_rn(a, b);
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

template <class T> __device__ __forceinline__ double residual_term(T value, T old, stencil_norm norm) {
    const double difference = __dadd_rn((double)value, -(double)old);
    return norm == STENCIL_NORM_L2 ? __dmul_rn(difference, difference) : fabs(difference);
}

/* Combines the values of adjacent lanes in a balanced tree, `lanes` a power of two up to 32; every lane gets
 * the result. a + b == b + a to the bit, so a butterfly gives the same bits as the tree. */
__device__ __forceinline__ double combine_lanes(double value, int lanes, stencil_norm norm) {
    for (int step = 1; step < lanes; step *= 2)
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, step), norm);
    return value;
}

/* combine_terms() combines V adjacent terms of a lane in a tree; partial_sum() combines 64 terms, held by the
 * lanes of a warp or half a warp. */
template <int V> __device__ __forceinline__ double combine_terms(const double *term, stencil_norm norm) {
    return V == 4 ? combine(combine(term[0], term[1], norm), combine(term[V - 2], term[V - 1], norm), norm)
                  : combine(term[0], term[1], norm);
}
template <int V> __device__ __forceinline__ double partial_sum(const double *term, stencil_norm norm) {
    return combine_lanes(combine_terms<V>(term, norm), STENCIL_PARTIAL_CELLS / V, norm);
}

/* Returns partial sum number `partial` of the whole problem from the memory of the part that has computed
 * it. */
static __device__ __noinline__ double partial_of_peer(const stencil_domain &d, const stencil_peers &peers,
                                                      int64_t partial, uint32_t set) {
    const int64_t at[3] = {partial / d.partial_plane, partial % d.partial_plane / d.partial_row,
                           partial % d.partial_row * STENCIL_PARTIAL_CELLS};
    int part = 0;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        int place = 0;
        while (at[axis] >= peers.first[axis][place + 1])
            place++;
        part = part * peers.count[axis] + place;
    }
    return __ldcg(peers.partial[part] + set * d.partial_set + partial);
}

/* Readers of values to combine: read_partials of partial sums, read_values of results of the previous level.
 * Other blocks have written these values, so reads bypass L1. */
struct read_values {
    const double *v;
    __device__ __forceinline__ double operator()(int64_t i) const {
        return __ldcg(v + i);
    }
};
struct read_partials {
    const stencil_kernel_args &s;
    uint32_t set;
    __device__ __forceinline__ double operator()(int64_t i) const {
        const stencil_domain &d = s.domain;
        return s.peers == nullptr ? __ldcg(d.partial + set * d.partial_set + i)
                                  : partial_of_peer(d, *s.peers, i, set);
    }
};

/* Combines one group of `count` values with a whole block; every thread gets the result. */
template <class Read>
__device__ __forceinline__ double combine_values(Read read, int64_t count, int64_t group, stencil_norm norm) {
    __shared__ double warp_value[block_threads / 32];
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int64_t first = group * STENCIL_COMBINE_VALUES + thread;
    double value = first < count ? read(first) : 0.0;
    for (int j = 1; j < STENCIL_COMBINE_VALUES / STENCIL_COMBINE_LANES; j++) {
        const int64_t at = first + j * STENCIL_COMBINE_LANES;
        value = combine(value, at < count ? read(at) : 0.0, norm);
    }
    value = combine_lanes(value, 32, norm);
    __syncthreads(); /* all threads have read the values of the previous group */
    if (thread % 32 == 0)
        warp_value[thread / 32] = value;
    __syncthreads();
    double tree[block_threads / 32];
    for (int w = 0; w < block_threads / 32; w++)
        tree[w] = warp_value[w];
    for (int step = 1; step < block_threads / 32; step *= 2)
        for (int w = 0; w < block_threads / 32; w += 2 * step)
            tree[w] = combine(tree[w], tree[w + step], norm);
    return tree[0];
}

} // namespace stencil
