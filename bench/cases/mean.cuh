/* The micro-benchmark of S. Xiao and W. Feng, "Inter-Block GPU Communication via Fast Barrier
 * Synchronization", IPDPS 2010: each thread computes the mean of two floats, 10,000 times, with
 * a barrier behind each. Here one of the two is the thread's own of the phase before and the other one the
 * next thread's, in a ring, so that a barrier that does not hold shows in the result. */
#pragma once

#include "bench/cases/case.h"

enum { mean_lanes = 256, mean_shared_bytes = 0, mean_resident = 0 };

typedef struct mean_arguments {
    int64_t n, phases;
    const float *start; /* [n] */
    float *value[2];    /* [n] each: phase i makes value[i % 2] of the other one, the first of `start` */
} mean_arguments;

STENCIL_ANYWHERE int64_t mean_phases(const mean_arguments *m) {
    return m->phases;
}

STENCIL_ANYWHERE void mean_phase(const mean_arguments *m, int64_t phase, stencil_case_block block) {
    const float *from = phase == 0 ? m->start : m->value[(phase + 1) % 2];
    float *to = m->value[phase % 2];
    CASE_ITEMS(i, m->n, block) {
        to[i] = 0.5f * (from[i] + from[i + 1 < m->n ? i + 1 : 0]);
    }
}
