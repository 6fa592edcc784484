/* normalise.cuh in one pass: a block keeps on chip what it has read, as far as there is room, for its second
 * phase; what it has no room for it reads again. One part of several, a GPU each, or all of it: whoever finds
 * the largest value of a piece tells all parts. */
#pragma once

#include "bench/cases/normalise.cuh"

enum {
    normalise_cached_lanes = normalise_lanes,
    NORMALISE_KEPT = 4 * NORMALISE_PIECE, /* quads */
    normalise_cached_shared_bytes = normalise_shared_bytes + NORMALISE_KEPT * (int)sizeof(normalise_integers),
    normalise_cached_resident = 0
};

typedef struct normalise_cached_arguments {
    int64_t pieces, piece_quads;        /* of all parts */
    int64_t first, own;                 /* this one's: pieces */
    const normalise_integers *integers; /* [own * piece_quads], zeros behind the last one */
    normalise_numbers *numbers;         /* [own * piece_quads] */
    uint32_t part, parts;
    uint32_t *largest[STENCIL_PARTS_MAX]; /* of each part, in its memory: [pieces], of every piece */
} normalise_cached_arguments;

STENCIL_ANYWHERE int64_t normalise_cached_phases(const normalise_cached_arguments *a) {
    (void)a;
    return 2;
}

/* Room for the k-th piece of a block; NULL: there is none. */
STENCIL_ANYWHERE normalise_integers *normalise_kept(const normalise_cached_arguments *a,
                                                    stencil_case_block block, int64_t k) {
    normalise_integers *room = (normalise_integers *)((char *)block.shared + normalise_shared_bytes);
    return (k + 1) * a->piece_quads <= NORMALISE_KEPT ? room + k * a->piece_quads : (normalise_integers *)0;
}

STENCIL_ANYWHERE void normalise_cached_find(const normalise_cached_arguments *a, stencil_case_block block) {
    uint32_t *shared = (uint32_t *)block.shared;
    int64_t k = 0;
    CASE_GROUPS(p, a->own, block) {
        normalise_integers *kept = normalise_kept(a, block, k++);
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

STENCIL_ANYWHERE void normalise_cached_divide(const normalise_cached_arguments *a, stencil_case_block block) {
    const float largest = normalise_largest_of(a->largest[a->part], a->pieces, (uint32_t *)block.shared);
    int64_t k = 0;
    CASE_GROUPS(p, a->own, block) {
        const normalise_integers *kept = normalise_kept(a, block, k++),
                                 *from = a->integers + p * a->piece_quads;
        normalise_numbers *to = a->numbers + p * a->piece_quads;
        CASE_LANES(t, normalise_lanes) {
            for (int64_t i = t; i < a->piece_quads; i += normalise_lanes)
                to[i] =
                    normalise_quotients(kept != (const normalise_integers *)0 ? kept[i] : from[i], largest);
        }
    }
}

STENCIL_ANYWHERE void normalise_cached_phase(const normalise_cached_arguments *a, int64_t phase,
                                             stencil_case_block block) {
    if (phase == 0)
        normalise_cached_find(a, block);
    else
        normalise_cached_divide(a, block);
}
