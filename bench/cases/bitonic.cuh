/* Bitonic sort of n keys (K. Batcher, "Sorting networks and their applications", 1968), as the variant all of
 * whose comparators put the smaller key first: runs of 2^(k-1) sorted keys become runs of 2^k by comparing
 * the first with the last, the second with the last but one, …, and then keys that are 2^(k-2), …, 1 apart.
 * n may be any number: missing keys up to a power of two count as larger than all keys, and comparators with
 * a missing key, which would change nothing, are left out. */
#pragma once

#include "bench/cases/case.h"

enum { bitonic_lanes = 256, bitonic_shared_bytes = 0, bitonic_resident = 0 };

typedef struct bitonic_arguments {
    int64_t n, levels;     /* number of keys; levels of the sort, at least 1: n <= 2^levels */
    const uint32_t *input; /* [n]: unsorted keys */
    uint32_t *keys;        /* [n]: keys after the latest phase */
} bitonic_arguments;

STENCIL_ANYWHERE int64_t bitonic_phases(const bitonic_arguments *s) {
    return s->levels * (s->levels + 1) / 2;
}

/* Finds the position of a phase in the sort: level *k = 1, 2, … and, in the level, step *j = *k, …, 1. */
STENCIL_ANYWHERE void bitonic_place(int64_t phase, int64_t *k, int64_t *j) {
    *k = 1;
    while (phase >= *k) {
        phase -= *k;
        ++*k;
    }
    *j = *k - phase;
}

STENCIL_ANYWHERE void bitonic_phase(const bitonic_arguments *s, int64_t phase, stencil_case_block block) {
    const uint32_t *from = phase == 0 ? s->input : s->keys;
    int64_t k, j;
    bitonic_place(phase, &k, &j);
    const int64_t half = (int64_t)1 << (j - 1);
    CASE_ITEMS(i, (int64_t)1 << (s->levels - 1), block) {
        const int64_t r = i & (half - 1), low = (i >> (j - 1) << j) | r;
        const int64_t high = j == k ? low + 2 * (half - r) - 1 : low + half;
        if (low >= s->n)
            continue;
        const uint32_t a = from[low], b = high < s->n ? from[high] : UINT32_MAX;
        if (phase == 0 || b < a) {
            s->keys[low] = b < a ? b : a;
            if (high < s->n)
                s->keys[high] = b < a ? a : b;
        }
    }
}
