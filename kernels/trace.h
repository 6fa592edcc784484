/* Moments of its steps that a launch notes for attribution (solver/attribution/), and parts of a step that it
 * leaves out so that the other parts can be timed. Off in every launch whose result counts. */
#pragma once

#include "base/base.h"

/* The moments of a step that a participant (a block, a CPU thread) notes, in this order. For a sweep that
 * makes several steps at once, a "step" here is one pass. In a launch per step each multiprocessor notes when
 * its first block began and when its last block had swept. */
typedef enum stencil_mark {
    STENCIL_MARK_LAUNCHED,  /* the previous step has ended, or the host begins to launch this step; equals
                               BEGIN in a persistent loop */
    STENCIL_MARK_BEGIN,     /* the participant starts to update its cells */
    STENCIL_MARK_SWEPT,     /* the participant has updated its cells */
    STENCIL_MARK_EXCHANGED, /* the participant has sent and received ghost cells in words (LL); equals SWEPT
                               where it does not */
    STENCIL_MARK_LEFT,      /* the participant has passed the barrier */
    STENCIL_MARK_END,       /* residual, decision and polls are done; the next step begins */
    STENCIL_MARKS
} stencil_mark;

/* Durations within a step that a participant adds up, since they come in pieces. */
typedef enum stencil_spent {
    STENCIL_SPENT_KEPT,     /* between BEGIN and SWEPT: cells are stored for the residual of a step */
    STENCIL_SPENT_EXCHANGE, /* between BEGIN and SWEPT: ghost cells are exchanged within a pass */
    STENCIL_SPENT_CHECK,    /* between EXCHANGED and LEFT: a residual is summed, combined and judged */
    STENCIL_SPENTS
} stencil_spent;

/* Values noted of a step: STENCIL_MARKS moments, then STENCIL_SPENTS durations. */
enum { STENCIL_NOTES = (int)STENCIL_MARKS + (int)STENCIL_SPENTS };

/* The moments of a launch of a persistent loop, or of a team of CPU threads, that a participant notes. */
typedef enum stencil_launch_mark {
    STENCIL_LAUNCH_ENTERED, /* the participant has begun to run */
    STENCIL_LAUNCH_LOADED,  /* its cells are on chip, its steps begin; 0: they need not be loaded */
    STENCIL_LAUNCH_LOOPED,  /* its steps are done */
    STENCIL_LAUNCH_STORED,  /* its cells are in memory again; 0: they have not left it */
    STENCIL_LAUNCH_MARKS
} stencil_launch_mark;

/* Moments that a launch notes, and parts of a step that it leaves out; zeroed: none of either. */
typedef struct stencil_trace {
    int64_t *mark; /* [samples][participants][STENCIL_NOTES], ticks of the participant's clock: cycles of its
                      multiprocessor, ns on a CPU; NULL: nothing is noted */
    int64_t *launched; /* [launches][participants][STENCIL_LAUNCH_MARKS], ticks as in `mark` */
    uint32_t launches; /* number of launches that are noted; 0: none */
    uint32_t launch;   /* number of this launch, from 0; the host counts all launches */
    uint32_t *place;   /* [samples + launches][participants]: the multiprocessor of a block in a step that is
                          noted,   and in a launch; NULL on a CPU */
    int64_t first; /* the first step that is noted (1, 2, …), then every `every`-th step; `every` is odd */
    uint32_t every, samples, participants;
    uint32_t inverse; /* inverse of `every`, modulo 2^32 */
    /* Parts that steps leave out; the values of cells are then meaningless. */
    bool without_barrier, without_compute, without_copies;
} stencil_trace;

static inline void stencil_trace_set(stencil_trace *trace, int64_t first, uint32_t every, uint32_t samples) {
    trace->first = first;
    trace->every = every;
    trace->samples = samples;
    trace->inverse = every; /* correct in 3 bits; each iteration doubles the correct bits */
    for (int bits = 3; bits < 32; bits *= 2)
        trace->inverse *= 2 - every * trace->inverse;
}

/* Returns the sample number of step `step`; -1: the step is not noted. It takes few instructions, since every
 * step calls it: the product is the quotient where there is no remainder, and otherwise at least 2^32 /
 * every, which exceeds all sample numbers. */
STENCIL_ANYWHERE int64_t stencil_trace_sample(const stencil_trace *trace, int64_t step) {
    const uint32_t sample = (uint32_t)(step - trace->first) * trace->inverse;
    return sample < trace->samples ? (int64_t)sample : -1;
}

/* The cycle count of a multiprocessor and the time of the device at the same moment. */
typedef struct stencil_clock_pair {
    int64_t cycle, ns;
} stencil_clock_pair;
enum { STENCIL_CLOCK_PAIRS = 8 }; /* pairs of each multiprocessor, contiguous */
