/* The CPU twin of the kernels: the same cells by the same expression, vectorised over rows. Each instruction
 * set has its own compiled copy (function multiversioning); all copies give the same bits. */
#pragma once

#include "kernels/sweep.h"

/* What is to be made of a step. */
typedef struct stencil_cpu_pass {
    stencil_sweep_id sweep;
    int from;            /* the buffer that is read; the other one is written */
    int64_t first, last; /* rows of domain->n (row = z*ny + y) */
    const stencil_weights *weights;
    bool streaming;  /* results bypass the cache (for fields larger than it) */
    double *partial; /* where the residual's partial sums go, that of the part's first partial sum; NULL: this
                      step is not checked */
    stencil_norm norm;
} stencil_cpu_pass;

/* Advances rows and writes the copies of their edge cells. */
typedef void (*stencil_cpu_sweep)(const stencil_domain *domain, const stencil_cpu_pass *pass);

/* Copies `count` bytes with stores that bypass the cache where the instruction set has them (the ceiling of a
 * streaming sweep); both sides aligned to 64 bytes, count a multiple of 64. */
typedef void (*stencil_cpu_copy)(void *to, const void *from, int64_t count);

/* What there is for one instruction set: cpu_isa.c. */
typedef struct stencil_cpu_table {
    const char *name;                                        /* "avx512", "avx2" or "baseline" */
    const stencil_cpu_sweep *sweep[STENCIL_PRECISION_COUNT]; /* [STENCIL_SHAPE_COUNT] */
    stencil_cpu_copy copy;
} stencil_cpu_table;

/* The one for the best instruction set of this CPU. */
const stencil_cpu_table *stencil_cpu_best(void);
