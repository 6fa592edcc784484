/* The micro-benchmark of S. Xiao and W. Feng, "Inter-Block GPU Communication via Fast Barrier
 * Synchronization", IPDPS 2010: each thread computes the mean of two floats, 10,000 times, with
 * a barrier after each. Here the two floats are the results of the thread and of the next thread, in a ring,
 * in the previous phase, so that a broken barrier shows in the result. */
#pragma once

#include "bench/cases/case.h"

enum { mean_lanes = 256, mean_shared_bytes = 0, mean_resident = 0 };

typedef struct mean_arguments {
    int64_t n, phases;
    const float *start; /* [n] */
    float *value[2]; /* [n] each: phase i makes value[i % 2] from value[(i + 1) % 2], phase 0 from `start` */
} mean_arguments;

STENCIL_ANYWHERE int64_t mean_phases(const mean_arguments *m) {
    return m->phases;
}

STENCIL_ANYWHERE void mean_phase(const mean_arguments *m, int64_t phase, stencil_case_block block) {
    const float *from = phase == 0 ? m->start : m->value[(phase + 1) % 2];
    float *to = m->value[phase % 2];
    CASE_SHARE(i, m->n, block) {
        to[i] = 0.5f * (from[i] + from[i + 1 < m->n ? i + 1 : 0]);
    }
}
