/* Moments that a launch notes of its steps for attribution (solver/attribution/), and parts of a step that it
 * leaves out so that the rest can be timed. Off in every launch whose result counts. */
#pragma once

#include "base/base.h"

/* A step of a sweep that makes several at once is one pass of them here.
 *
 * The moments of a step that a participant (a block, a CPU thread) notes, in this order. A launch for each
 * step has no participants that last: there a multiprocessor notes when its first block began and its last
 * one had swept. */
typedef enum stencil_mark {
    STENCIL_MARK_LAUNCHED,  /* the step before has ended, or the host begins to launch this one; as BEGIN in a
                               persistent loop */
    STENCIL_MARK_BEGIN,     /* it starts to update its cells */
    STENCIL_MARK_SWEPT,     /* they are updated */
    STENCIL_MARK_EXCHANGED, /* it has sent and received ghost cells by itself; as SWEPT where it does not */
    STENCIL_MARK_LEFT,      /* it has passed the barrier */
    STENCIL_MARK_END,       /* residual, decision and polls are done; the next step begins */
    STENCIL_MARKS
} stencil_mark;

/* Zeroed: nothing is noted, nothing left out. */
typedef struct stencil_trace {
    int64_t *mark; /* [samples][participants][STENCIL_MARKS], ticks of the participant's clock: cycles of its
                      multiprocessor, ns on a CPU; NULL: nothing is noted */
    uint32_t *place; /* [participants]: the multiprocessor of a block; NULL on a CPU */
    int64_t first;   /* the first step that is noted (1, 2, …), and then each `every`-th, which is odd */
    uint32_t every, samples, participants;
    uint32_t inverse; /* of `every`, modulo 2^32 */
    /* Left out of the steps: the cells are worthless then. */
    bool without_barrier, without_compute, without_copies;
} stencil_trace;

static inline void stencil_trace_set(stencil_trace *trace, int64_t first, uint32_t every, uint32_t samples) {
    trace->first = first;
    trace->every = every;
    trace->samples = samples;
    trace->inverse = every; /* right in 3 bits; each time in twice as many */
    for (int bits = 3; bits < 32; bits *= 2)
        trace->inverse *= 2 - every * trace->inverse;
}

/* Returns the sample that step `step` is; -1: none. A few instructions, since every step asks: the product is
 * the quotient where there is no remainder, and else no number below 2^32 / every, which samples are. */
STENCIL_ANYWHERE int64_t stencil_trace_sample(const stencil_trace *trace, int64_t step) {
    const uint32_t sample = (uint32_t)(step - trace->first) * trace->inverse;
    return sample < trace->samples ? (int64_t)sample : -1;
}

/* Cycles of a multiprocessor and the time of the device in the same moment. */
typedef struct stencil_clock_pair {
    int64_t cycle, ns;
} stencil_clock_pair;
enum { STENCIL_CLOCK_PAIRS = 8 }; /* of each multiprocessor, one after the other */
