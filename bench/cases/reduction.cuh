/* The sum of n doubles in one canonical order, whoever makes it (L. Zhang et al., "A Study of Single and
 * Multi-device Synchronization Methods in Nvidia GPUs", section 7.4): one GPU, or several parts, a GPU each
 * (on a CPU a thread).
 *
 * 1. The values, filled up with zeros, are cut into pieces of the same length, a multiple of 2048 that
 * follows from n alone. Lane t = 0 … 255 of a piece adds up the first values and, separately,
 * the second values of the pairs t, t + 256, … in ascending order, from 0; the lane's sum is first + second.
 * 2. The sum of a piece is s_0 of: s_t += s_(t+128) for t < 128, then 64, …, 1.
 * 3. Phase 1 adds up the pieces' sums like one more piece; the sum of a single piece is the total.
 * Padding with any number of zeros does not change the sum: no partial sum is ever -0.
 *
 * Every part sums consecutive pieces of its own and then, with the sums of all pieces, the total, so that all
 * parts have the total in the end.
 *
 * SPREAD: each piece's sum is stored into the memory of every part. One barrier, two phases.
 * TREE: in level s = 0, 1, … of a tree, part p, an odd multiple of 2^s, copies its sums to part p - 2^s; part
 * 0 adds them up, and the total is copied back down the tree.
 * OWN: each piece's sum is stored in the memory of its part; the host copies sums and launches each phase.
 * ALONE: there is one part; a single piece takes a single phase. */
#pragma once

#include "bench/cases/case.h"

enum {
    reduction_lanes = 256,
    reduction_shared_bytes = reduction_lanes * (int)sizeof(double),
    reduction_resident = 4, /* blocks per multiprocessor: with more, too few registers to overlap loads */
    REDUCTION_PAIRS = reduction_lanes,     /* pairs of values that a block adds at once, one per lane */
    REDUCTION_PIECE = 8 * REDUCTION_PAIRS, /* the number of values of a piece is a multiple of this */
    REDUCTION_UNDER_WAY = 8                /* loads that a lane has in flight */
};

/* Two values that are read in one memory access. */
typedef struct reduction_pair {
    double first, second;
} __attribute__((aligned(16))) reduction_pair;

typedef enum reduction_way { REDUCTION_ALONE, REDUCTION_SPREAD, REDUCTION_TREE, REDUCTION_OWN } reduction_way;

typedef struct reduction_arguments {
    int64_t pieces, piece_pairs;  /* number of pieces of all parts, and number of pairs of a piece */
    int64_t first, own;           /* this part's first piece, and number of this part's pieces */
    const reduction_pair *values; /* [own * piece_pairs] */
    reduction_pair *sums;         /* [reduction_sums_pairs()]: sums of all pieces, padded with 0 */
    double *sum;                  /* [1]: the result */
    uint8_t part, parts, way;
    reduction_pair *sums_of[STENCIL_PARTS_MAX]; /* `sums` of each part, followed by `sum`; unused if ALONE */
} reduction_arguments;

STENCIL_ANYWHERE int64_t reduction_sums_pairs(const reduction_arguments *r) {
    return (r->pieces + 1) / 2;
}

STENCIL_ANYWHERE int reduction_rounds(const reduction_arguments *r) {
    int rounds = 0;
    while (r->way == REDUCTION_TREE && 1 << rounds < r->parts)
        rounds++;
    return rounds;
}

STENCIL_ANYWHERE int64_t reduction_phases(const reduction_arguments *r) {
    return r->way == REDUCTION_ALONE && r->pieces <= 1 ? 1 : 2 + 2 * reduction_rounds(r);
}

/* Tells whether a part is a parent in level s of the tree of parts; reduction_has_parent() tells whether a
 * part is a child. */
STENCIL_ANYWHERE bool reduction_has_child(const reduction_arguments *r, int s) {
    return r->part % (2 << s) == 0 && r->part + (1 << s) < r->parts;
}
STENCIL_ANYWHERE bool reduction_has_parent(const reduction_arguments *r, int s) {
    return r->part % (2 << s) == 1 << s;
}
/* Returns the index after the last piece whose sum a part has after tree levels 0 … s - 1. */
STENCIL_ANYWHERE int64_t reduction_gathered(const reduction_arguments *r, int s) {
    const int end = r->part + (1 << s);
    return stencil_share(r->pieces, r->parts, end < r->parts ? end : r->parts);
}

/* Reads a pair; on a GPU without allocating in L1, since values are read once and evictions delay loads. */
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

/* Adds shared[t] of all lanes t into shared[0], by a tree; on a GPU one warp runs the last levels. */
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

/* Sums a piece of `pairs` pairs of values into shared[0], by lane 0; a lane has several loads in flight. */
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

/* Phase 0: sums a part's own pieces. */
STENCIL_ANYWHERE void reduction_own(const reduction_arguments *r, stencil_case_block block) {
    double *shared = (double *)block.shared, *sums = (double *)r->sums;
    double *to = reduction_phases(r) > 1 ? sums : r->sum;
    CASE_GROUPS(p, r->own, block) {
        reduction_add(r->values + p * r->piece_pairs, r->piece_pairs, shared);
        CASE_LANES(t, 1) {
            if (t == 0)
                to[r->first + p] = shared[0];
            for (int k = 0; t == 0 && r->way == REDUCTION_SPREAD && k < r->parts; k++)
                if (k != r->part)
                    ((double *)r->sums_of[k])[r->first + p] = shared[0];
        }
    }
    CASE_ITEMS(i, 2 * reduction_sums_pairs(r) - r->pieces, block) {
        sums[r->pieces + i] = 0;
    }
}

/* Copies a part's sums of pieces to the part's parent in level s of the tree of parts; reduction_down()
 * copies the total from parent to child. One block runs either. */
STENCIL_ANYWHERE void reduction_up(const reduction_arguments *r, int s) {
    const double *from = (const double *)r->sums;
    if (!reduction_has_parent(r, s))
        return;
    double *to = (double *)r->sums_of[r->part - (1 << s)];
    const int64_t end = reduction_gathered(r, s);
    CASE_LANES(t, reduction_lanes) {
        for (int64_t i = r->first + t; i < end; i += reduction_lanes)
            to[i] = from[i];
    }
}
STENCIL_ANYWHERE void reduction_down(const reduction_arguments *r, int s) {
    CASE_LANES(t, 1) {
        if (t == 0 && reduction_has_child(r, s))
            r->sums_of[r->part + (1 << s)][reduction_sums_pairs(r)].first = *r->sum;
    }
}

STENCIL_ANYWHERE void reduction_phase(const reduction_arguments *r, int64_t phase, stencil_case_block block) {
    const int rounds = reduction_rounds(r);
    if (phase == 0) {
        reduction_own(r, block);
    } else if (block.number != 0) {
        return;
    } else if (phase <= rounds) {
        reduction_up(r, (int)phase - 1);
    } else if (phase > rounds + 1) {
        reduction_down(r, 2 * rounds + 1 - (int)phase);
    } else if (r->way != REDUCTION_TREE || r->part == 0) {
        double *shared = (double *)block.shared;
        reduction_add(r->sums, reduction_sums_pairs(r), shared);
        CASE_LANES(t, 1) {
            if (t == 0)
                *r->sum = shared[0];
        }
    }
}
