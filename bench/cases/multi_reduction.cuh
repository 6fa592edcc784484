/* The sum of reduction.cuh over several parts, a GPU each (on a CPU a thread), in the same canonical order,
 * so that it is the same to the bit however many they are. Every part has a share of the pieces that follow
 * each other, makes their sums and, once it has those of all others, their sum: all parts have it in the end.
 *
 * SPREAD: who makes the sum of a piece stores it into the memory of every part. One barrier, two phases.
 * TREE: neighbours in a tree hand over what sums they have: in round s = 0, 1, … part p, an odd multiple of
 * 2^s, to p - 2^s; part 0 adds up, and the sum goes the same way back.
 * OWN: who makes a sum stores it at home; the host moves it, and makes the phases one by one. */
#pragma once

#include "bench/cases/reduction.cuh"

typedef enum multi_reduction_way {
    MULTI_REDUCTION_SPREAD,
    MULTI_REDUCTION_TREE,
    MULTI_REDUCTION_OWN
} multi_reduction_way;

enum {
    multi_reduction_lanes = reduction_lanes,
    multi_reduction_shared_bytes = reduction_shared_bytes,
    multi_reduction_resident = reduction_resident
};

typedef struct multi_reduction_arguments {
    reduction_arguments of; /* `values`: those of its own pieces; `sums`, `sum`: in its own memory */
    uint8_t part, parts, way;
    /* Of each part: [of.sums_pairs + 1], the sums of all pieces, and behind them the sum. */
    reduction_pair *sums[STENCIL_PARTS_MAX];
} multi_reduction_arguments;

STENCIL_ANYWHERE int64_t multi_reduction_first(const multi_reduction_arguments *m, int64_t part) {
    return stencil_share(m->of.pieces, m->parts, part);
}

STENCIL_ANYWHERE int multi_reduction_rounds(const multi_reduction_arguments *m) {
    int rounds = 0;
    while (m->way == MULTI_REDUCTION_TREE && 1 << rounds < m->parts)
        rounds++;
    return rounds;
}

STENCIL_ANYWHERE int64_t multi_reduction_phases(const multi_reduction_arguments *m) {
    return 2 + 2 * multi_reduction_rounds(m);
}

/* Of round s of the tree: whether a part is the upper end of an edge, and the part at the lower end. */
STENCIL_ANYWHERE bool multi_reduction_has_child(const multi_reduction_arguments *m, int s) {
    return m->part % (2 << s) == 0 && m->part + (1 << s) < m->parts;
}
STENCIL_ANYWHERE bool multi_reduction_has_parent(const multi_reduction_arguments *m, int s) {
    return m->part % (2 << s) == 1 << s;
}
/* Behind the last piece of those that part has after rounds 0 … s - 1. */
STENCIL_ANYWHERE int64_t multi_reduction_gathered(const multi_reduction_arguments *m, int s) {
    const int end = m->part + (1 << s);
    return multi_reduction_first(m, end < m->parts ? end : m->parts);
}

/* Phase 0. */
STENCIL_ANYWHERE void multi_reduction_own(const multi_reduction_arguments *m, stencil_case_block block) {
    const int64_t first = multi_reduction_first(m, m->part),
                  own = multi_reduction_first(m, m->part + 1) - first;
    double *shared = (double *)block.shared;
    CASE_GROUPS(p, own, block) {
        reduction_add(m->of.values + p * m->of.piece_pairs, m->of.piece_pairs, shared);
        CASE_LANES(t, 1) {
            for (int k = 0; t == 0 && k < m->parts; k++)
                if (m->way == MULTI_REDUCTION_SPREAD || k == m->part)
                    ((double *)m->sums[k])[first + p] = shared[0];
        }
    }
    CASE_ITEMS(i, 2 * m->of.sums_pairs - m->of.pieces, block) {
        ((double *)m->of.sums)[m->of.pieces + i] = 0;
    }
}

/* Round s, by one block: sums go up; the sum comes down. */
STENCIL_ANYWHERE void multi_reduction_up(const multi_reduction_arguments *m, int s) {
    const double *from = (const double *)m->of.sums;
    if (!multi_reduction_has_parent(m, s))
        return;
    double *to = (double *)m->sums[m->part - (1 << s)];
    const int64_t first = multi_reduction_first(m, m->part), end = multi_reduction_gathered(m, s);
    CASE_LANES(t, reduction_lanes) {
        for (int64_t i = first + t; i < end; i += reduction_lanes)
            to[i] = from[i];
    }
}
STENCIL_ANYWHERE void multi_reduction_down(const multi_reduction_arguments *m, int s) {
    CASE_LANES(t, 1) {
        if (t == 0 && multi_reduction_has_child(m, s))
            m->sums[m->part + (1 << s)][m->of.sums_pairs].first = *m->of.sum;
    }
}

STENCIL_ANYWHERE void multi_reduction_phase(const multi_reduction_arguments *m, int64_t phase,
                                            stencil_case_block block) {
    const int rounds = multi_reduction_rounds(m);
    double *shared = (double *)block.shared;
    if (phase == 0) {
        multi_reduction_own(m, block);
    } else if (block.number != 0) {
        return;
    } else if (phase <= rounds) {
        multi_reduction_up(m, (int)phase - 1);
    } else if (phase > rounds + 1) {
        multi_reduction_down(m, 2 * rounds + 1 - (int)phase);
    } else if (m->way != MULTI_REDUCTION_TREE || m->part == 0) {
        reduction_add(m->of.sums, m->of.sums_pairs, shared);
        CASE_LANES(t, 1) {
            if (t == 0)
                *m->of.sum = shared[0];
        }
    }
}
