/* The CPU twin of the kernels: the same cells by the same expression, vectorised over rows. Each instruction
 * set has its own compiled copy (function multiversioning); all copies give the same bits. */
#pragma once

#include "kernels/sweep.h"

/* The least stack of a thread that runs kernels: they keep up to 64 KiB of results there. */
#define STENCIL_CPU_STACK_BYTES (256 * 1024)

/* Arguments of a CPU sweep for one pass. */
typedef struct stencil_cpu_pass {
    stencil_sweep_id sweep;
    int from;                                          /* the buffer that is read; the other one is written */
    int64_t first, last;                               /* rows of domain->n (row = z*ny + y) */
    int steps;                                         /* 1 … the depth of the plan */
    const stencil_weights *weights[STENCIL_DEPTH_MAX]; /* [steps] */
    bool streaming;             /* results bypass the cache (for fields larger than it) */
    int64_t tile[STENCIL_AXES]; /* of a deep sweep: rows (3D) and columns of a strip, the latter a multiple of
                                   STENCIL_PARTIAL_CELLS */
    void
        *scratch; /* what such a sweep keeps between steps: stencil_pipeline_bytes(), on a 64-byte boundary */
    double *partial; /* where the residual's partial sums go, that of the part's first partial sum; NULL: the
                      last step is not checked */
    stencil_norm norm;
} stencil_cpu_pass;

/* Rows (2D) or planes (3D) of a step that the pipeline sweep makes before those of the next step; rows or
 * planes in the ring that it keeps of a step, the last ones of a strip: a power of two. */
static inline int64_t stencil_pipeline_group(int rank) {
    return rank == 2 ? 4 : 2;
}
static inline int64_t stencil_pipeline_ring(int rank, int radius) {
    const int64_t least = 2 * radius + stencil_pipeline_group(rank);
    return least <= 4 ? 4 : least <= 8 ? 8 : 16;
}
/* Columns, and in 3D rows, beside those of a strip, on each side. A strip has as many rows itself where the
 * next one along y goes on. */
static inline int64_t stencil_pipeline_columns(int depth, int radius) {
    const int64_t line = 64 / (int64_t)sizeof(float);
    return ((int64_t)depth * radius + 2 * line - 1) / line * line; /* computed in whole lines */
}
static inline int64_t stencil_pipeline_rows(int rank, int depth, int radius) {
    return rank == 2 ? 0 : (int64_t)depth * radius;
}
/* Cells of a ring from row to row, and from one of its rows (2D) or planes to the next. */
static inline int64_t stencil_pipeline_row(int depth, int radius, int64_t columns) {
    return columns + 2 * stencil_pipeline_columns(depth, radius);
}
static inline int64_t stencil_pipeline_plane(int rank, int depth, int radius,
                                             const int64_t tile[STENCIL_AXES]) {
    const int64_t rows = rank == 2 ? 1 : tile[STENCIL_Y] + 2 * stencil_pipeline_rows(rank, depth, radius);
    return rows * stencil_pipeline_row(depth, radius, tile[STENCIL_X]);
}
static inline int64_t stencil_pipeline_ring_bytes(int rank, int depth, int radius,
                                                  const int64_t tile[STENCIL_AXES], int64_t cell_bytes) {
    return depth * stencil_pipeline_ring(rank, radius) * stencil_pipeline_plane(rank, depth, radius, tile) *
           cell_bytes;
}
/* Bytes of a pass of at most `planes` planes: the rings, and the rows before seams, some more than there are,
 * so that those of a strip do not take the place of those that it still reads; and a row that nobody writes,
 * but vectors at the end of the last one read. */
static inline int64_t stencil_pipeline_bytes(int rank, int depth, int radius,
                                             const int64_t tile[STENCIL_AXES], int64_t planes,
                                             int64_t cell_bytes) {
    const int64_t rows =
        rank == 2 ? 0
                  : (depth - 1) * 2 * radius *
                        (planes + 2 * (int64_t)radius * (depth - 1) + stencil_pipeline_ring(rank, radius));
    return stencil_pipeline_ring_bytes(rank, depth, radius, tile, cell_bytes) +
           (rows + 1) * stencil_pipeline_row(depth, radius, tile[STENCIL_X]) * cell_bytes;
}

/* Advances rows and writes the copies of their edge cells. */
typedef void (*stencil_cpu_sweep)(const stencil_domain *domain, const stencil_cpu_pass *pass);

/* Copies `count` bytes with stores that bypass the cache where the instruction set has them (the ceiling of a
 * streaming sweep); both sides aligned to 64 bytes, count a multiple of 64. */
typedef void (*stencil_cpu_copy)(void *to, const void *from, int64_t count);

/* The sweeps and the copy function of one instruction set, made by cpu_isa.c. */
typedef struct stencil_cpu_table {
    const char *name;                                        /* "avx512", "avx2" or "baseline" */
    const stencil_cpu_sweep *sweep[STENCIL_PRECISION_COUNT]; /* [STENCIL_SHAPE_COUNT] */
    stencil_cpu_copy copy;
} stencil_cpu_table;

/* Returns the table for the best instruction set of this CPU. */
const stencil_cpu_table *stencil_cpu_best(void);
