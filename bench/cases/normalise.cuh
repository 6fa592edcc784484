/* Integers divided by the largest absolute value among them, in two passes: the baseline of a report on
 * synchronisation across devices in CUDA 9 (two kernels), and under a barrier its single kernel. The largest
 * value is at least 1. normalise_cached.cuh also caches the integers in shared memory between the passes. */
#pragma once

#include "bench/cases/case.h"

enum {
    normalise_lanes = 256,
    normalise_shared_bytes = normalise_lanes * (int)sizeof(uint32_t),
    normalise_resident = 0,
    NORMALISE_PIECE = 2 * normalise_lanes, /* the number of quads of a piece is a multiple of this */
    NORMALISE_KEPT = 4 * NORMALISE_PIECE   /* quads that fit in a block's shared memory */
};

/* A quad: four integers that are read in one memory access. */
typedef struct normalise_integers {
    int32_t value[4];
} __attribute__((aligned(16))) normalise_integers;
typedef struct normalise_numbers {
    float value[4];
} __attribute__((aligned(16))) normalise_numbers;

/* Arguments of one part of several (a GPU each), or of a whole problem. The largest value of each piece is
 * stored in the memory of all parts. */
typedef struct normalise_arguments {
    int64_t pieces, piece_quads;        /* number of pieces of all parts, quads of a piece */
    int64_t first, own;                 /* this part's first piece, number of its pieces */
    const normalise_integers *integers; /* [own * piece_quads], padded with zeros */
    normalise_numbers *numbers;         /* [own * piece_quads] */
    uint32_t part, parts;
    uint32_t *largest[STENCIL_PARTS_MAX]; /* [pieces] in each part's memory: largest of each piece */
} normalise_arguments;

STENCIL_ANYWHERE int64_t normalise_phases(const normalise_arguments *a) {
    (void)a;
    return 2;
}

STENCIL_ANYWHERE uint32_t normalise_larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* Returns the largest absolute value among `largest` and four integers. */
STENCIL_ANYWHERE uint32_t normalise_largest(uint32_t largest, normalise_integers quad) {
    for (int k = 0; k < 4; k++)
        largest = normalise_larger(largest, quad.value[k] < 0 ? 0u - (uint32_t)quad.value[k]
                                                              : (uint32_t)quad.value[k]);
    return largest;
}
STENCIL_ANYWHERE normalise_numbers normalise_quotients(normalise_integers quad, float by) {
    normalise_numbers to;
    for (int k = 0; k < 4; k++)
        to.value[k] = (float)quad.value[k] / by;
    return to;
}

/* Sets shared[0] to the largest of shared[0 … lanes - 1], visible to all lanes. */
STENCIL_ANYWHERE void normalise_combine(uint32_t *shared) {
    for (uint32_t half = normalise_lanes / 2; half > 0; half /= 2) {
        CASE_SYNC();
        CASE_LANES(t, half) {
            if (t < half)
                shared[t] = normalise_larger(shared[t], shared[t + half]);
        }
    }
    CASE_SYNC();
}

/* Returns the largest of `count` words, at least 1. */
STENCIL_ANYWHERE float normalise_largest_of(const uint32_t *words, int64_t count, uint32_t *shared) {
    CASE_LANES(t, normalise_lanes) {
        uint32_t largest = 1;
        for (int64_t i = t; i < count; i += normalise_lanes)
            largest = normalise_larger(largest, words[i]);
        shared[t] = largest;
    }
    normalise_combine(shared);
    return (float)shared[0];
}

/* Returns the address, after shared[lanes], where a block keeps its k-th piece for the second phase; NULL:
 * the piece does not fit, and is read again. */
STENCIL_ANYWHERE normalise_integers *normalise_kept(const normalise_arguments *a, stencil_case_block block,
                                                    int64_t k, bool keeps) {
    normalise_integers *room = (normalise_integers *)((char *)block.shared + normalise_shared_bytes);
    return keeps && (k + 1) * a->piece_quads <= NORMALISE_KEPT ? room + k * a->piece_quads
                                                               : (normalise_integers *)0;
}

STENCIL_ANYWHERE void normalise_find(const normalise_arguments *a, stencil_case_block block, bool keeps) {
    uint32_t *shared = (uint32_t *)block.shared;
    int64_t k = 0;
    CASE_GROUPS(p, a->own, block) {
        normalise_integers *kept = normalise_kept(a, block, k++, keeps);
        CASE_SYNC();
        CASE_LANES(t, normalise_lanes) {
            uint32_t largest = 0;
            for (int64_t i = t; i < a->piece_quads; i += normalise_lanes) {
                const normalise_integers quad = a->integers[p * a->piece_quads + i];
                largest = normalise_largest(largest, quad);
                if (kept != (normalise_integers *)0)
                    kept[i] = quad;
            }
            shared[t] = largest;
        }
        normalise_combine(shared);
        CASE_LANES(t, 1) {
            for (uint32_t to = 0; t == 0 && to < a->parts; to++)
                a->largest[to][a->first + p] = shared[0];
        }
    }
}

STENCIL_ANYWHERE void normalise_divide(const normalise_arguments *a, stencil_case_block block, bool keeps) {
    const float largest = normalise_largest_of(a->largest[a->part], a->pieces, (uint32_t *)block.shared);
    int64_t k = 0;
    CASE_GROUPS(p, a->own, block) {
        const normalise_integers *kept = normalise_kept(a, block, k++, keeps),
                                 *from = a->integers + p * a->piece_quads;
        normalise_numbers *to = a->numbers + p * a->piece_quads;
        CASE_LANES(t, normalise_lanes) {
            for (int64_t i = t; i < a->piece_quads; i += normalise_lanes)
                to[i] =
                    normalise_quotients(kept != (const normalise_integers *)0 ? kept[i] : from[i], largest);
        }
    }
}

STENCIL_ANYWHERE void normalise_phase(const normalise_arguments *a, int64_t phase, stencil_case_block block) {
    if (phase == 0)
        normalise_find(a, block, false);
    else
        normalise_divide(a, block, false);
}
