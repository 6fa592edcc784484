/* The sum of n doubles in one canonical order, whoever makes it (L. Zhang et al., "A Study of Single and
 * Multi-device Synchronization Methods in Nvidia GPUs", section 7.4):
 *
 * 1. The values, filled up with zeros, are cut into pieces of the same length, a multiple of 2048 that
 * follows from n alone. Lane t = 0 … 255 of a piece adds up pairs t, t + 256, …, the first and the second
 * values of them apart, each in ascending order from 0; its sum is first + second.
 * 2. The sum of a piece is s_0 of: s_t += s_(t+128) for t < 128, then 64, …, 1.
 * 3. Phase 1 makes the sum of the pieces' sums as one piece; that of a single one is its own.
 * Zeros behind the last value, however many, change nothing: no partial sum is ever -0. */
#pragma once

#include "bench/cases/case.h"

enum {
    reduction_lanes = 256,
    reduction_shared_bytes = reduction_lanes * (int)sizeof(double),
    reduction_resident = 4, /* with fewer registers the compiler waits between the loads of a lane */
    REDUCTION_PAIRS = reduction_lanes,     /* that the lanes add at once, one each */
    REDUCTION_PIECE = 8 * REDUCTION_PAIRS, /* values of a piece, a multiple of it */
    REDUCTION_UNDER_WAY = 8                /* loads of a lane */
};

/* Read in one access. */
typedef struct reduction_pair {
    double first, second;
} __attribute__((aligned(16))) reduction_pair;

typedef struct reduction_arguments {
    int64_t pieces, piece_pairs;  /* how many there are, and the pairs of each */
    int64_t sums_pairs;           /* of pieces' sums, of an odd number with a zero behind */
    const reduction_pair *values; /* [pieces * piece_pairs] */
    reduction_pair *sums;         /* [sums_pairs] */
    double *sum;                  /* [1] */
} reduction_arguments;

STENCIL_ANYWHERE int64_t reduction_phases(const reduction_arguments *r) {
    return r->pieces > 1 ? 2 : 1;
}

/* On a GPU past L1: nobody reads it again, and where its lines push out each other loads wait for room. */
STENCIL_ANYWHERE reduction_pair reduction_read(const reduction_pair *from) {
#ifdef __CUDA_ARCH__
    reduction_pair pair;
    asm volatile("ld.global.L1::no_allocate.v2.f64 {%0, %1}, [%2];"
                 : "=d"(pair.first), "=d"(pair.second)
                 : "l"(from)
                 : "memory");
    return pair;
#else
    return *from;
#endif
}

/* s_0 of step 2, of the s_t in shared[t], into shared[0]. On a GPU the last steps are those of a warp. */
STENCIL_ANYWHERE void reduction_combine(double *shared) {
#ifdef __CUDA_ARCH__
    enum { WARP = 32 };
#else
    enum { WARP = 1 };
#endif
    for (uint32_t half = reduction_lanes / 2; half >= WARP; half /= 2) {
        CASE_SYNC();
        CASE_LANES(t, half) {
            if (t < half)
                shared[t] += shared[t + half];
        }
    }
#ifdef __CUDA_ARCH__
    if (threadIdx.x < WARP) {
        double sum = shared[threadIdx.x];
        for (uint32_t half = WARP / 2; half > 0; half /= 2)
            sum += __shfl_down_sync(~0u, sum, half);
        if (threadIdx.x == 0)
            shared[0] = sum;
    }
#endif
}

/* The sum of a piece of `pairs` in shared[0]: lane 0 has made it. Several loads of a lane are under way at
 * once. */
STENCIL_ANYWHERE void reduction_add(const reduction_pair *piece, int64_t pairs, double *shared) {
    CASE_SYNC();
    CASE_LANES(t, reduction_lanes) {
        double first = 0, second = 0;
#ifdef __CUDA_ARCH__
#pragma unroll REDUCTION_UNDER_WAY
#endif
        for (int64_t i = t; i < pairs; i += reduction_lanes) {
            const reduction_pair pair = reduction_read(piece + i);
            first += pair.first;
            second += pair.second;
        }
        shared[t] = first + second;
    }
    reduction_combine(shared);
}

STENCIL_ANYWHERE void reduction_phase(const reduction_arguments *r, int64_t phase, stencil_case_block block) {
    double *shared = (double *)block.shared, *sums = (double *)r->sums;
    if (phase == 0) {
        double *to = r->pieces > 1 ? sums : r->sum;
        CASE_GROUPS(p, r->pieces, block) {
            reduction_add(r->values + p * r->piece_pairs, r->piece_pairs, shared);
            CASE_LANES(t, 1) {
                if (t == 0)
                    to[p] = shared[0];
            }
        }
        CASE_ITEMS(i, r->pieces > 1 ? 2 * r->sums_pairs - r->pieces : 0, block) {
            sums[r->pieces + i] = 0;
        }
    } else if (block.number == 0) {
        reduction_add(r->sums, r->sums_pairs, shared);
        CASE_LANES(t, 1) {
            if (t == 0)
                r->sum[0] = shared[0];
        }
    }
}
